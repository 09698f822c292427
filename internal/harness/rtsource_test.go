package harness

import (
	"context"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/rt"
)

// TestParts type-checks what each kind of program is given of rt, on systems
// that take different files: a file that a part lacks would break generated
// programs only, on that system only.
func TestParts(t *testing.T) {
	export := exportsOf(t.Context(), t)
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for part, want := range map[rt.ProgramKind][]string{
			rt.Recording: {"NewSite", "RegisterGlobal"},
			rt.Judging:   {"New", "Main", "RegisterGlobal", "Linked"},
		} {
			pkg := check(t, part, goos, export)
			for _, name := range want {
				if pkg.Scope().Lookup(name) == nil {
					t.Errorf("part %d on %s has no %s", part, goos, name)
				}
			}
		}
	}
}

func check(
	t *testing.T, part rt.ProgramKind, goos string, export func(path string) (io.ReadCloser, error),
) *types.Package {
	names, _, err := rtFor(part, goos, "amd64")
	if err != nil {
		t.Fatal(err)
	}
	fset, source := token.NewFileSet(), part.Files()
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(fset, name, source[name], parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	conf := types.Config{
		Importer: importer.ForCompiler(fset, "gc", export),
		Error:    func(err error) { t.Errorf("part %d on %s: %v", part, goos, err) },
	}
	pkg, _ := conf.Check("rt", fset, files, nil)
	return pkg
}

// exportsOf finds the export data of what rt imports, on this machine.
func exportsOf(ctx context.Context, t *testing.T) func(path string) (io.ReadCloser, error) {
	_, imports, err := rtFor(rt.Judging, "linux", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	_, recorded, err := rtFor(rt.Recording, "linux", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"},
		append(imports, recorded...)...)
	out, err := GoOutput(ctx, "go", "", os.Environ(), args...)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
}
