package source

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/beagle-go/beagle/internal/syntax"
)

// tracedPackages hold every form of statement and expression that a target may
// have, generics included.
var tracedPackages = []string{
	"bytes", "cmp", "container/list", "encoding/base64", "encoding/binary", "encoding/csv", "encoding/json", "fmt", "go/constant", "go/format", "go/parser",
	"go/scanner", "html", "io", "iter", "maps", "math", "math/big", "math/bits", "mime", "net/netip", "net/url", "path", "regexp", "regexp/syntax",
	"slices", "sort", "strconv", "strings", "text/tabwriter", "text/template", "text/template/parse", "time", "unicode/utf8",
}

// TestTraceCompiles: with the calls of rt, packages of the standard library
// still type-check, and the calls stand where lines keep their numbers.
func TestTraceCompiles(t *testing.T) {
	if testing.Short() {
		tracedPackages = tracedPackages[:8]
	}
	list, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax | packages.NeedModule}, tracedPackages...)
	if err != nil {
		t.Fatal(err)
	}
	rt := ownTrace(t)
	sites := 0
	for _, p := range list {
		n := traceWhole(t, p, rt)
		if sites += n; n == 0 && p.PkgPath != "unicode/utf8" {
			t.Errorf("%s: nothing is traced", p.PkgPath)
		}
	}
	t.Logf("%d decisions in %d packages", sites, len(list))
}

// traceWhole traces all files of a package and type-checks them again.
func traceWhole(t *testing.T, p *packages.Package, rt *types.Package) (sites int) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for i, path := range p.CompiledGoFiles {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f := &File{Src: string(text), Fset: p.Fset, AST: p.Syntax[i], Info: p.TypesInfo, Types: p.Types}
		edits, list := traceEdits(f, "beagle.invalid/rt", sites)
		sites += len(list)
		out := syntax.Apply(f.Src, edits)
		if strings.Count(out, "\n") != strings.Count(f.Src, "\n") {
			t.Errorf("%s: lines moved", path)
		}
		file, err := parser.ParseFile(fset, filepath.Base(path), out, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return sites
		}
		files = append(files, file)
	}
	deps := importerFunc(func(path string) (*types.Package, error) {
		if path == "beagle.invalid/rt" {
			return rt, nil
		}
		if path == "unsafe" {
			return types.Unsafe, nil
		}
		return imported(p, path).Types, nil
	})
	failures := 0
	conf := types.Config{Importer: deps, FakeImportC: true, Sizes: p.TypesSizes, Error: func(err error) {
		if failures++; failures < 5 {
			t.Errorf("%s: %v", p.PkgPath, err)
		}
	}}
	conf.Check(p.PkgPath, fset, files, nil)
	return sites
}

func imported(p *packages.Package, path string) *packages.Package {
	if q := p.Imports[path]; q != nil {
		return q
	}
	return p.Imports["vendor/"+path]
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }

// ownTrace is package rt as far as traced code uses it.
func ownTrace(t *testing.T) *types.Package {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range []string{"trace.go", "trace_key.go"} {
		f, err := parser.ParseFile(fset, filepath.Join("..", "rt", name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	p, err := conf.Check("beagle.invalid/rt", fset, files, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
