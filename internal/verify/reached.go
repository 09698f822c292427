package verify

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/syntax"
)

// A reach holds what a function of the target's package names.
type reach struct {
	funcs []*types.Func // of modules
	vars  []*types.Var  // of packages
	state bool          // it tells what is kept in a variable, by itself or through others
}

// reachedBy returns the keys of the functions that the original calls through the functions of its
// package that it calls. A candidate may hold copies of those functions, and a copy calls what its
// original calls. The standard library and variables are left out: with them a candidate could keep
// state between calls. So are functions with results that may tell what others of these functions
// keep in a variable, as those of a cache do. A candidate may use all these only where the target's
// own text does.
func reachedBy(u *source.Unit, constant map[string]bool) map[string]bool {
	seen := reaches(u)
	read := onlyReadBy(u, seen)
	for _, r := range seen {
		r.state = slices.ContainsFunc(r.vars, func(v *types.Var) bool {
			name := objectName(v)
			return !constant[name] && !read[name]
		})
	}
	for changed := true; changed; {
		changed = false
		for _, r := range seen {
			tells := func(fn *types.Func) bool { return seen[fn] != nil && seen[fn].state }
			if !r.state && slices.ContainsFunc(r.funcs, tells) {
				r.state, changed = true, true
			}
		}
	}
	keys := map[string]bool{}
	for _, r := range seen {
		for _, fn := range r.funcs {
			if to := seen[fn]; to == nil || !to.state || fn.Signature().Results().Len() == 0 {
				keys["use "+objectName(fn)] = true
			}
		}
	}
	return keys
}

// onlyReadBy returns the variables that the functions only read.
func onlyReadBy(u *source.Unit, seen map[types.Object]*reach) map[string]bool {
	fset, files, info := u.Syntax()
	c := &code{fset: fset, pkg: u.Types, info: info}
	var parts []*ast.File
	for _, f := range files {
		part := &ast.File{Name: f.Name}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); !ok || seen[info.Defs[fn.Name]] != nil {
				part.Decls = append(part.Decls, d)
			}
		}
		parts = append(parts, part)
	}
	return c.onlyRead(parts)
}

// reaches reads the target and the functions of its package that it reaches.
func reaches(u *source.Unit) map[types.Object]*reach {
	_, files, info := u.Syntax()
	decls := map[types.Object]*ast.FuncDecl{}
	var next []types.Object
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
			decls[obj] = fn
			if syntax.FuncName(obj) == u.Target.Name {
				next = append(next, obj)
			}
		}
	}
	seen := map[types.Object]*reach{}
	for len(next) > 0 {
		fn := next[0]
		if next = next[1:]; seen[fn] != nil {
			continue
		}
		r := new(reach)
		seen[fn] = r
		ast.Inspect(decls[fn].Body, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			switch obj := origin(info.Uses[id]).(type) {
			case *types.Var:
				if ofPackage(obj) {
					r.vars = append(r.vars, obj)
				}
			case *types.Func:
				if obj.Pkg() == nil || !ofModules(obj.Pkg(), u) {
					return true
				}
				r.funcs = append(r.funcs, obj)
				if decls[obj] != nil {
					next = append(next, obj)
				}
			}
			return true
		})
	}
	return seen
}

// ofPackage reports whether a variable is one of a package, and no error or table of the library.
func ofPackage(v *types.Var) bool {
	return v.Pkg() != nil && v.Parent() == v.Pkg().Scope() && !isError(v.Type()) &&
		!allowed(v.Pkg().Path(), objectName(v))
}

// ofModules reports whether a package is the target's own, or of a module: those of the standard
// library have no dot in the first element of their path.
func ofModules(p *types.Package, u *source.Unit) bool {
	first, _, _ := strings.Cut(p.Path(), "/")
	return p.Path() == u.Types.Path() || strings.Contains(first, ".")
}
