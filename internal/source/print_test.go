package source

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle/internal/syntax"
)

// TestPrinted checks on many files, in their own format and in a bad one, that the declarations of
// a file print one by one as they do together, and so too when they are remembered.
func TestPrinted(t *testing.T) {
	r := new(Reader)
	apart, all := 0, 0
	for name, text := range manyFiles(t) {
		for _, src := range []string{text, unformatted(text)} {
			for range 2 {
				got, ok := printedAlone(t, r, src)
				if all++; !ok {
					continue
				}
				apart++
				x, err := syntax.Read(src)
				if err != nil {
					t.Fatal(err)
				}
				if want, err := formatted(src, x); err != nil || got != want {
					t.Fatalf("%s: by declarations it prints as\n%s\n%v, together as\n%s", name, got, err, want)
				}
			}
		}
	}
	if apart < all/2 {
		t.Errorf("%d of %d texts were printed by declarations", apart, all)
	}
}

// manyFiles returns Go files without imports: those of this package, and cases of some rewrites.
func manyFiles(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	names, _ := filepath.Glob("*.go")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = bare(t, string(text))
	}
	archives, _ := filepath.Glob("../../mutate/rules/*/testdata/*[aeiou].txtar")
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if _, err := syntax.Read(string(f.Data)); err == nil && strings.HasSuffix(f.Name, ".go") {
				out[name+" "+f.Name] = bare(t, string(f.Data))
			}
		}
	}
	return out
}

// unformatted returns a file without indentation, with more blank lines.
func unformatted(src string) string {
	lines := strings.Split(src, "\n")
	for i, line := range lines {
		if lines[i] = strings.TrimLeft(line, "\t"); line == "" {
			lines[i] = "\n"
		}
	}
	return strings.Join(lines, "\n")
}

// printedAlone prints a file without imports by its declarations.
func printedAlone(t *testing.T, r *Reader, src string) (string, bool) {
	t.Helper()
	x, err := syntax.Read(src)
	if err != nil {
		t.Fatal(err)
	}
	rest := x.Fset.Position(x.File.Name.End()).Offset
	return r.printed(src[:rest]+"\n", x, rest)
}

// bare returns a file without its imports and all that stands before them.
func bare(t *testing.T, src string) string {
	t.Helper()
	x, err := syntax.Read(src)
	if err != nil {
		t.Fatal(err)
	}
	last := x.File.Name.End()
	for _, d := range x.File.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			last = g.End()
		}
	}
	return "package p\n" + src[x.Fset.Position(last).Offset:]
}

// TestPrintedTogether lists what must be printed together, since declarations depend on each other
// or comments stand between them.
func TestPrintedTogether(t *testing.T) {
	for name, src := range map[string]string{
		"side by side":      "package p\n\nvar a = 1 // one\nvar long = 2 // two\n",
		"a comment between": "package p\n\nvar a = 1\n\n// Alone.\n\nvar b = 2\n",
		"a comment at last": "package p\n\nvar a = 1\n\n// The end.\n",
		"a comment behind":  "package p\n\nvar a = 1 // one\n\nvar b = 2\n",
		"one line":          "package p\n\nvar a = 1; var b = 2\n",
		"nothing":           "package p\n",
	} {
		if text, ok := printedAlone(t, new(Reader), src); ok {
			t.Errorf("%s: printed by declarations as\n%s", name, text)
		}
	}
}
