package verify

import (
	"go/ast"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/syntax"
)

// reachedBy returns the keys of the functions that the original calls through the functions of its
// package that it calls. A candidate may hold copies of those functions, and a copy calls what its
// original calls. The standard library and variables are left out: with them a candidate could keep
// state between calls. It may use them only where the target's own text does.
func reachedBy(u *source.Unit) map[string]bool {
	_, files, info := u.Syntax()
	bodies := map[types.Object]*ast.FuncDecl{}
	var next []*ast.FuncDecl
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			obj, ok := info.Defs[fn.Name].(*types.Func)
			if !ok {
				continue
			}
			bodies[obj] = fn
			if syntax.FuncName(obj) == u.Target.Name {
				next = append(next, fn)
			}
		}
	}
	keys := map[string]bool{}
	for len(next) > 0 {
		body := next[0].Body
		next = next[1:]
		ast.Inspect(body, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			obj := origin(info.Uses[id])
			if obj == nil || obj.Pkg() == nil || !ofModules(obj.Pkg(), u) {
				return true
			}
			if _, isFunc := obj.(*types.Func); isFunc {
				keys["use "+objectName(obj)] = true
			}
			if fn := bodies[obj]; fn != nil {
				delete(bodies, obj)
				next = append(next, fn)
			}
			return true
		})
	}
	return keys
}

// ofModules reports whether a package is the target's own, or of a module: those of the standard
// library have no dot in the first element of their path.
func ofModules(p *types.Package, u *source.Unit) bool {
	first, _, _ := strings.Cut(p.Path(), "/")
	return p.Path() == u.Types.Path() || strings.Contains(first, ".")
}
