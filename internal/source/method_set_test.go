package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

// packageMap imports packages that were checked before.
type packageMap map[string]*types.Package

func (m packageMap) Import(path string) (*types.Package, error) { return m[path], nil }

// TestMethodSetNamesPackages: a method that a field of another package brings along is another one
// if its types are another package's.
func TestMethodSetNamesPackages(t *testing.T) {
	known, fset := packageMap{}, token.NewFileSet()
	check := func(path, text string) *types.Package {
		f, err := parser.ParseFile(fset, path+".go", text, 0)
		if err != nil {
			t.Fatal(err)
		}
		conf := types.Config{Importer: known}
		if known[path], err = conf.Check(path, fset, []*ast.File{f}, nil); err != nil {
			t.Fatal(err)
		}
		return known[path]
	}
	for _, path := range []string{"a", "b"} {
		check(path, "package "+path+"; type T int; type X struct{}; func (X) Get(n int) T { return 0 }")
	}
	set := func(text string) string {
		return methodSet(check("p", "package p; "+text).Scope().Lookup("P").(*types.TypeName), false)
	}
	const was = `import "a"; type x = a.X; type P struct{ x }`
	if set(was) == set(`import "b"; type x = b.X; type P struct{ x }`) {
		t.Errorf("methods of a and of b are told as %s", set(was))
	}
	if same := `import "a"; type P struct{}; func (P) Get(m int) a.T { return 0 }`; set(same) != set(was) {
		t.Errorf("the same method is told as %s and %s", set(same), set(was))
	}
}
