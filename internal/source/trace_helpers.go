package source

import (
	"go/ast"

	"github.com/beagle-go/beagle/internal/syntax"
)

// TracedHelpers traces the functions of the package that versions may reach and do not declare. It
// returns the changed files by path. It finds functions and methods by name, so it may trace too
// many.
func (w *Writer) TracedHelpers(versions []*File, rt string, first int) (texts map[string]string, sites []Site) {
	if w.pkg.BuildName() != w.target.PkgName {
		return nil, nil // a package main is built from copies
	}
	reached := w.reachedFunctions(versions)
	texts = map[string]string{}
	for _, f := range w.pkg.files {
		file := &File{Src: f.text, Fset: w.pkg.fset, AST: f.ast, Info: w.pkg.info}
		t := newTracer(file, first+len(sites))
		// By name alone, as a method may be called through an interface.
		for _, d := range f.ast.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && reached[d.Name.Name] {
				t.function(d)
			}
		}
		if len(t.sites) > 0 {
			texts[f.path] = syntax.Apply(f.text, t.importing(rt))
			sites = append(sites, t.sites...)
		}
	}
	return texts, sites
}

// reachedFunctions names the functions of the package that versions mention, directly or
// through others.
func (w *Writer) reachedFunctions(versions []*File) map[string]bool {
	// Methods go by their names alone: which one is called is not known here.
	bodies := map[string][]*ast.FuncDecl{}
	for _, f := range w.pkg.files {
		for _, d := range f.ast.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				bodies[d.Name.Name] = append(bodies[d.Name.Name], d)
			}
		}
	}
	out := map[string]bool{}
	// Follow the names through the bodies.
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || out[id.Name] || bodies[id.Name] == nil {
			return true
		}
		out[id.Name] = true
		for _, d := range bodies[id.Name] {
			ast.Inspect(d.Body, visit)
		}
		return true
	}
	for _, f := range versions {
		ast.Inspect(f.AST, visit)
		for _, d := range f.AST.Decls { // each version has its own copy of these
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil {
				delete(out, d.Name.Name)
			}
		}
	}
	return out
}
