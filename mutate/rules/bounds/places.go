package bounds

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/mutate"
)

// definitionOf finds `i := start` of a local variable.
func definitionOf(p *mutate.Pass, v *types.Var, fn *ast.FuncDecl) (*ast.AssignStmt, ast.Expr) {
	for _, as := range mutate.Nodes[*ast.AssignStmt](p, fn) {
		if as.Tok == token.DEFINE && len(as.Lhs) == 1 && len(as.Rhs) == 1 && p.Var(as.Lhs[0]) == v {
			return as, as.Rhs[0]
		}
	}
	return nil, nil
}

// placeOf splits an index into a place and the constant that is added to it.
func placeOf(p *mutate.Pass, e ast.Expr) (place ast.Expr, offset int64) {
	place = ast.Unparen(e)
	for {
		b, ok := place.(*ast.BinaryExpr)
		if !ok || b.Op != token.ADD && b.Op != token.SUB {
			return place, offset
		}
		if c, ok := p.Int(b.Y); ok && b.Op == token.ADD {
			offset, place = offset+c, ast.Unparen(b.X)
		} else if ok {
			offset, place = offset-c, ast.Unparen(b.X)
		} else if c, ok := p.Int(b.X); ok && b.Op == token.ADD {
			offset, place = offset+c, ast.Unparen(b.Y)
		} else {
			return place, offset
		}
	}
}
