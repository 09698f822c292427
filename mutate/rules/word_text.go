package rules

import (
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/example"
)

// A wordText is a type that code reads words from, as a helper's parameter has it. "" means no
// type.
type wordText string

// The types that code reads words from. A type parameter stands for strings or for slices of bytes,
// so its helpers are generic.
const (
	bytesText  wordText = "[]byte"
	stringText wordText = "string"
	eitherText wordText = "T"
)

// wordTextOf returns how a helper takes a value of a type. A named type counts only among strings.
func wordTextOf(t types.Type) wordText {
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		return eitherOf(t)
	case *types.Named, *types.Basic:
		if syntax.IsText(t) {
			return stringText
		}
	case *types.Slice:
		if types.Identical(t.Elem(), types.Typ[types.Uint8]) {
			return bytesText
		}
	}
	return ""
}

// eitherOf is eitherText if all types of a parameter's constraint are strings or slices of bytes.
func eitherOf(t *types.TypeParam) wordText {
	limits, ok := t.Constraint().Underlying().(*types.Interface)
	if !ok || limits.NumEmbeddeds() != 1 || limits.NumMethods() > 0 {
		return ""
	}
	terms, ok := limits.EmbeddedType(0).(*types.Union)
	if !ok {
		return ""
	}
	for term := range terms.Terms() {
		if wordTextOf(term.Type().Underlying()) == "" {
			return ""
		}
	}
	return eitherText
}

// name returns the name of the kit's helper for the type.
func (w wordText) name(base string) string {
	return base + map[wordText]string{stringText: "Of", eitherText: "In"}[w]
}

// helps reports whether a helper that reads words can be declared.
func (w wordText) helps(p *mutate.Pass) bool {
	pkg := "binary"
	if w == bytesText {
		pkg, _ = p.Import("encoding/binary")
	}
	return canHelp(p, pkg)
}

// load returns the name of a function that reads a word from a text of eight bytes or more, a
// string or a slice of bytes.
func (w wordText) load(p *mutate.Pass, at ast.Node) (name string, edits []mutate.Edit, err error) {
	if w == stringText {
		return example.Helper(p, at, "Load64")
	}
	pkg, edits := p.Import("encoding/binary")
	return pkg + ".LittleEndian.Uint64", edits, nil
}

// hasWords reports whether loadWord can read from a type: strings, and slices of exactly bytes. An
// array would be copied.
func hasWords(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&types.IsString != 0
	case *types.Slice:
		return types.Identical(u.Elem(), types.Typ[types.Uint8])
	}
	return false
}

// loadWord reads the first eight bytes of text, a part of seq, as a word. It uses encoding/binary
// for slices. For strings it uses a helper whose shifts the compiler turns into one load.
func loadWord(p *mutate.Pass, at ast.Stmt, seq *types.Var, text string) (string, []mutate.Edit) {
	of := bytesText
	if syntax.IsText(seq.Type()) {
		of = stringText
		if !types.Identical(seq.Type(), types.Typ[types.String]) {
			text = "string(" + text + ")"
		}
	}
	load, edits, _ := of.load(p, at) // without a helper the code does not compile, and is refused
	return load + "(" + text + ")", edits
}
