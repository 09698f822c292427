package example

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"strconv"
	"sync"
)

// standIns imports packages that hold no more than the types that the examples name. Functions of
// packages are compared by package and name, so an example needs no more of them.
type standIns struct{ decls []ast.Decl }

// knownPackages holds the packages of which an example needs the contents.
var knownPackages = map[string]string{
	"cmp": `package cmp
type Ordered interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr |
		~float32 | ~float64 | ~string
}`,
	"math/bits": `package bits
func OnesCount64(x uint64) int
func Len64(x uint64) int
func TrailingZeros64(x uint64) int
`,
	"strings": `package strings
func Count(s, sub string) int
`,
	"bytes": `package bytes
func Count(s, sub []byte) int
`,
	"iter": `package iter
type Seq2[K, V any] func(yield func(K, V) bool)
`,
}

// Import makes up a package with the types that the examples name in it. Examples are type-checked
// without the real package, which need not be there.
func (s standIns) Import(importPath string) (*types.Package, error) {
	if importPath == kitPath {
		return kitPackage(), nil
	}
	name := path.Base(importPath)
	pkg := types.NewPackage(importPath, name)
	// Some packages have a source of stand-ins, because the examples use more of them than names of
	// types.
	if src, ok := knownPackages[importPath]; ok {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, importPath, src, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if pkg, err = new(types.Config).Check(importPath, fset, []*ast.File{f}, nil); err != nil {
			return nil, err
		}
	}
	// Other types are empty structs.
	for _, typ := range s.namedTypes(importPath, name) {
		if pkg.Scope().Lookup(typ) == nil {
			obj := types.NewTypeName(token.NoPos, pkg, typ, nil)
			types.NewNamed(obj, types.NewStruct(nil, nil), nil)
			pkg.Scope().Insert(obj)
		}
	}
	pkg.MarkComplete()
	return pkg, nil
}

// kitPackage is the kit with its types; other packages are stand-ins there too.
var kitPackage = sync.OnceValue(func() *types.Package {
	fset := token.NewFileSet()
	var files []*ast.File
	for name, text := range kitFiles() {
		f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			panic(err)
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: standIns{}, Error: func(error) {}, IgnoreFuncBodies: true}
	pkg, _ := conf.Check(kitPath, fset, files, nil) // its errors are of the stand-ins
	return pkg
})

// namedTypes lists the types of a package that the examples mention where only a type can stand.
func (s standIns) namedTypes(importPath, name string) []string {
	// Find the name under which the examples import the package.
	for _, d := range s.decls {
		if g, ok := d.(*ast.GenDecl); ok {
			for _, spec := range g.Specs {
				imp, ok := spec.(*ast.ImportSpec)
				if ok && imp.Path.Value == strconv.Quote(importPath) && imp.Name != nil {
					name = imp.Name.Name
				}
			}
		}
	}
	// Collect what is selected from it in places for types.
	var out []string
	add := func(e ast.Node) {
		if e == nil {
			return
		}
		ast.Inspect(e, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == name {
					out = append(out, sel.Sel.Name)
				}
			}
			return true
		})
	}
	for _, d := range s.decls {
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				add(n.Type)
			case *ast.ValueSpec:
				if n.Type != nil {
					add(n.Type)
				}
			case *ast.CompositeLit:
				if n.Type != nil {
					add(n.Type)
				}
			}
			return true
		})
	}
	return out
}
