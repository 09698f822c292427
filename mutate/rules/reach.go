package rules

import (
	"go/ast"

	"github.com/beagle-go/beagle/mutate"
)

// reached is the target and the functions that it names, and that these name:
// what others do, such as filling a table when the program starts, takes none
// of the target's time.
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
