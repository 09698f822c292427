package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// oneBacking (catalogue A6) matches a loop that makes one slice for each row, all of one length. It
// makes one slice for all rows in front of the loop, and cuts each row out of it.
var oneBacking = &mutate.Mutator{
	Name: "one-backing",
	Doc: "Allocate the rows of a table in one piece and hand out parts of it, each cut off at its end so that " +
		"appending to one cannot reach the next. One allocation instead of one a row. Contents, lengths and " +
		"capacities are the same; only, one row in use keeps all rows alive.",
	Before: `for i := range rows {
	rows[i] = make([]int, n)
}`,
	After: `cells := make([]int, len(rows)*n)
for i := range rows {
	rows[i] = cells[i*n : (i+1)*n : (i+1)*n]
}`,
	Class:   beagle.E2,
	Gain:    1.4,
	Find:    findOneBacking,
	Rewrite: precomputed,
}

func findOneBacking(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for r := range mutate.Nodes[*ast.RangeStmt](p, nil) {
		rows := p.Var(r.X)
		if r.Tok != token.DEFINE || isBlank(r.Key) || r.Value != nil || !local(p, rows) || !isSlice(rows.Type()) ||
			len(r.Body.List) == 0 || labelled(p, r) {
			continue
		}
		index := p.Var(r.Key)
		lhs, rhs, ok := assigned(r.Body.List[0], token.ASSIGN)
		made, isMake := p.IsBuiltin(orNil(rhs), "make")
		ix, isIndex := orNil(lhs).(*ast.IndexExpr)
		if !ok || !isMake || !isIndex || p.Var(ix.X) != rows || p.Var(ix.Index) != index || len(made.Args) != 2 ||
			p.Assigned(index, r.Body) {
			continue
		}
		n := made.Args[1]
		if !isBasic(p, n, types.Int) && !isConstant(p, n) || !stable(p, n, r) || p.Effects(n).Panics ||
			reassignedIn(p, rows, r) {
			continue
		}
		sites = append(sites, backingSite(p, r, made, p.Text(r.Key)))
	}
	return sites
}

func isConstant(p *mutate.Pass, e ast.Expr) bool {
	_, ok := p.Int(e)
	return ok
}

// reassignedIn reports whether code below root gives the variable itself, not an element, another
// value.
func reassignedIn(p *mutate.Pass, v *types.Var, root ast.Node) bool {
	for _, id := range p.Uses(v, root) {
		as, ok := p.Parent(id).(*ast.AssignStmt)
		if u, isUnary := p.Parent(id).(*ast.UnaryExpr); isUnary && u.Op == token.AND {
			return true
		}
		if !ok {
			continue
		}
		for _, l := range as.Lhs {
			if ast.Unparen(l) == ast.Expr(id) {
				return true
			}
		}
	}
	return captured(p, v)
}

// backingSite multiplies only lengths that make accepts. For an n below 0 the product is below 0
// too, and without rows it is 0.
func backingSite(p *mutate.Pass, r *ast.RangeStmt, made *ast.CallExpr, i string) mutate.Site {
	cells, n := p.Fresh("cells", "backing"), p.Text(made.Args[1])
	if _, simple := ast.Unparen(made.Args[1]).(*ast.BinaryExpr); simple {
		n = "(" + n + ")"
	}
	return site(r, "rows of "+p.Text(r.X),
		before(p, r,
			fmt.Sprintf("%s := make(%s, len(%s)*%s) // all rows in one piece", cells, p.Text(made.Args[0]),
				p.Text(r.X), n)),
		p.Replace(made, fmt.Sprintf("%s[%s*%s : (%s+1)*%s : (%s+1)*%s]", cells, i, n, i, n, i, n)))
}
