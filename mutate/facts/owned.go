package facts

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/mutate"
)

// Owned holds the local slices whose memory only their function knows. Each value that such a
// slice gets is new memory or a part of its own, and no use of it hands the memory on. Code may
// index it, measure it, cut it, append to it, go through it, and pass it to functions of the
// standard library that keep nothing.
var Owned = &Fact[map[*types.Var]bool]{
	Name:     "owned",
	Requires: []Named{Declared, Captured},
	Find:     func(p *mutate.Pass) map[*types.Var]bool { return localSlices(p, staysOwned) },
}

// Fresh holds the local slices that only ever get new memory, or more of their own. Code may hand
// their memory on, but nothing that was there before them shares it.
var Fresh = &Fact[map[*types.Var]bool]{
	Name:     "fresh",
	Requires: []Named{Declared, Captured},
	Find:     func(p *mutate.Pass) map[*types.Var]bool { return localSlices(p, staysFresh) },
}

// localSlices lists the local slices that begin as new memory and keep the property of a function.
func localSlices(p *mutate.Pass, stays func(*mutate.Pass, *types.Var) bool) map[*types.Var]bool {
	out := map[*types.Var]bool{}
	for v, d := range Declared.Of(p) {
		if _, slice := v.Type().Underlying().(*types.Slice); slice && !Captured.Of(p)[v] &&
			(d.Value == nil || fresh(p, v, d.Value)) && stays(p, v) {
			out[v] = true
		}
	}
	return out
}

