package calls

import (
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// inFuncLit reports whether a node stands in a function literal.
func inFuncLit(p *mutate.Pass, n ast.Node) bool {
	_, in := facts.Enclosing[*ast.FuncLit](p, n)
	return in
}

// localNames returns all names that fn declares.
func localNames(p *mutate.Pass, fn *ast.FuncDecl) map[string]bool {
	out := map[string]bool{}
	for _, id := range mutate.Nodes[*ast.Ident](p, fn) {
		if p.Info.Defs[id] != nil && id != fn.Name {
			out[id.Name] = true
		}
	}
	return out
}

// freeNamesHidden reports whether a package-level name in the body of fn means something else at
// the call.
func freeNamesHidden(p *mutate.Pass, fn *ast.FuncDecl, at ast.Node) bool {
	return namesHidden(p, fn, fn.Body, at)
}

// namesHidden reports whether a package-level name in a part of fn means something else at the
// call.
func namesHidden(p *mutate.Pass, fn *ast.FuncDecl, part, at ast.Node) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, part) {
		obj := p.Info.Uses[id]
		// The declarations of fn move with it.
		if obj == nil || fn.Pos() <= obj.Pos() && obj.Pos() < fn.End() {
			continue
		}
		if v, ok := obj.(*types.Var); ok && v.IsField() {
			continue
		}
		// Any local name of the function at the call may hide it there.
		sel, ok := p.Parent(id).(*ast.SelectorExpr)
		if !(ok && sel.Sel == id) && !facts.Means(p, at.Pos(), id.Name, obj) {
			return true
		}
		for _, other := range mutate.Nodes[*ast.Ident](p, p.FuncOf(at)) {
			if d := p.Info.Defs[other]; d != nil && other.Name == id.Name && d.Parent() != p.Pkg.Scope() {
				return true
			}
		}
	}
	return false
}
