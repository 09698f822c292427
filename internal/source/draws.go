package source

import (
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
)

// DrawsByMap reports whether only the order of a map can make two calls of the target differ, as
// far as its package shows: its code ranges over a map, calls no clock and no random source, and
// writes no package variable. A version that always picks one of the map's orders is right. A
// version that always returns one random number, or one value of a counter, is not.
func (sc *Scope) DrawsByMap() bool {
	// A variable that is written may be a counter.
	if sc.group != nil || len(sc.of.Facts.WritesGlobal) > 0 {
		return false
	}
	// A clock or a random source makes calls differ by itself.
	if _, name := sc.targetReaches(func(fn *types.Func) bool { return listed(draws, fn) }); name != "" {
		return false
	}
	// The map may be ranged over by the target or by what it calls.
	if sc.pkg.rangesOverMap(sc.target.decl) {
		return true
	}
	_, name := sc.targetReaches(func(fn *types.Func) bool {
		d := sc.pkg.declaration(fn)
		return listed(inMapOrder, fn) || d != nil && sc.pkg.rangesOverMap(d)
	})
	return name != ""
}

// draws lists functions of the standard library whose results vary from call to call: see listed.
var draws = map[string]string{
	`math/rand`: `*`, `math/rand/v2`: `*`, `crypto/rand`: `*`, `hash/maphash`: `*`,
	`time`: `Now Since Until After AfterFunc Tick NewTicker NewTimer`,
	// counters of the package, which no assignment shows
	`sync/atomic`: `Add And Or Store Swap CompareAndSwap AddInt32 AddInt64 AddUint32 AddUint64 StoreInt32 StoreInt64
		StoreUint32 StoreUint64 SwapInt32 SwapInt64 SwapUint32 SwapUint64 CompareAndSwapInt32 CompareAndSwapInt64
		CompareAndSwapUint32 CompareAndSwapUint64`,
}

// inMapOrder are functions of the standard library that visit a map in its order.
var inMapOrder = map[string]string{`maps`: `All Keys Values`, `reflect`: `MapKeys MapRange Seq Seq2`, `sync`: `Range`}

// rangesOverMap reports whether code ranges over a map.
func (pkg *Package) rangesOverMap(code ast.Node) (found bool) {
	ast.Inspect(code, func(n ast.Node) bool {
		if r, ok := n.(*ast.RangeStmt); ok {
			found = found || syntax.Is[*types.Map](pkg.info.TypeOf(r.X))
		}
		return !found
	})
	return found
}
