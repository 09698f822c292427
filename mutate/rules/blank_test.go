package rules_test

import (
	"fmt"
	"go/ast"
	"go/types"
	"hash/fnv"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules"
)

// TestBlank replaces variables of the golden archives by the blank identifier, which has no type.
// It asks every rule for its sites, parameters, and edits, and no rule may panic. With
// BEAGLE_BLANK=all it replaces every variable, and otherwise a fixed sample.
func TestBlank(t *testing.T) {
	files, err := filepath.Glob("*/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden archives: %v", err)
	}
	all, tried := os.Getenv("BEAGLE_BLANK") == "all", 0
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range ar.Files {
			if !strings.HasSuffix(f.Name, "/before.go") {
				continue
			}
			for _, src := range blanked(string(f.Data)) {
				if h := fnv.New32a(); !all {
					fmt.Fprint(h, src)
					if h.Sum32()%16 != 0 {
						continue
					}
				}
				if p, err := mutate.Check(src, "", blankFacets()); err == nil {
					tried++
					tryAll(t, file+" "+f.Name, p)
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d versions with a blank variable compiled, want at least 100", tried)
	}
	t.Logf("%d versions", tried)
}

// TestShapesWithoutType asks every rule about code in which expressions have no type or an unusual
// one.
func TestShapesWithoutType(t *testing.T) {
	ar, err := txtar.ParseFile("testdata/untyped/shapes.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range ar.Files {
		first, err := mutate.Check(string(f.Data), "", nil)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		for _, fn := range mutate.Nodes[*ast.FuncDecl](first, nil) {
			p, err := mutate.Check(string(f.Data), targetName(first, fn), blankFacets())
			if err != nil {
				t.Fatalf("%s, %s: %v", f.Name, fn.Name.Name, err)
			}
			tryAll(t, f.Name+" "+fn.Name.Name, p)
		}
	}
}

// targetName returns the name of a function as mutate.Check expects it.
func targetName(p *mutate.Pass, fn *ast.FuncDecl) string {
	if recv := p.Info.Defs[fn.Name].(*types.Func).Signature().Recv(); recv != nil {
		t := recv.Type()
		if ptr, ok := t.(*types.Pointer); ok {
			t = ptr.Elem()
		}
		return t.(*types.Named).Obj().Name() + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// blankFacets returns facets with which rules apply that look at the corpus.
func blankFacets() *beagle.Facets {
	f := mostlyClean()
	f.Params[0].Sorted = 0.98
	return f
}

// blanked returns the source once for each variable that a statement assigns or declares, with the
// blank identifier in its place.
func blanked(src string) []string {
	p, err := mutate.Check(src, "", nil)
	if err != nil {
		return nil
	}
	var out []string
	replace := func(e ast.Expr) {
		if id, ok := e.(*ast.Ident); ok && id.Name != "_" {
			at := p.Fset.Position(id.Pos()).Offset
			out = append(out, src[:at]+"_"+src[at+len(id.Name):])
		}
	}
	ast.Inspect(p.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				replace(l)
			}
			at, end := p.Fset.Position(n.Pos()).Offset, p.Fset.Position(n.End()).Offset
			if len(n.Lhs) == 1 { // x := e and x += e become _ = e
				out = append(out, src[:at]+"_ = "+p.Text(n.Rhs[0])+src[end:])
			}
			if id, ok := n.Lhs[0].(*ast.Ident); ok && id.Name != "_" { // x = e gets a second half
				out = append(out, src[:end]+"; _ = "+id.Name+src[end:])
			}
		case *ast.IncDecStmt:
			at, end := p.Fset.Position(n.Pos()).Offset, p.Fset.Position(n.End()).Offset
			out = append(out, src[:at]+"_ = "+p.Text(n.X)+src[end:])
		case *ast.RangeStmt:
			replace(n.Key)
			replace(n.Value)
		case *ast.Field:
			for _, id := range n.Names {
				replace(id)
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				replace(id)
			}
		}
		return true
	})
	return out
}

// tryAll asks every rule for all that it offers.
func tryAll(t *testing.T, where string, p *mutate.Pass) {
	for _, m := range rules.All {
		func() {
			defer func() {
				if what := recover(); what != nil {
					t.Errorf("%s panics on %s: %v\n%s\n%s", m.Name, where, what, p.Src, debug.Stack())
				}
			}()
			for _, c := range mutate.Choices(p, m) {
				_, _, _ = mutate.Take(p, m, c.Site, c.Param)
			}
		}()
	}
}
