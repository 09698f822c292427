package facts

import (
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle/mutate"
)

// AnyOrder reports whether two pieces of code do the same in either order, and turn by turn: neither
// uses a variable that the other assigns, and both write only local variables, without a panic.
func AnyOrder(p *mutate.Pass, a, b ast.Node) bool {
	return keepsToLocals(p, a) && keepsToLocals(p, b) && independent(p, a, b) && independent(p, b, a)
}

// keepsToLocals reports whether code writes only local variables and elements of local arrays, and
// always runs to its end.
func keepsToLocals(p *mutate.Pass, n ast.Node) bool {
	if f := Effects(p, n); f.Panics || f.Jumps {
		return false
	}
	ok := true
	writes := func(l ast.Expr) {
		if ix, is := ast.Unparen(l).(*ast.IndexExpr); is {
			if v := p.Var(ix.X); IsLocal(p, v) {
				if _, array := v.Type().Underlying().(*types.Array); array {
					return
				}
			}
		}
		ok = ok && PlainLocal(p, l)
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				writes(l)
			}
		case *ast.IncDecStmt:
			writes(n.X)
		case *ast.CallExpr:
			ok = ok && !CallChanges(p, n)
		case *ast.GoStmt, *ast.DeferStmt, *ast.SendStmt, *ast.SelectStmt, *ast.FuncLit:
			ok = false
		}
		return ok
	})
	return ok
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
