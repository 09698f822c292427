package bounds

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// reslice (catalogue B3) matches a loop over one slice that reads a second one at the same index.
// It cuts the second slice to the first one's length in front of the loop.
var reslice = &mutate.Mutator{
	Name: "reslice-second",
	Doc: "Cut the second slice to the length of the first before the loop, so that one check replaces one in every " +
		"iteration. Legal because every iteration reads the second slice and the loop always runs to its end: a " +
		"slice that is too short panics in any case.",
	Example: mutate.Shows(`for i := range a {
	sum += a[i] * b[i]
}`,
		`bCut := b[:len(a):len(b)] // as long as a: no bounds check in the loop
for i := range a {
	sum += a[i] * bCut[i]
}`),
	Class:   beagle.E1,
	Gain:    1.1,
	Find:    findReslice,
	Rewrite: edit.Precomputed,
}

// rowSlice (catalogue B11) matches an inner loop over a row m[i*c+j] of a flat matrix. It cuts the
// row out in front of the loop.
var rowSlice = &mutate.Mutator{
	Name: "row-slice",
	Doc: "Cut the row out of a flat matrix before the inner loop: the multiplication and the bounds check leave the " +
		"loop. Legal because every iteration reads its element and the loop always runs to its end.",
	Example: mutate.Shows(`for j := 0; j < cols; j++ {
	sum += m[i*cols+j]
}`,
		`if cols > 0 {
	row := m[i*cols : i*cols+cols : len(m)] // checked once
	for j := range row {
		sum += row[j]
	}
}`),
	Class:   beagle.E1,
	Gain:    1.15,
	Find:    findRowSlice,
	Rewrite: edit.Precomputed,
}

// findReslice looks for lists that a loop reads at the index of another list. The second one is cut
// to the length of the first, which proves its indexes.
func findReslice(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, s := range mutate.Nodes[ast.Stmt](p, nil) {
		if syntax.LoopBody(s) == nil {
			continue
		}
		// The loop must visit each index of one list from 0 on, and run to its end: then the other
		// list is read just as far.
		l, ok := p.Elements(s)
		if !ok || l.Index == nil || l.Start != 0 || p.IsGlobal(l.Seq) || !runsToEnd(p, l.Body) {
			continue
		}
		seen := map[*types.Var]bool{l.Seq: true}
		// Look for a second list that is read at the same index.
		for _, ix := range mutate.Nodes[*ast.IndexExpr](p, l.Body) {
			b := p.Var(ix.X)
			if p.Var(ix.Index) != l.Index || !facts.IsLocal(p, b) || seen[b] || !syntax.SlicedOrString(b.Type()) {
				continue
			}
			seen[b] = true
			// It must be read in each iteration, so that a list that is too short panics in any
			// case.
			if !alwaysRead(p, ix, l.Body) || facts.Captured.Of(p)[b] ||
				p.Assigned(b, s) && !facts.StoresElementsOnly(p, b, s) {
				continue
			}
			sites = append(sites, edit.Site(s, b.Name()+" beside "+l.Seq.Name(), resliceEdits(p, l, b)...))
		}
	}
	return sites
}

// runsToEnd reports whether every iteration of the loop runs through the whole body, and only a
// panic can end the loop early.
func runsToEnd(p *mutate.Pass, body *ast.BlockStmt) bool {
	breaks, continues, ok := p.Branches(body)
	return ok && len(breaks) == 0 && len(continues) == 0 && !p.Effects(body).Jumps
}

// alwaysRead reports whether each iteration evaluates e. It must stand in a simple statement of the
// body itself, and not after && or ||.
func alwaysRead(p *mutate.Pass, e ast.Expr, body *ast.BlockStmt) bool {
	for _, s := range body.List {
		if facts.Inside(e, s) {
			if f, ok := s.(*ast.IfStmt); ok {
				return f.Init == nil && facts.Inside(e, f.Cond) && !facts.MayBeSkipped(p, e, s)
			}
			return syntax.IsPlainStmt(s) && !facts.MayBeSkipped(p, e, s)
		}
	}
	return false
}

