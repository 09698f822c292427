package sampletest

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/ci.md")

// A sampling is a call of this package in a test.
type sampling struct {
	pkg, function, tries string
}

// TestTable compares the table of docs/ci.md with the calls of this package in all tests.
func TestTable(t *testing.T) {
	var all []sampling
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); path != root && (name == "testdata" || strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		found, err := samplings(root, path)
		all = append(all, found...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d calls were found", len(all))
	}
	file := filepath.Join(root, "docs", "ci.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, ok := withTable(string(text), all)
	switch {
	case !ok:
		t.Errorf("%s lacks the lines %q and %q", file, tableBegins, tableEnds)
	case want == string(text):
	case *update:
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the table of %s does not match the tests: run 'go test ./internal/sampletest -update'", file)
	}
}

const tableBegins, tableEnds = "<!-- samples -->\n", "<!-- /samples -->\n"

// withTable returns the document with the table between its marks, and false without marks.
func withTable(text string, all []sampling) (string, bool) {
	head, rest, ok := strings.Cut(text, tableBegins)
	_, tail, ends := strings.Cut(rest, tableEnds)
	var b strings.Builder
	b.WriteString(head + tableBegins + "\n| package | function | a run tries |\n|---|---|---|\n")
	for _, s := range all {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", s.pkg, s.function, s.tries)
	}
	b.WriteString("\n" + tableEnds + tail)
	return b.String(), ok && ends
}

// samplings returns the calls in the tests of a directory, in the order of files and lines.
func samplings(root, dir string) ([]sampling, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	// Parse the files that import this package, and those that declare what they name.
	var files []*ast.File
	uses := false
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		uses = uses || bytes.Contains(text, []byte(`internal/sampletest"`))
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if !uses {
		return nil, nil
	}
	// Find the calls by function.
	pkg, err := filepath.Rel(root, dir)
	if err != nil {
		return nil, err
	}
	values := declared(files)
	var out []sampling
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			for _, tries := range triesOf(fn, values) {
				out = append(out, sampling{filepath.ToSlash(pkg), fn.Name.Name, tries})
			}
		}
	}
	return out, nil
}

// declared returns the values of package-level constants and variables, by name.
func declared(files []*ast.File) map[string]ast.Expr {
	values := map[string]ast.Expr{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.ValueSpec); ok && len(s.Values) == len(s.Names) {
				for i, name := range s.Names {
					values[name.Name] = s.Values[i]
				}
			}
			return true
		})
	}
	return values
}

// triesOf says for each call in a function what a run tries.
func triesOf(fn *ast.FuncDecl, values map[string]ast.Expr) (out []string) {
	ast.Inspect(fn, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		selected, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if from, ok := selected.X.(*ast.Ident); !ok || from.Name != "sampletest" {
			return true
		}
		switch selected.Sel.Name {
		case "Rarely":
			out = append(out, "itself in 1 of "+number(call.Args[1], values)+" runs")
		case "OneIn":
			out = append(out, "more in 1 of "+number(call.Args[1], values)+" runs")
		case "All":
			out = append(out, "more with `-sample.all` alone")
		case "Of":
			out = append(out, number(call.Args[2], values)+of(call.Args[1], values))
		}
		return true
	})
	return out
}

// number returns a number, or the value of a constant.
func number(e ast.Expr, values map[string]ast.Expr) string {
	if name, ok := e.(*ast.Ident); ok && values[name.Name] != nil {
		e = values[name.Name]
	}
	if n, ok := e.(*ast.BasicLit); ok {
		return n.Value
	}
	return "some"
}

// of returns " of " and the length of a list, or the name of a list whose length no literal says.
func of(e ast.Expr, values map[string]ast.Expr) string {
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) > 0 { // the keys of a map, sorted; files
		return of(call.Args[len(call.Args)-1], values)
	}
	list := e
	if name, ok := e.(*ast.Ident); ok && values[name.Name] != nil {
		list = values[name.Name]
	}
	switch list := list.(type) {
	case *ast.CompositeLit:
		return fmt.Sprintf(" of %d", len(list.Elts))
	case *ast.BasicLit:
		return " of the files of `" + strings.Trim(list.Value, `"`) + "`"
	case *ast.Ident:
		return " of `" + list.Name + "`"
	}
	return ""
}

// TestTriesOf checks each kind of call.
func TestTriesOf(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "x_test.go", `package x
const few = 3
var cases = []int{1, 2, 3, 4}
func TestX(t *testing.T) {
	sampletest.Rarely(t, 2)
	if sampletest.OneIn(t, few) && sampletest.All() {}
	sampletest.Of(t, cases, few)
	sampletest.Of(t, []string{"a", "b"}, 1)
	sampletest.Of(t, scripts(t, "testdata/x"), 1)
	sampletest.Of(t, slices.Sorted(maps.Keys(cases)), 1)
	sampletest.Of(t, read, 1)
	other.Of(t, cases, 1)
}`, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := triesOf(f.Decls[2].(*ast.FuncDecl), declared([]*ast.File{f}))
	want := []string{"itself in 1 of 2 runs", "more in 1 of 3 runs", "more with `-sample.all` alone", "3 of 4",
		"1 of 2", "1 of the files of `testdata/x`", "1 of 4", "1 of `read`"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, ok := withTable("no marks", nil); ok {
		t.Error("a table was put into a text without marks")
	}
}
