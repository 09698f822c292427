package rules

import (
	"go/ast"

	"github.com/beagle-go/beagle/mutate"
)

// reached returns the target, the functions that it names, the functions that these name, and so
// on. Other functions, such as one that fills a table at the program's start, take no time of the
// target.
func reached(p *mutate.Pass) map[*ast.FuncDecl]bool {
	seen := map[*ast.FuncDecl]bool{}
	var visit func(d *ast.FuncDecl)
	visit = func(d *ast.FuncDecl) {
		if d == nil || seen[d] {
			return
		}
		seen[d] = true
		for id := range mutate.Nodes[*ast.Ident](p, d) {
			if obj := p.Info.Uses[id]; obj != nil {
				visit(p.Decl(obj))
			}
		}
	}
	visit(p.Func)
	return seen
}
