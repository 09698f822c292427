package verify

import (
	"go/ast"
	"go/types"
	"maps"
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

	methods map[string]bool // names of methods that it calls through interfaces
	values  bool            // it calls function values
}

// reachedBy returns the keys of what the original uses through the functions of its package that it
// calls. A candidate may hold copies of those functions, and a copy uses what its original uses:
//
//   - functions of modules. Those with results that may tell what others of these functions keep in
//     a variable, as those of a cache do, are left out;
//   - variables of the package that all these functions only read, and so no call can change. They
//     may be set before, by init or by the user. written names those that the original's calls of
//     values and interfaces write.
//
// With the standard library and other variables a candidate could keep state between calls. It may
// use these only where the target's own text does.
func reachedBy(u *source.Unit, constant, written map[string]bool) map[string]bool {
	seen := reaches(u)
	read, fixed := onlyReadBy(u, seen)
	keys := map[string]bool{}
	for _, r := range seen {
		for _, v := range r.vars {
			if name := objectName(v); fixed[name] && !written[name] {
				keys["use "+name] = true
			}
		}
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
	for _, r := range seen {
		for _, fn := range r.funcs {
			if to := seen[fn]; to == nil || !to.state || fn.Signature().Results().Len() == 0 {
				keys["use "+objectName(fn)] = true
			}
		}
	}
	return keys
}

// onlyReadBy returns the variables that the functions only read, and those of them of which
// no other function of the package gives the memory away.
func onlyReadBy(u *source.Unit, seen map[types.Object]*reach) (read, fixed map[string]bool) {
	fset, files, info := u.Syntax()
	c := &code{fset: fset, pkg: u.Types, info: info}
	// Calls through interfaces and of values may reach more than the text tells.
	methods, values := map[string]bool{}, false
	for _, r := range seen {
		maps.Copy(methods, r.methods)
		values = values || r.values
	}
	var parts []*ast.File
	for _, f := range files {
		part := &ast.File{Name: f.Name}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || seen[info.Defs[fn.Name]] != nil || fn.Recv != nil && methods[fn.Name.Name] ||
				values && fn.Name.Name != "init" {
				part.Decls = append(part.Decls, d)
			}
		}
		parts = append(parts, part)
	}
	all := func(*types.Var) bool { return true }
	read = c.onlyRead(parts, all)
	fixed = c.onlyRead(files, func(v *types.Var) bool { return c.refers(v.Type()) })
	for name := range read {
		v, ok := u.Types.Scope().Lookup(name[strings.LastIndexByte(name, '.')+1:]).(*types.Var)
		if ok && !c.refers(v.Type()) {
			fixed[name] = true
		}
	}
	return read, fixed
}

// written returns the names of the variables that a version writes, or whose memory it gives away.
func written(c *code) map[string]bool {
	out := map[string]bool{}
	for _, v := range inspect(c) {
		for _, p := range []string{"write ", "keep ", "share ", "pass "} {
			if name, ok := strings.CutPrefix(v.key, p); ok {
				out[name] = true
			}
		}
	}
	return out
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
		r := &reach{methods: map[string]bool{}}
		seen[fn] = r
		ast.Inspect(decls[fn].Body, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			switch obj := origin(info.Uses[id]).(type) {
			case *types.Var:
				if _, ok := obj.Type().Underlying().(*types.Signature); ok {
					r.values = true // it may be called
				}
				if ofPackage(obj) {
					r.vars = append(r.vars, obj)
				}
			case *types.Func:
				if types.IsInterface(recvType(obj)) {
					r.methods[obj.Name()] = true
				}
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
