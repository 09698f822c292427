package bounds

import (
	"go/ast"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// localCopy (catalogue B7, and L4 for reads) matches a loop that reads a slice or map from a
// package variable or a field. It copies the slice or map into a local variable in front of the
// loop.
var localCopy = &mutate.Mutator{
	Name: "local-copy",
	Doc: "Read a slice or map that a package variable or field holds into a local variable in front of the loop. " +
		"The compiler loads a local once and can prove bounds for it. Legal because nothing in the loop can put " +
		"another value there, and the field is read before the loop in any case.",
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

// findLocalCopy looks for indexed slices and maps in a field or a package variable, which outermost
// loops load anew in each iteration because a store could change them.
func findLocalCopy(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for s := range mutate.Nodes[ast.Stmt](p, nil) {
		// The outermost of nested loops runs the most iterations.
		if syntax.LoopBody(s) == nil || p.InLoop(s) {
			continue
		}
		var seen []ast.Expr
		for ix := range mutate.Nodes[*ast.IndexExpr](p, syntax.LoopBody(s)) {
			base := ast.Unparen(ix.X)
			// Nothing in the loop may assign it, directly or through a call.
			if containsSame(p, seen, base) || !facts.HeldStill(p, base, s) {
				continue
			}
			seen = append(seen, base)
			sites = append(sites, copySite(p, base, s))
		}
	}
	return sites
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
	for e := range mutate.Nodes[ast.Expr](p, loop) {
		// A literal may run after the loop, and must read the field itself.
		if p.Same(e, base) && !facts.InLiteral(p, e, loop) {
			edits = append(edits, p.Replace(e, name))
		}
	}
	return edit.Site(loop, p.Text(base)+" in a loop", edit.OutermostOnly(edits)...)
}
