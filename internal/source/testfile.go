package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// CheckTest type-checks a new test file of the package. It returns nil if the file would build. It
// does not see names that the package's other test files declare.
func (pkg *Package) CheckTest(name, text string) error {
	f, err := parser.ParseFile(pkg.fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	var first error
	conf := pkg.config(func(err error) {
		if first == nil {
			first = err
		}
	})
	// A package of its own, so that the test's functions do not join the target's.
	beside := types.NewPackage(pkg.Types.Path(), pkg.Types.Name())
	for _, name := range pkg.Types.Scope().Names() {
		beside.Scope().Insert(pkg.Types.Scope().Lookup(name))
	}
	err = types.NewChecker(conf, pkg.fset, beside, nil).Files([]*ast.File{f})
	if first != nil {
		return first
	}
	return err
}

// TestImports returns the import block that a file of the package with such declarations needs.
func (r *Reader) TestImports(body string) (string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+body, 0)
	if err != nil {
		return "", err
	}
	specs := r.wantedImports(f)
	free := syntax.Qualifiers(f)
	// A test needs some packages that the candidate may not import.
	for name, path := range map[string]string{
		"testing": "testing", "runtime": "runtime", "os": "os", "netip": "net/netip",
	} {
		known := slices.ContainsFunc(specs, func(s importSpec) bool { return s.path == path })
		if free[name] && !known && !r.scope.declare[name] {
			specs = append(specs, importSpec{path: path})
		}
	}
	inorder.By(specs, importOrder)
	return importBlock(specs), nil
}
