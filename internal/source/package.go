package source

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/exports"
)

// A Package is the target's package as the user wrote it, with the results of the go command and
// the type checker. No candidate changes it.
type Package struct {
	Path, Name string // of the import; of the package clause
	Dir, Root  string // of its files; of its module
	Types      *types.Package
	Around     string // identifies the code that versions are built of, the package's own with it

	lang            string // the version of Go that its module asks for
	fset            *token.FileSet
	files           []*srcFile // as the compiler takes them
	info            *types.Info
	graph           *graph
	exports         *exports.Importer
	also            map[string]bool   // packages that it does not import, and a candidate may
	requirementDirs []string          // directories of their modules
	direct          map[string]bool   // import paths that some file imports
	names           map[string]string // import path -> package name, for every package that is linked

	watching  sync.Once
	constancy constancy // see watch

	naming sync.Once
	local  map[string]bool // see localNames

	mu      sync.Mutex
	qualify map[string]string // import path -> name in type strings
}

// newPackage parses and type-checks a package as the user wrote it. also are packages that it does
// not import, and candidates may.
func newPackage(p *packages.Package, x *exports.Importer, also otherPackages) (*Package, error) {
	// Note the names of all packages in reach, and which ones the package imports itself.
	pkg := &Package{Path: p.PkgPath, Name: p.Name, Dir: p.Dir, Root: moduleRoot(p), lang: language(p),
		fset: token.NewFileSet(), exports: x, also: map[string]bool{}, requirementDirs: also.dirs,
		direct: map[string]bool{}, names: map[string]string{},
		qualify: map[string]string{}}
	packages.Visit([]*packages.Package{p}, nil, func(q *packages.Package) { pkg.names[q.PkgPath] = q.Name })
	maps.Copy(pkg.names, also.names)
	for path := range also.names {
		pkg.also[path] = true
	}
	for path := range p.Imports {
		pkg.direct[path] = true
	}
	// Parse the files again, with comments: these are the texts that patches are made of.
	for _, path := range p.CompiledGoFiles {
		if !strings.HasSuffix(path, ".go") && filepath.Dir(path) == p.Dir {
			continue // assembly
		}
		f, err := readFile(pkg.fset, path)
		if err != nil {
			return nil, &beagle.UsageError{
				What:   fmt.Sprintf("%s does not compile: %v", p.PkgPath, err),
				Remedy: "make `go build` work first",
			}
		}
		pkg.files = append(pkg.files, f)
	}
	// The first error says what is wrong; the others often follow from it.
	var first error
	conf := pkg.config(func(err error) {
		if first == nil {
			first = err
		}
	})
	pkg.info = newInfo(nil)
	pkg.Types, _ = conf.Check(p.PkgPath, pkg.fset, asts(pkg.files), pkg.info)
	if first != nil {
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("%s does not compile: %v", p.PkgPath, first),
			Remedy: "make `go build` work first",
		}
	}
	pkg.graph = newGraph(pkg.files, pkg.Types, pkg.info)
	return pkg, nil
}

func (pkg *Package) config(report func(error)) *types.Config {
	return &types.Config{GoVersion: "go" + pkg.lang, Importer: pkg.exports, Sizes: sizes(), Error: report}
}

// newInfo asks the type checker for all that later stages look up. like is its answer on a similar
// text, or nil. Tables that begin with the size of that answer's rarely grow.
func newInfo(like *types.Info) *types.Info {
	if like == nil {
		like = new(types.Info)
	}
	return &types.Info{
		Types:        make(map[ast.Expr]types.TypeAndValue, len(like.Types)),
		Instances:    make(map[*ast.Ident]types.Instance, len(like.Instances)),
		Defs:         make(map[*ast.Ident]types.Object, len(like.Defs)),
		Uses:         make(map[*ast.Ident]types.Object, len(like.Uses)),
		Implicits:    make(map[ast.Node]types.Object, len(like.Implicits)),
		Selections:   make(map[*ast.SelectorExpr]*types.Selection, len(like.Selections)),
		Scopes:       make(map[ast.Node]*types.Scope, len(like.Scopes)),
		FileVersions: map[*ast.File]string{},
	}
}

func asts(files []*srcFile) []*ast.File {
	var out []*ast.File
	for _, f := range files {
		out = append(out, f.ast)
	}
	return out
}

// Syntax returns the package as the user wrote it, with its types. Callers must not change it.
func (pkg *Package) Syntax() (*token.FileSet, []*ast.File, *types.Info) {
	return pkg.fset, asts(pkg.files), pkg.info
}

// Literals returns the constants that the package's files spell, as the user wrote them.
func (pkg *Package) Literals() []constant.Value {
	var out []constant.Value
	for _, f := range pkg.files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok {
				out = append(out, constant.MakeFromLiteral(lit.Value, lit.Kind, 0))
			}
			return true
		})
	}
	return out
}

// Files returns the absolute paths of the Go files that the compiler takes. They are the user's
// own. A build that imports a package main needs copies instead: see [Package.BuildFiles].
func (pkg *Package) Files() []string {
	var out []string
	for _, f := range pkg.files {
		out = append(out, f.path)
	}
	return out
}
