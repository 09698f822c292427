package facts

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// AnyOrder reports whether two pieces of code do the same in either order, and iteration by
// iteration: neither uses a variable that the other assigns, and both write only local variables,
// without a panic.
func AnyOrder(p *mutate.Pass, a, b ast.Node) bool {
	return keepsToLocals(p, a) && keepsToLocals(p, b) && independent(p, a, b) && independent(p, b, a)
}

// keepsToLocals reports whether code writes only local variables and elements of local arrays, and
// always runs to its end.
func keepsToLocals(p *mutate.Pass, n ast.Node) bool {
	if f := p.Effects(n); f.Panics || f.Jumps {
		return false
	}
	if len(slices.Collect(mutate.Nodes[*ast.FuncLit](p, n))) > 0 {
		return false
	}
	return ChangesOnly(p, n, func(l ast.Expr) bool {
		ix, ok := ast.Unparen(l).(*ast.IndexExpr)
		if !ok || !IsLocal(p, p.Var(ix.X)) {
			return false
		}
		return syntax.Is[*types.Array](p.Info.TypeOf(ix.X))
	}, nil)
}

// independent reports whether b uses nothing that a assigns.
func independent(p *mutate.Pass, a, b ast.Node) bool {
	for id := range mutate.Nodes[*ast.Ident](p, b) {
		v, ok := p.Info.Uses[id].(*types.Var)
		if !ok || v.IsField() {
			continue
		}
		if Captured.Of(p)[v] || p.Assigned(v, a) {
			return false
		}
	}
	return true
}
