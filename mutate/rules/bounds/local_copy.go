package bounds

import (
	"go/ast"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// localCopy (catalogue B7, and L4 for reads) matches a loop that reads a slice or map from a
// package variable or a field. It copies the slice or map into a local variable in front of the
// loop.
var localCopy = &mutate.Mutator{
	Name: "local-copy",
	Doc: "Read a slice, map or string that a package variable or field holds into a local variable in front of the " +
		"loop. The compiler loads a local once and can prove bounds for it. Legal because nothing in the loop can " +
		"put another value there, and the field is read before the loop in any case.",
	Example: mutate.Shows(`for i := range key {
	h = table[byte(h)^key[i]] ^ h>>8
}`,
		`table := table // a local slice: its length is known to stay
for i := range key {
	h = table[byte(h)^key[i]] ^ h>>8
}`),
	Class:   beagle.E0,
	Gain:    1.08,
	Find:    findLocalCopy,
	Rewrite: edit.Precomputed,
}

// findLocalCopy looks for indexed slices, maps and strings in a field or a package variable, which
// loops load anew in each iteration because a store could change them.
func findLocalCopy(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	copied := map[ast.Stmt][]ast.Expr{}
	for _, s := range mutate.Nodes[ast.Stmt](p, nil) {
		for _, part := range eachTurn(s) {
			for _, ix := range mutate.Nodes[*ast.IndexExpr](p, part) {
				base := ast.Unparen(ix.X)
				// The outermost loop that nothing assigns it in, directly or through a call, makes
				// the copy.
				if copiedAround(p, copied, base, s) || !facts.HeldStill(p, base, s) {
					continue
				}
				copied[s] = append(copied[s], base)
				sites = append(sites, copySite(p, base, s))
			}
		}
	}
	return sites
}

// eachTurn returns what a loop evaluates in each iteration, or nothing for another statement.
func eachTurn(s ast.Stmt) []ast.Node {
	switch s := s.(type) {
	case *ast.RangeStmt:
		return []ast.Node{s.Body}
	case *ast.ForStmt:
		out := []ast.Node{s.Body}
		if s.Cond != nil {
			out = append(out, s.Cond)
		}
		if s.Post != nil {
			out = append(out, s.Post)
		}
		return out
	}
	return nil
}

// copiedAround reports whether a loop, or one around it, has a copy of what a base names.
func copiedAround(p *mutate.Pass, copied map[ast.Stmt][]ast.Expr, base ast.Expr, loop ast.Stmt) bool {
	for s, list := range copied {
		if facts.Inside(loop, s) && containsSame(p, list, base) {
			return true
		}
	}
	return false
}

func containsSame(p *mutate.Pass, list []ast.Expr, e ast.Expr) bool {
	for _, x := range list {
		if p.Same(x, e) {
			return true
		}
	}
	return false
}

// copySite copies one of them to a local variable in front of the loop, and uses that in the loop.
func copySite(p *mutate.Pass, base ast.Expr, loop ast.Stmt) mutate.Site {
	name := ""
	switch e := base.(type) {
	case *ast.Ident:
		name = p.Fresh("local"+edit.UpperFirst(e.Name), e.Name+"Copy")
	case *ast.SelectorExpr:
		name = p.Fresh(edit.LowerFirst(e.Sel.Name), edit.LowerFirst(e.Sel.Name)+"Copy")
	}
	edits := []mutate.Edit{
		edit.InsertBefore(p, edit.LabelOf(p, loop), name+" := "+p.Text(base)+
			" // a local: loaded once, not in every turn"),
	}
	for _, e := range mutate.Nodes[ast.Expr](p, loop) {
		// A literal may run after the loop, and must read the field itself.
		if p.Same(e, base) && !facts.InLiteral(p, e, loop) {
			edits = append(edits, p.Replace(e, name))
		}
	}
	return edit.Site(loop, p.Text(base)+" in a loop", edit.OutermostOnly(edits)...)
}
