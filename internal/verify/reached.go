package verify

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/syntax"
)

// A reach lists the names that a function of the target's package uses.
type reach struct {
	funcs []*types.Func // of modules
	vars  []*types.Var  // of packages
	state bool          // it reveals state in a variable, by itself or through others
}

// reachedNames returns the keys of the names that the original uses through the functions of its
// package that it calls. A candidate may hold copies of those functions, and a copy uses the same
// as its original:
//
//   - functions of modules. Those with results that may tell what others of these functions keep in
//     a variable, as those of a cache do, are left out;
//   - variables of the package that all these functions only read, and so no call can change. They
//     may be set before, by init or by the user. written names those that the original's calls of
//     values and interfaces write.
//
// With the standard library and other variables a candidate could keep state between calls. It may
// use these only where the target's own text does.
func reachedNames(of *source.Package, target string, constant, written map[string]bool) map[string]bool {
	// Find the variables that all reached functions only read: copies may read them, too.
	seen := reaches(of, target)
	read, fixed := onlyReadBy(of, seen)
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
	// State in a function reveals itself through its callers.
	for changed := true; changed; {
		changed = false
		for _, r := range seen {
			tells := func(fn *types.Func) bool { return seen[fn] != nil && seen[fn].state }
			if !r.state && slices.ContainsFunc(r.funcs, tells) {
				r.state, changed = true, true
			}
		}
	}
	// Functions without results, or without state below them, may be called.
	for _, r := range seen {
		for _, fn := range r.funcs {
			if to := seen[fn]; to == nil || !to.state || fn.Signature().Results().Len() == 0 {
				keys["use "+objectName(fn)] = true
			}
		}
	}
	return keys
}

// onlyReadBy returns the variables that the functions only read, and all that others may
// call while they run; and those of these variables of which the package gives no memory away.
func onlyReadBy(of *source.Package, seen map[types.Object]*reach) (read, fixed map[string]bool) {
	fset, files, info := of.Syntax()
	c := &typedText{fset, of.Types, info}
	all := func(*types.Var) bool { return true }
	read = c.onlyRead(c.mayRun(files, seen), all)
	fixed = c.onlyRead(files, func(v *types.Var) bool { return c.refers(v.Type()) })
	given := c.addressed(files)
	for name := range read {
		v, ok := of.Types.Scope().Lookup(name[strings.LastIndexByte(name, '.')+1:]).(*types.Var)
		if ok && !c.refers(v.Type()) && !given[name] {
			fixed[name] = true
		}
	}
	return read, fixed
}

// mayRun returns the parts of files that a call of the target may run: the functions that it
// reaches, and those that others may call through values and interfaces, such as a library that
// formats or sorts. These are methods, function literals, and functions that code names without a
// call or starts as goroutines, each with its callees. Declarations of variables are left in.
func (c *typedText) mayRun(files []*ast.File, seen map[types.Object]*reach) (parts []*ast.File) {
	r := liveFunctions{typedText: c, decls: withBodies(c.info, files), runs: map[*ast.FuncDecl]bool{}}
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			switch {
			case !ok:
				r.handOut(d)
			case fn.Body == nil:
			case fn.Recv != nil || seen[c.info.Defs[fn.Name]] != nil:
				r.runs[fn] = true
				r.run(fn.Body)
			default:
				r.handOut(fn.Body)
			}
		}
	}
	// Keep what runs, and the literals of functions that do not run themselves.
	for _, f := range files {
		part := &ast.File{Name: f.Name}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); !ok || r.runs[fn] {
				part.Decls = append(part.Decls, d)
			}
		}
		parts = append(parts, part)
	}
	return append(parts, &ast.File{Name: ast.NewIdent("_"), Decls: r.literals})
}

// withBodies are the functions with a body, by the objects that they declare.
func withBodies(info *types.Info, files []*ast.File) map[types.Object]*ast.FuncDecl {
	out := map[types.Object]*ast.FuncDecl{}
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			if obj, ok := info.Defs[fn.Name].(*types.Func); ok {
				out[obj] = fn
			}
		}
	}
	return out
}

// liveFunctions collects the functions that may run.
type liveFunctions struct {
	*typedText
	decls    map[types.Object]*ast.FuncDecl
	runs     map[*ast.FuncDecl]bool
	literals []ast.Decl // of functions that need not run themselves
}

// call notes that the function of a name may run, with all that it names.
func (r *liveFunctions) call(id *ast.Ident) {
	if d := r.decls[syntax.Origin(r.info.Uses[id])]; d != nil && !r.runs[d] {
		r.runs[d] = true
		r.run(d.Body)
	}
}

// run notes what code that runs may call: whatever it names.
func (r *liveFunctions) run(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			r.call(id)
		}
		return true
	})
}

// handOut notes what code that need not run itself may hand to others: literals, functions that it
// names without a call, and goroutines.
func (r *liveFunctions) handOut(n ast.Node) {
	called := map[*ast.Ident]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			r.run(n.Call.Fun)
		case *ast.CallExpr:
			if _, id := syntax.Called(n); id != nil {
				called[id] = true
			}
		case *ast.FuncLit:
			r.run(n.Body)
			r.literals = append(r.literals, &ast.FuncDecl{Name: ast.NewIdent("_"), Type: n.Type, Body: n.Body})
			return false
		case *ast.Ident:
			if !called[n] {
				r.call(n)
			}
		}
		return true
	})
}

// addressed returns the variables whose address code takes, so that it may change them by other
// names.
func (c *typedText) addressed(files []*ast.File) map[string]bool {
	out := map[string]bool{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					c.noteRoot(n.X, out)
				}
			case *ast.SliceExpr:
				c.noteRoot(n.X, out)
			case *ast.SelectorExpr:
				if s := c.info.Selections[n]; s != nil && s.Kind() != types.FieldVal {
					c.noteRoot(n.X, out)
				}
			}
			return true
		})
	}
	return out
}

// writtenVariables returns the names of the variables that a version writes, or whose memory it
// gives away.
func writtenVariables(c *code) map[string]bool {
	out := map[string]bool{}
	for _, v := range inspect(c) {
		for _, p := range []string{"write ", "keep ", "share ", "pass "} {
			if name, ok := strings.CutPrefix(v.key, p); ok {
				name, _, _ = strings.Cut(name, doubtful)
				out[name] = true
			}
		}
	}
	return out
}

// reaches reads the target and the functions of its package that it reaches.
func reaches(of *source.Package, target string) map[types.Object]*reach {
	_, files, info := of.Syntax()
	decls := withBodies(info, files)
	var next []types.Object
	// Begin with the target.
	for obj := range decls {
		if fn, ok := obj.(*types.Func); ok && syntax.FuncName(fn) == target {
			next = append(next, obj)
		}
	}
	seen := map[types.Object]*reach{}
	// Follow the names in each function's body to variables and functions of the user's modules.
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
			switch obj := syntax.Origin(info.Uses[id]).(type) {
			case *types.Var:
				if ofPackage(obj) {
					r.vars = append(r.vars, obj)
				}
			case *types.Func:
				if obj.Pkg() == nil || !ofModules(obj.Pkg(), of) {
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
	return v.Pkg() != nil && v.Parent() == v.Pkg().Scope() && !syntax.IsError(v.Type()) &&
		!isAllowed(v.Pkg().Path(), objectName(v))
}

// ofModules reports whether a package is the target's own, or of a module: those of the standard
// library have no dot in the first element of their path.
func ofModules(p *types.Package, of *source.Package) bool {
	first, _, _ := strings.Cut(p.Path(), "/")
	return p.Path() == of.Path || strings.Contains(first, ".")
}