// staysFresh reports whether each assignment to v gives it new memory, or more of its own.
func staysFresh(p *mutate.Pass, v *types.Var) bool {
	for _, id := range p.Uses(v, p.File) {
		if !p.Changes(id) {
			continue
		}
		// An element may change, as long as nobody takes its address.
		switch up := p.Parent(id).(type) {
		case *ast.IndexExpr, *ast.CallExpr: // an element; copy and clear
			if AddressTaking(p, id) != nil {
				return false
			}
		case *ast.AssignStmt:
			if !getsFresh(p, v, up) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// AddressTaking returns the expression that takes the address of what an expression names, or of a
// part of it, or nil: by &, by a pointer method, or by slicing an array.
func AddressTaking(p *mutate.Pass, e ast.Expr) ast.Expr {
	for {
		up := p.Parent(e)
		switch n := up.(type) {
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				return n
			}
		case *ast.SelectorExpr:
			if p.PointerMethod(n) {
				return n
			}
			if s := p.Info.Selections[n]; s != nil && s.Kind() == types.FieldVal {
				e = n
				continue
			}
		case *ast.IndexExpr:
			if ast.Unparen(n.X) == e {
				e = n
				continue
			}
		case *ast.SliceExpr:
			if _, array := p.Info.TypeOf(n.X).Underlying().(*types.Array); array && ast.Unparen(n.X) == e {
				return n
			}
		}
		return nil
	}
}

// staysOwned reports whether all uses of v leave its memory with it.
func staysOwned(p *mutate.Pass, v *types.Var) bool {
	// Go through all uses. An index, a range and some calls only look at the memory; a cut and an
	// assignment must give it back to v.
	for _, id := range p.Uses(v, p.File) {
		switch up := p.Parent(id).(type) {
		case *ast.IndexExpr:
			if ast.Unparen(up.X) != ast.Expr(id) || AddressTaking(p, id) != nil {
				return false
			}
		case *ast.RangeStmt:
			if ast.Unparen(up.X) != ast.Expr(id) {
				return false
			}
		case *ast.CallExpr:
			if !keepsNothing(p, v, up) {
				return false
			}
		case *ast.SliceExpr:
			as, ok := p.Parent(up).(*ast.AssignStmt)
			if !ok || !getsOwn(p, v, as) {
				return false
			}
		case *ast.BinaryExpr: // a comparison with nil
		case *ast.AssignStmt:
			if !getsOwn(p, v, up) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// getsOwn reports whether an assignment that mentions v gives it new memory, or a part of its own.
func getsOwn(p *mutate.Pass, v *types.Var, as *ast.AssignStmt) bool {
	if getsFresh(p, v, as) {
		return true
	}
	if len(as.Lhs) != 1 || len(as.Rhs) != 1 || p.Var(as.Lhs[0]) != v {
		return false
	}
	switch e := ast.Unparen(as.Rhs[0]).(type) {
	case *ast.SliceExpr:
		return p.Var(e.X) == v
	case *ast.CallExpr:
		_, cuts := p.IsCall(e, "slices", cutters...)
		return cuts && p.Var(e.Args[0]) == v
	}
	return false
}

// getsFresh reports whether an assignment that mentions v gives it new memory.
func getsFresh(p *mutate.Pass, v *types.Var, as *ast.AssignStmt) bool {
	return len(as.Lhs) == 1 && len(as.Rhs) == 1 && p.Var(as.Lhs[0]) == v && fresh(p, v, as.Rhs[0])
}

// fresh reports whether the value that v gets is new memory, or its own.
func fresh(p *mutate.Pass, v *types.Var, e ast.Expr) bool {
	e = ast.Unparen(e)
	// A literal, nil, make, and append to one of these are new.
	if _, literal := e.(*ast.CompositeLit); literal || p.Info.Types[e].IsNil() {
		return true
	}
	if _, made := p.IsBuiltin(e, "make"); made {
		return true
	}
	if call, more := p.IsBuiltin(e, "append"); more {
		return p.Var(call.Args[0]) == v || fresh(p, v, call.Args[0])
	}
	// A conversion from a string copies its bytes.
	if call, ok := e.(*ast.CallExpr); ok && p.Info.Types[call.Fun].IsType() && len(call.Args) == 1 {
		return p.Info.Types[call.Args[0]].IsNil() || p.Basic(call.Args[0]) != types.Invalid
	}
	for pkg, names := range makers {
		if _, ok := p.IsCall(e, pkg, names...); ok {
			return true
		}
	}
	return false
}

// makers are functions whose results are new memory.
var makers = map[string][]string{
	"strings": {"Fields", "FieldsFunc", "Split", "SplitN", "SplitAfter"},
	"slices":  {"Clone", "Collect", "Sorted", "Concat", "Repeat"},
	"bytes":   {"Clone", "Repeat", "ToUpper", "ToLower"},
}

// readers are functions that keep nothing of a slice.
var readers = map[string][]string{
	"slices": {"Sort", "SortFunc", "SortStableFunc", "BinarySearch", "Contains", "Index", "IndexFunc", "Equal", "Min",
		"Max", "Reverse", "IsSorted"},
	"sort":    {"Ints", "Strings", "Float64s", "Slice", "SliceStable", "SearchInts", "SearchStrings"},
	"strings": {"Join"},
}

// cutters are functions of package slices whose result is a part of their first argument.
var cutters = []string{"Clip", "Compact", "CompactFunc", "Delete", "DeleteFunc"}

// keepsNothing reports whether a call keeps no part of v's memory, and returns none but to v.
func keepsNothing(p *mutate.Pass, v *types.Var, call *ast.CallExpr) bool {
	if b, ok := p.Callee(call).(*types.Builtin); ok {
		switch b.Name() {
		case "len", "cap", "copy", "clear":
			return true
		case "append":
			as, ok := p.Parent(call).(*ast.AssignStmt)
			return ok && p.Var(call.Args[0]) == v && getsFresh(p, v, as)
		}
		return false
	}
	if _, cuts := p.IsCall(call, "slices", cutters...); cuts {
		as, ok := p.Parent(call).(*ast.AssignStmt)
		return ok && getsOwn(p, v, as)
	}
	for pkg, names := range readers {
		if _, ok := p.IsCall(call, pkg, names...); ok {
			return true
		}
	}
	return false
}
