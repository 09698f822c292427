package llm

import (
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// TestDeclared checks the names of declarations: methods have their type's name in front, however
// the receiver is written.
func TestDeclared(t *testing.T) {
	const src = `package p

import "fmt"

func F() {}
func (t T) A() {}
func (t *T) B() {}
func (t *G[K]) C() {}
func (t (P[K, V])) D() {}

type T struct{}

const (
	one = iota
	two, three
)

var _, x = 1, 2
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range f.Decls {
		got = append(got, Declared(d)...)
	}
	want := []string{"F", "T.A", "T.B", "G.C", "P.D", "T", "one", "two", "three", "_", "x"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
