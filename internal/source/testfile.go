package source

import (
	"go/ast"
	"go/parser"
	"go/types"
)

// CheckTest type-checks a test file that is to be added to the package: what
// is wrong with it, nil when it would build. Names that the package's other
// test files declare are not seen.
func (u *Unit) CheckTest(name, text string) error {
	f, err := parser.ParseFile(u.fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	var first error
	conf := u.config(func(err error) {
		if first == nil {
			first = err
		}
	})
	// A package of its own, so that the test's functions do not join the target's.
	pkg := types.NewPackage(u.Types.Path(), u.Types.Name())
	for _, name := range u.Types.Scope().Names() {
		pkg.Scope().Insert(u.Types.Scope().Lookup(name))
	}
	err = types.NewChecker(conf, u.fset, pkg, nil).Files([]*ast.File{f})
	if first != nil {
		return first
	}
	return err
}
