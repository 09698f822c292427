package mutate

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/internal/symbol"
)

// Portable reports whether a constant expression has the same value on all systems, so that code
// may hold the value in its place. It consists of literals, of constants that the candidate
// declares so, and of those of the standard library that depend on no system.
func (vs Values) Portable(e ast.Expr) bool {
	if _, literal := e.(*ast.BasicLit); literal {
		return true
	}
	return vs.p.Once(portableKey{e}, func() any { return vs.portable(e) }).(bool)
}

// portableKey is the key of a constant expression in Once: rules ask for each of 256 bytes.
type portableKey struct{ e ast.Expr }

// portable reports whether e has the same value on all platforms.
func (vs Values) portable(e ast.Expr) bool {
	for _, id := range Nodes[*ast.Ident](vs.p, e) {
		switch obj := vs.p.Info.Uses[id].(type) {
		case *types.Const:
			if obj.Pkg() != nil && !vs.portableConst(obj) {
				return false
			}
		case *types.Builtin:
			if obj.Pkg() == types.Unsafe {
				return false
			}
		}
	}
	for _, u := range Nodes[*ast.UnaryExpr](vs.p, e) {
		switch vs.p.Basic(u) {
		case types.Uint, types.Uintptr:
			if u.Op == token.XOR {
				return false // all ones
			}
		}
	}
	return true
}

// systems are the constants of the standard library that tell the system, by package; nil is all.
var systems = map[string][]string{
	"math": {"MaxInt", "MinInt", "MaxUint"}, "math/bits": {"UintSize"}, "strconv": {"IntSize"},
	"os": nil, "path/filepath": nil, "runtime": nil, "syscall": nil,
}

func (vs Values) portableConst(c *types.Const) bool {
	if c.Pkg() != vs.p.Pkg {
		names, listed := systems[c.Pkg().Path()]
		return symbol.Standard(c.Pkg().Path()) && !(listed && (names == nil || slices.Contains(names, c.Name())))
	}
	var values []ast.Expr // a part of a group without values repeats those before it
	for _, spec := range Nodes[*ast.ValueSpec](vs.p, nil) {
		if len(spec.Values) > 0 {
			values = spec.Values
		}
		for i, id := range spec.Names {
			if vs.p.Info.Defs[id] == c {
				return i < len(values) && vs.Portable(values[i])
			}
		}
	}
	return false // another file declares it, perhaps one for this system
}