// resliceEdits cuts the second list in front of the loop, with its capacity cut as well, and reads
// from the cut in the loop.
func resliceEdits(p *mutate.Pass, l *mutate.ElementLoop, b *types.Var) []mutate.Edit {
	name := p.Fresh(b.Name()+"Cut", b.Name()+"Part")
	// With the list's length as its capacity, a cut that is too long panics instead of reaching
	// behind the list.
	cut := fmt.Sprintf("%s[:len(%s):len(%s)]", b.Name(), l.Seq.Name(), b.Name())
	if !facts.IsSlice(b.Type()) {
		cut = fmt.Sprintf("%s[:len(%s)]", b.Name(), l.Seq.Name())
	}
	edits := []mutate.Edit{
		edit.InsertBefore(p, edit.LabelOf(p, l.Stmt),
			fmt.Sprintf("%s := %s // as long as %s: no bounds check in the loop", name, cut, l.Seq.Name())),
	}
	for _, id := range p.Uses(b, l.Body) {
		if ix, ok := p.Parent(id).(*ast.IndexExpr); ok && ix.X == ast.Expr(id) && p.Var(ix.Index) == l.Index {
			edits = append(edits, p.Replace(id, name))
		}
	}
	return edits
}

// findRowSlice looks for accesses at base+i, with i from 0 to a bound: the rows of a matrix, say.
func findRowSlice(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, f := range mutate.Nodes[*ast.ForStmt](p, nil) {
		// The loop must count from 0 to a bound that stays, with no way out.
		l, ok := p.Counted(f)
		if !ok || l.Seq != nil || !l.Strict || l.Skips || l.Start == nil || !p.IsInt(l.Start, 0) ||
			f.Cond.(*ast.BinaryExpr).Op != token.LSS || !runsToEnd(p, f.Body) {
			continue
		}
		// The cut reads the bound in front of the loop, as an int.
		if _, ok := p.Parent(f).(*ast.LabeledStmt); ok || !facts.IsPredeclared(p, l.Bound, types.Int) ||
			!facts.Stable(p, l.Bound, f) ||
			f.Init.(*ast.AssignStmt).Tok != token.DEFINE {
			continue
		}
		// Find an access at base plus index. It must happen in each iteration, and base must stay.
		for _, ix := range mutate.Nodes[*ast.IndexExpr](p, f.Body) {
			m := p.Var(ix.X)
			base, ok := rowBase(p, ix, l)
			if !ok || !facts.IsLocal(p, m) || !facts.IsSlice(m.Type()) || facts.Captured.Of(p)[m] ||
				p.Assigned(m, f) && !facts.StoresElementsOnly(p, m, f) || !alwaysRead(p, ix, f.Body) ||
				!facts.Stable(p, base, f) {
				continue
			}
			sites = append(sites, edit.Site(f, "rows of "+m.Name(), p.Replace(f, rowText(p, f, l, m, base))))
			break
		}
	}
	return sites
}

// rowBase returns i*c in m[i*c+j], if the loop counts j up to c.
func rowBase(p *mutate.Pass, ix *ast.IndexExpr, l *mutate.CountedLoop) (ast.Expr, bool) {
	sum, ok := ast.Unparen(ix.Index).(*ast.BinaryExpr)
	if !ok || sum.Op != token.ADD || p.Var(sum.Y) != l.Index {
		return nil, false
	}
	product, ok := ast.Unparen(sum.X).(*ast.BinaryExpr)
	if !ok || product.Op != token.MUL || !p.Same(product.X, l.Bound) && !p.Same(product.Y, l.Bound) ||
		!facts.IsPredeclared(p, product, types.Int) {
		return nil, false
	}
	return sum.X, true
}

// rowText cuts the row out once, and ranges over it. Without an iteration the original cut nothing,
// hence the test.
func rowText(p *mutate.Pass, f *ast.ForStmt, l *mutate.CountedLoop, m *types.Var, base ast.Expr) string {
	row, c, from := p.Fresh("row"), p.Text(l.Bound), p.Text(base)
	body := p.TextWith(f.Body, func(n ast.Node) (string, bool) {
		ix, ok := n.(*ast.IndexExpr)
		if !ok || p.Var(ix.X) != m {
			return "", false
		}
		// Only elements of this row are read from the cut; others keep their index.
		if b, ok := rowBase(p, ix, l); !ok || !p.Same(b, base) {
			return "", false
		}
		return row + "[" + l.Index.Name() + "]", true
	})
	return fmt.Sprintf("if %s > 0 {\n%s := %s[%s : %s+%s : len(%s)] // checked once\nfor %s := range %s %s\n}", c, row,
		m.Name(), from, from, c, m.Name(), l.Index.Name(), row, body)
}
