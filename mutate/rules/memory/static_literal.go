package memory

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// staticLiteral (part of catalogue A11) matches a list or map of constants that a function builds
// in every call and only reads. It makes it a package variable.
var staticLiteral = &mutate.Mutator{
	Name: "static-literal",
	Doc: "Build a list or map of constants once, when the program starts, instead of in every call. A list is copied " +
		"to the stack each time, and a map is filled key by key. Exact: all elements are constants, and the " +
		"function only ranges over it, indexes it and asks for its length.",
	Example: mutate.Shows(`for i, x := range [16]int{0, 2, 4, 6, 9, 11} {`,
		`for i, x := range &offsets {

var offsets = [16]int{0, 2, 4, 6, 9, 11}`),
	Class:   beagle.E0,
	Gain:    1.15,
	Find:    findStaticLiteral,
	Rewrite: edit.Precomputed,
}

// findStaticLiteral looks for literals of constants that the function builds anew at every call,
// although it only reads them. A variable of the package is built once.
func findStaticLiteral(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, lit := range mutate.Nodes[*ast.CompositeLit](p, nil) {
		fn := p.FuncOf(lit)
		if fn == nil || !facts.TakesTime(p, lit) || !constantLiteral(p, lit) || !manyElements(p, lit) ||
			isMapLiteral(p, lit) && reachedByMethod(p, fn) {
			continue
		}
		name := "values"
		edits := []mutate.Edit{}
		// A literal in a variable moves with it, if all uses only read elements. A literal in an
		// expression must be read on the spot.
		if d, ok := declarationOf(p, lit); ok {
			if !onlyLookedAt(p, d.Var, fn) {
				continue
			}
			name = d.Var.Name()
			name = p.Fresh(edit.LowerFirst(fn.Name.Name)+edit.UpperFirst(name), name+"Of"+edit.UpperFirst(fn.Name.Name))
			for _, id := range p.Uses(d.Var, fn) {
				edits = append(edits, p.Replace(id, lookedAt(p, id, name)))
			}
			edits = append(edits, p.Delete(d.Stmt))
		} else {
			if !onlyReadsElements(p, lit) {
				continue
			}
			name = p.Fresh(edit.LowerFirst(fn.Name.Name)+"Values", edit.LowerFirst(fn.Name.Name)+"List")
			edits = append(edits, p.Replace(lit, lookedAt(p, lit, name)))
		}
		// The literal itself moves as it is written.
		decl := "var " + name + " = " + p.Text(lit)
		sites = append(sites, edit.Site(lit, "constants in "+fn.Name.Name, append(edits, p.Declare(fn, decl))...))
	}
	return sites
}

// declarationOf is the declaration `v := lit` or `var v = lit` of a literal.
func declarationOf(p *mutate.Pass, lit *ast.CompositeLit) (facts.Declaration, bool) {
	// The statement around must be the declaration itself.
	for up := p.Parent(lit); up != nil; up = p.Parent(up) {
		s, ok := up.(ast.Stmt)
		if !ok {
			continue
		}
		d, ok := facts.Declares(p, s)
		if !ok || ast.Unparen(d.Value) != ast.Expr(lit) {
			return facts.Declaration{}, false
		}
		list, i := p.Siblings(s)
		return d, list != nil && i >= 0
	}
	return facts.Declaration{}, false
}

// manyElements reports whether building a literal costs anything.
func manyElements(p *mutate.Pass, lit *ast.CompositeLit) bool {
	return len(lit.Elts) >= 4 || isMapLiteral(p, lit) && len(lit.Elts) > 0
}

func isMapLiteral(p *mutate.Pass, lit *ast.CompositeLit) bool {
	_, isMap := p.Info.TypeOf(lit).Underlying().(*types.Map)
	return isMap
}

// reachedByMethod reports whether a function is a method, or a method may call it. An initialiser
// may call a method through an interface before a map is made; lists are laid out in advance.
func reachedByMethod(p *mutate.Pass, fn *ast.FuncDecl) bool {
	seen := map[*ast.FuncDecl]bool{}
	var reached func(fn *ast.FuncDecl) bool
	reached = func(fn *ast.FuncDecl) bool {
		if fn == nil || seen[fn] {
			return false
		}
		seen[fn] = true
		return fn.Recv != nil || slices.ContainsFunc(p.Uses(p.Info.Defs[fn.Name], p.File), func(id *ast.Ident) bool {
			return reached(p.FuncOf(id))
		})
	}
	return reached(fn)
}

// constantLiteral reports whether a literal is a list or map of constants, and means the same at
// package level.
func constantLiteral(p *mutate.Pass, lit *ast.CompositeLit) bool {
	// Only lists and maps are built at each call.
	switch p.Info.TypeOf(lit).Underlying().(type) {
	case *types.Array, *types.Slice, *types.Map:
	default:
		return false
	}
	if lit.Type == nil || !constantElements(p, lit) {
		return false
	}
	// All names must mean the same at package level.
	for _, id := range mutate.Nodes[*ast.Ident](p, lit) {
		obj := p.Info.Uses[id]
		if obj == nil {
			continue
		}
		if v, ok := obj.(*types.Var); ok && v.IsField() {
			continue
		}
		_, imported := obj.(*types.PkgName)
		if !imported && obj.Pkg() != nil && obj.Parent() != obj.Pkg().Scope() {
			return false // a local constant or type, or a type parameter
		}
	}
	return true
}

// constantElements reports whether all keys and values of a literal are constants, or literals of
// such.
func constantElements(p *mutate.Pass, lit *ast.CompositeLit) bool {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			// Names of fields are no values.
			_, isStruct := p.Info.TypeOf(lit).Underlying().(*types.Struct)
			if !isStruct && !constantElement(p, kv.Key) {
				return false
			}
			e = kv.Value
		}
		if !constantElement(p, e) {
			return false
		}
	}
	return true
}

func constantElement(p *mutate.Pass, e ast.Expr) bool {
	if lit, ok := e.(*ast.CompositeLit); ok {
		switch p.Info.TypeOf(lit).Underlying().(type) {
		case *types.Array, *types.Struct:
			return constantElements(p, lit)
		}
		return false // a list that could be changed through the outer one
	}
	return p.Info.Types[e].Value != nil
}

// onlyLookedAt reports whether a function does nothing but read the elements of a variable.
func onlyLookedAt(p *mutate.Pass, v *types.Var, fn *ast.FuncDecl) bool {
	uses := p.Uses(v, fn)
	return len(uses) > 0 && !slices.ContainsFunc(uses, func(id *ast.Ident) bool { return !onlyReadsElements(p, id) })
}

// onlyReadsElements reports whether the code around a list or map only reads elements of it.
func onlyReadsElements(p *mutate.Pass, e ast.Expr) bool {
	switch up := p.Parent(e).(type) {
	case *ast.RangeStmt:
		return up.X == e
	case *ast.IndexExpr:
		return up.X == e && !p.Changes(up) // an address would change it, too
	case *ast.CallExpr:
		if _, ok := p.IsBuiltin(up, "len"); ok {
			return true
		}
		_, ok := p.IsCall(up, "slices", "Contains", "Index", "BinarySearch")
		return ok && up.Args[0] == e
	}
	return false
}

// lookedAt is how the code around an expression names the variable: an array that is ranged over is
// not copied.
func lookedAt(p *mutate.Pass, e ast.Expr, name string) string {
	r, ok := p.Parent(e).(*ast.RangeStmt)
	if _, array := p.Info.TypeOf(e).Underlying().(*types.Array); ok && array && r.X == e {
		return "&" + name
	}
	return name
}
