package rules

import (
	"go/types"
	"strings"

	"github.com/beagle-go/beagle/mutate"
)

// A wordText is a type that code reads words from, as a helper's parameter has it. "" is none.
type wordText string

// The types that code reads words from. Of a type parameter it is only known that it stands for
// strings or for slices of bytes: helpers of it are generic.
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
	case *types.Named:
		if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&types.IsString != 0 {
			return stringText
		}
	case *types.Basic:
		if t.Info()&types.IsString != 0 {
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

// params are the type parameters of a helper, with the brackets.
func (w wordText) params() string {
	if w == eitherText {
		return "[T ~string | ~[]byte]"
	}
	return ""
}

// name distinguishes the helpers of the three types.
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

// loader writes the function that reads a word from a text of eight bytes or more.
func (w wordText) loader(name string) string {
	return "// " + name + " is the word in the first eight bytes of s, lowest byte first.\n" +
		strings.NewReplacer("(s string)", w.params()+"(s "+string(w)+")").Replace(loadDecl(name))
}
