package recursion

import (
	"go/ast"

	"github.com/beagle-go/beagle/mutate"
)

// selfCalls lists the calls of fn in its own body.
func selfCalls(p *mutate.Pass, fn *ast.FuncDecl) []*ast.CallExpr {
	var out []*ast.CallExpr
	if fn.Body == nil {
		return nil
	}
	for _, call := range mutate.Nodes[*ast.CallExpr](p, fn.Body) {
		if p.Callee(call) == p.Info.Defs[fn.Name] {
			out = append(out, call)
		}
	}
	return out
}
