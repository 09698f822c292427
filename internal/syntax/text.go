package syntax

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// A Text is source with its tree, for callers that would parse it one after the other. The tree has
// the parser's own resolution of names.
type Text struct {
	Src  string
	Fset *token.FileSet
	File *ast.File
}

// Read parses a source.
func Read(src string) (*Text, error) {
	t := &Text{Src: src, Fset: token.NewFileSet()}
	var err error
	t.File, err = parser.ParseFile(t.Fset, "candidate.go", src, parser.ParseComments)
	return t, err
}

// Lines splits a text after its line ends. A last line without one counts too.
func Lines(text string) []string {
	out := strings.SplitAfter(text, "\n")
	if out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}
