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

// Apart reports whether a slice shares no memory with another variable, so that code may write to
// it and leave the other one as it is. Only its function knows the memory of one of them, or the
// slice only gets new memory, of which the other variable can be no part: that one only gets new
// memory itself, keeps a value from before the slice was declared, or has other elements.
func Apart(p *mutate.Pass, slice, other *types.Var) bool {
	if slice == nil || other == nil || slice == other {
		return false
	}
	owned, fresh := Owned.Of(p), Fresh.Of(p)
	if owned[slice] || owned[other] {
		return true
	}
	older := IsLocal(p, other) && other.Pos() < slice.Pos() && !p.Reassigned(other, p.File)
	return fresh[slice] && (fresh[other] || older || otherElements(other.Type(), slice.Type()))
}

// otherElements reports whether a value of a type can be no part of the memory of a slice, since
// the slice has no such elements.
func otherElements(part, slice types.Type) bool {
	whole, ok := slice.Underlying().(*types.Slice)
	if !ok {
		return false
	}
	switch part := part.Underlying().(type) {
	case *types.Slice:
		return !types.Identical(part.Elem(), whole.Elem()) && !HoldsArray(whole.Elem())
	case *types.Array, *types.Basic: // memory of its own
		return true
	}
	return false
}

// localSlices lists the local slices that begin as new memory and keep the property of a function.
func localSlices(p *mutate.Pass, stays func(*mutate.Pass, *types.Var) bool) map[*types.Var]bool {
	out := map[*types.Var]bool{}
	for v, d := range Declared.Of(p) {
		if _, slice := v.Type().Underlying().(*types.Slice); slice && !Captured.Of(p)[v] &&
			(d.Value == nil || p.OwnMemory(v, d.Value)) && stays(p, v) {
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
	call, cuts := p.IsCall(as.Rhs[0], "slices", cutters...)
	return cuts && p.Var(call.Args[0]) == v
}

// getsFresh reports whether an assignment that mentions v gives it new memory, or more or less of
// its own.
func getsFresh(p *mutate.Pass, v *types.Var, as *ast.AssignStmt) bool {
	return len(as.Lhs) == 1 && len(as.Rhs) == 1 && p.Var(as.Lhs[0]) == v && p.OwnMemory(v, as.Rhs[0])
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
