package characters

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// A Range is a range of ASCII, or all bytes above it.
type Range struct{ low, high int }

// Ranges writes a set of bytes as at most four ranges that arithmetic on a word can test. It
// returns nil if there are more, or if the set holds only some bytes above 127.
// Letters and digits are three ranges, and quotes and backslashes two of one byte each.
func Ranges(set [256]bool) []Range {
	var out []Range
	for c := 0; c < 256; c++ {
		if !set[c] {
			continue
		}
		r := Range{c, c}
		// A range ends at 0x7f: beyond, sums would carry.
		for r.high+1 < 256 && set[r.high+1] && r.high != 0x7f {
			r.high++
		}
		// Above 127 it is all or none.
		if r.low >= 0x80 && r != (Range{0x80, 0xff}) || len(out) == 4 {
			return nil
		}
		out = append(out, r)
		c = r.high
	}
	return out
}

// WordTest declares the test of eight bytes at once.
func WordTest(name string, ranges []Range) string {
	return fmt.Sprintf(`// %s reports whether the loop accepts all eight bytes of w.
func %s(w uint64) bool {
	const each, top = 0x0101010101010101, 0x8080808080808080
	%s
	return in&top == top
}`, name, name, WordSum(ranges))
}

// WordSum sets the top bit, in `in`, of every byte of w that is in a range. Adding 0x80-low sets it
// from low on, and adding 0x7f-high sets it above high. The sum of a byte below 0x80 carries
// nothing into the next byte, but the sum of another byte may. If the set refuses such bytes, the
// word is refused too; otherwise the test first removes their top bits.
func WordSum(ranges []Range) string {
	var lines []string
	word, first, above := "w", "in := ", "in &^= w // none is above ASCII"
	// If bytes above ASCII are plain, they are let through apart from the ranges.
	if ranges[len(ranges)-1].low >= 0x80 {
		ranges = ranges[:len(ranges)-1]
		lines = []string{"x := w &^ top"}
		word, above = "x", "in |= w // nor is any above ASCII refused"
		if len(ranges) == 0 {
			return "in := w // all are above ASCII"
		}
	}
	for _, r := range ranges {
		lines = append(lines,
			fmt.Sprintf("%s(%s + %#x*each) &^ (%s + %#x*each) // %s to %s", first, word, 0x80-r.low, word, 0x7f-r.high,
				edit.ByteText(r.low), edit.ByteText(r.high)))
		first = "in |= "
	}
	return strings.Join(append(lines, above), "\n")
}

// A WordText is a type that code reads words from, as a helper's parameter has it. "" means no
// type.
type WordText string

// The types that code reads words from. A type parameter stands for strings or for slices of bytes,
// so its helpers are generic.
const (
	BytesText  WordText = "[]byte"
	StringText WordText = "string"
	EitherText WordText = "T"
)

// Name returns the name of the kit's helper for the type.
func (w WordText) Name(base string) string {
	return base + map[WordText]string{StringText: "Of", EitherText: "In"}[w]
}

// Helps reports whether a helper that reads words can be declared.
func (w WordText) Helps(p *mutate.Pass) bool {
	pkg := "binary"
	if w == BytesText {
		pkg, _ = p.Import("encoding/binary")
	}
	return edit.CanHelp(p, pkg)
}

// Load returns the name of a function that reads a word from a text of eight bytes or more, a
// string or a slice of bytes.
func (w WordText) Load(p *mutate.Pass, at ast.Node) (name string, edits []mutate.Edit, err error) {
	if w == StringText {
		return example.Helper(p, at, "Load64")
	}
	pkg, edits := p.Import("encoding/binary")
	return pkg + ".LittleEndian.Uint64", edits, nil
}

// HasWords reports whether LoadWord can read from a type: strings, and slices of exactly bytes. An
// array would be copied.
func HasWords(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&types.IsString != 0
	case *types.Slice:
		return types.Identical(u.Elem(), types.Typ[types.Uint8])
	}
	return false
}

// LoadWord reads the first eight bytes of text, a part of seq, as a word. It uses encoding/binary
// for slices. For strings it uses a helper whose shifts the compiler turns into one load.
func LoadWord(p *mutate.Pass, at ast.Stmt, seq *types.Var, text string) (string, []mutate.Edit) {
	of := BytesText
	if syntax.IsText(seq.Type()) {
		of = StringText
		if !types.Identical(seq.Type(), types.Typ[types.String]) {
			text = "string(" + text + ")"
		}
	}
	load, edits, _ := of.Load(p, at) // without a helper the code does not compile, and is refused
	return load + "(" + text + ")", edits
}
