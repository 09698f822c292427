package syntax

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// TestReceiver tries each form of a receiver.
func TestReceiver(t *testing.T) {
	for text, want := range map[string]string{
		"func F()":              "",
		"func (T) F()":          "T",
		"func (t *T) F()":       "T",
		"func (t *(T)) F()":     "T",
		"func (t T[A]) F()":     "T",
		"func (t *T[A, B]) F()": "T",
		"func (struct{}) F()":   "",
		"func () F()":           "",
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+text+" {}", parser.SkipObjectResolution)
		if f == nil {
			t.Fatal(text, err)
		}
		if got := Receiver(f.Decls[0].(*ast.FuncDecl)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestParameters names what has no name, and leaves the rest of the text alone.
func TestParameters(t *testing.T) {
	for text, want := range map[string]string{
		"func F()":                          "func F()",
		"func F(a, b int, c ...string)":     "func F(a, b int, c ...string)",
		"func F(int, ...string) (_ int)":    "func F(beagle0 int, beagle1 ...string) (_ int)",
		"func (T) F(_, a int, _ string)":    "func (beagle0 T) F(beagle1, a int, beagle3 string)",
		"func (_ *T[_]) F(func(_ int) int)": "func (beagle0 *T[_]) F(beagle1 func(_ int) int)",
	} {
		fset := token.NewFileSet()
		text, want = "package p\n"+text+" {}", "package p\n"+want+" {}"
		f, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(text, err)
		}
		all, edits := Parameters(fset, f.Decls[0].(*ast.FuncDecl))
		if got := Apply(text, edits); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		for _, p := range all {
			if p.Name == "_" || p.Name == "" || p.Declared != "" && p.Declared != p.Name || p.Type == nil {
				t.Errorf("%s: parameter %+v", text, p)
			}
		}
	}
}

func TestApply(t *testing.T) {
	edits := []Edit{{4, 5, "E"}, {0, 0, "1"}, {0, 0, "2"}, {2, 4, ""}}
	if got := Apply("abcdef", edits); got != "12abEf" {
		t.Errorf("%q", got)
	}
}
