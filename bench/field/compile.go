package main

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/packages"

	"github.com/beagle-go/beagle/internal/syntax"
)

// A typeChecker type-checks versions of one file of a package, beside the others without their
// bodies.
type typeChecker struct {
	pkg   *packages.Package
	known map[string]*types.Package // by import path, what the package depends on
	bare  map[string]*ast.File      // the package's files without bodies, by name
	std   types.Importer            // for what a version imports anew
}

func newTypeChecker(p *packages.Package) *typeChecker {
	c := &typeChecker{pkg: p, known: map[string]*types.Package{}, bare: map[string]*ast.File{},
		std: importer.ForCompiler(token.NewFileSet(), "source", nil)}
	packages.Visit([]*packages.Package{p}, nil, func(q *packages.Package) { c.known[q.PkgPath] = q.Types })
	for _, f := range p.Syntax {
		c.bare[p.Fset.Position(f.FileStart).Filename] = withoutBodies(f)
	}
	return c
}

// withoutBodies returns a copy of a file whose functions have no bodies.
func withoutBodies(f *ast.File) *ast.File {
	out := *f
	out.Decls = slices.Clone(f.Decls)
	for i, d := range out.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			short := *fn
			short.Body = nil
			out.Decls[i] = &short
		}
	}
	return &out
}

// Import returns a package as the package's own dependencies have it.
func (c *typeChecker) Import(path string) (*types.Package, error) {
	if p := c.known[path]; p != nil {
		return p, nil
	}
	p, err := c.std.Import(path)
	if err == nil {
		c.known[path] = p
	}
	return p, err
}

// complaint returns the first error of a text in place of a file, or "".
func (c *typeChecker) complaint(name, text string) string {
	f, err := parser.ParseFile(c.pkg.Fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err.Error()
	}
	first := ""
	conf := types.Config{Importer: c, Sizes: c.pkg.TypesSizes, Error: func(err error) {
		if e, ok := err.(types.Error); ok && first == "" && f.FileStart <= e.Pos && e.Pos <= f.FileEnd {
			first = e.Msg
		}
	}}
	files := []*ast.File{f}
	for other, bare := range c.bare {
		if other != name {
			files = append(files, bare)
		}
	}
	conf.Check(c.pkg.PkgPath, c.pkg.Fset, files, nil)
	return first
}

// check returns the first error of a version of a file that compiles as it is.
func (c *typeChecker) check(name, before string, version *syntax.Text) error {
	why := c.complaint(name, version.Src)
	if why == "" || c.complaint(name, before) != "" {
		return nil
	}
	return errors.New("it does not compile: " + why)
}
