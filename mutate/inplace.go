package mutate

import (
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
)

// InPlace completes a Pass of a function of a package that is type-checked already. File holds the
// same as a candidate of the function: imports, the function, and the declarations that only it
// uses. Src is the whole file. The weight of every node is 1.
func InPlace(p *Pass) *Pass {
	if p.Facets == nil {
		p.Facets = &beagle.Facets{}
	}
	p.Weight = func(ast.Node) float64 { return 1 }
	p.Target = targetOf(p, syntax.FuncName(p.Info.Defs[p.Func.Name].(*types.Func)))
	return p
}
