package beagle_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// otherSystems are those that the tests do not run on, and the module compiles for.
var otherSystems = []string{"windows/amd64", "darwin/arm64"}

// TestOtherSystems type-checks every package, tests included, for other systems. To
// compile them with all that they need would take minutes.
func TestOtherSystems(t *testing.T) {
	if testing.Short() {
		t.Skip("reads all dependencies for two systems")
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, system := range otherSystems {
		goos, arch, _ := strings.Cut(system, "/")
		checked, err := packages.Load(&packages.Config{
			Mode:  packages.LoadAllSyntax &^ packages.NeedTypesInfo,
			Dir:   root,
			Tests: true,
			Env:   append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0"),
			ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
				return parsed(fset, name, src, root)
			},
		}, "./...")
		if err != nil {
			t.Fatal(err)
		}
		if len(checked) < 50 {
			t.Errorf("%s: only %d packages", system, len(checked))
		}
		for _, p := range checked {
			if strings.HasSuffix(p.ID, ".test") { // made by the go command, outside of the module
				continue
			}
			for _, e := range p.Errors {
				t.Errorf("%s: %v", system, e)
			}
		}
	}
}

// parsed is a file of the module, or of another one what it declares: what its
// functions do is not ours to check.
func parsed(fset *token.FileSet, name string, src []byte, root string) (*ast.File, error) {
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if f == nil || strings.HasPrefix(name, root+string(filepath.Separator)) {
		return f, err
	}
	for _, d := range f.Decls {
		if fd, ok := d.(*ast.FuncDecl); ok {
			fd.Body = nil
		}
	}
	return f, err
}
