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
