package facts

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// StaysHere reports whether no code keeps the slice, compares it with nil or asks for its capacity,
// so that it may have other memory.
func StaysHere(p *mutate.Pass, v *types.Var) bool {
	o := Owned.Of(p)[v]
	return o != nil && !slices.ContainsFunc(p.Uses(v, p.File), func(id *ast.Ident) bool { return !MayMove(p, o, id) })
}

// WithinLength reports whether a cut ends at the length of the variable or at what is less by a
// constant. Behind the length a string panics, and bytes may have room. The cut uses the variable
// for its length only.
func WithinLength(p *mutate.Pass, v *types.Var, cut *ast.SliceExpr) bool {
	var high ast.Expr
	if cut.High != nil {
		high = ast.Unparen(cut.High)
	}
	// A constant may be taken off the length or divide it, so that the end never exceeds it.
	if b, ok := high.(*ast.BinaryExpr); ok && (b.Op == token.SUB || b.Op == token.QUO) {
		if n, constant := p.Int(b.Y); !constant || n < 0 {
			return false
		}
		high = ast.Unparen(b.X)
	}
	if cut.High != nil && p.LenOf(high) != v || cut.Slice3 {
		return false
	}
	// The bounds may use the variable for its length only.
	for _, id := range p.Uses(v, cut) {
		call, _ := p.Parent(id).(*ast.CallExpr)
		if p.Parent(id) != ast.Node(cut) && (call == nil || p.LenOf(call) != v) {
			return false
		}
	}
	return true
}

// MayMove reports whether a slice may have other memory, as far as one of its uses is concerned: it
// neither hands the memory on nor shows its size. Another variable may take the slice over, if it
// stays here as well.
func MayMove(p *mutate.Pass, o *Owner, id *ast.Ident) bool {
	if o.Uses[id]&(Hands|Borrows|Sizes) == 0 {
		return true
	}
	as, ok := p.Parent(id).(*ast.AssignStmt)
	return ok && takesOver(p, o, as)
}

// takesOver reports whether a statement hands the slice to a variable that has no other value, as
// the statements of a helper do that stand in place of its call, and whether that one stays here,
// too.
func takesOver(p *mutate.Pass, from *Owner, as *ast.AssignStmt) bool {
	lhs, rhs, ok := syntax.SplitAssign(as, token.ASSIGN)
	if !ok || p.Var(rhs) != from.Decl.Var {
		return false
	}
	to := Owned.Of(p)[p.Var(lhs)]
	if to == nil || to == from || to.Decl.Value != nil || !types.Identical(to.Decl.Var.Type(), from.Decl.Var.Type()) {
		return false
	}
	// The other variable starts here and the first one ends here, so that only one is in use at a
	// time.
	list, at := p.Siblings(as)
	if at < 0 || !slices.Contains(list[:at], from.Decl.Stmt) ||
		UsedAfter(p, from.Decl.Var, p.FuncOf(as), as.End()) {
		return false
	}
	// Then all uses of the other one must only read.
	for id, use := range to.Uses {
		if p.Parent(id) != ast.Node(as) &&
			(p.Changes(id) || use&(Hands|Borrows|Sizes) != 0) {
			return false
		}
	}
	return true
}
