package branches

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// byteBits (catalogue C3) matches a test of one byte for a set of ASCII characters. It writes two
// constant words with one bit a character, and tests the byte's bit.
var byteBits = &mutate.Mutator{
	Name: "byte-bits",
	Doc: "Test a byte against a set of ASCII characters with two constant words, one bit a character: no branch to " +
		"mispredict and no load. Exact: the words are made by evaluating the original test on all 256 bytes, and a " +
		"shift by 64 or more gives 0.",
	Example: mutate.Shows(`if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' {`,
		`if (wordLow>>c|wordHigh>>(c-64))&1 != 0 {

// The bits of the bytes below 64, and of those from 64 to 127, that are a word's.
const (
	wordLow  uint64 = 0x03ff000000000000
	wordHigh uint64 = 0x07fffffe80000000
)`),
	Class:   beagle.E0,
	Gain:    1.2,
	Find:    findByteTests,
	Rewrite: rewriteByteBits,
}

// fixed reports whether a site's test is the same on all systems.
func (s *tableSite) fixed(p *mutate.Pass) bool {
	if s.pred != nil {
		return facts.SameEverywhere(p, s.pred)
	}
	return !slices.ContainsFunc(s.run, func(e ast.Expr) bool { return !facts.SameEverywhere(p, e) })
}

// setOf evaluates a site's test on all bytes.
func (s *tableSite) setOf(p *mutate.Pass) (set characters.Class, err error) {
	if s.pred != nil {
		_, arg := characters.PredicateCall(p, s.calls[0])
		return p.Values().ByteSet(s.calls[0], arg)
	}
	operand := characters.MustTest(p, s.run[0]).Operand
	for i, e := range s.run {
		one, err := p.Values().ByteSet(e, operand)
		if err != nil {
			return set, err
		}
		// The tests of a chain combine as its operator does.
		for c := range set {
			switch {
			case i == 0:
				set[c] = one[c]
			case s.op == token.LAND:
				set[c] = set[c] && one[c]
			default:
				set[c] = set[c] || one[c]
			}
		}
	}
	return set, nil
}

// asciiWords packs a set of bytes that holds none, or all, of the bytes above 127. A set with all
// of them is inverted.
func asciiWords(set characters.Class) (low, high uint64, inverted bool, err error) {
	inverted = set[0x80]
	for c := range set {
		// After inversion, no byte above 127 may be in the set: there are two words for 128 bytes.
		switch in := set[c] != inverted; {
		case c >= 0x80 && in:
			return 0, 0, false, errors.New("the test tells bytes above 127 apart")
		case in && c < 64:
			low |= 1 << c
		case in:
			high |= 1 << (c - 64)
		}
	}
	return low, high, inverted, nil
}

// rewriteByteBits writes the set of accepted bytes into two constants of 64 bits, and each test as
// a look at one bit of them. It refuses sets that differ within the bytes beyond ASCII.
func rewriteByteBits(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	site := s.Data.(tableSite)
	if !site.fixed(p) {
		return nil, errors.New("a constant may have another value on other systems")
	}
	set, err := site.setOf(p)
	if err != nil {
		return nil, err
	}
	low, high, inverted, err := asciiWords(set)
	if err != nil {
		return nil, err
	}
	// With a predicate, the constants are named after it, and declared beside it.
	var at ast.Node = s.Node
	base := edit.BaseName(p.FuncOf(at).Name.Name) + "Byte"
	if site.pred != nil {
		at, base = site.pred, edit.BaseName(site.pred.Name.Name)
	}
	lowName, highName := p.Fresh(base+"Low"), p.Fresh(base+"High")
	op := "!="
	if inverted {
		op = "=="
	}
	// A shift by 64 and more gives 0 in Go, so that of the two words only the right one counts.
	test := func(c string) string {
		return fmt.Sprintf("(%s>>%s|%s>>(%s-64))&1 %s 0", lowName, c, highName, c, op)
	}
	edits := []mutate.Edit{p.Declare(at,
		fmt.Sprintf(`// One bit for each byte below 64, and for each from 64 to 127: a set of bytes
// that is tested without a branch.
const (
	%s uint64 = %#016x
	%s uint64 = %#016x
)`, lowName, low, highName, high))}
	// Each call of the predicate becomes the test, or the run of tests does.
	if site.pred != nil {
		for _, call := range site.calls {
			_, arg := characters.PredicateCall(p, call)
			edits = append(edits, p.Replace(call, inParens(p, call, test(p.Text(arg)))))
		}
		return edits, nil
	}
	first, last := site.run[0], site.run[len(site.run)-1]
	return append(edits, p.Span(first.Pos(), last.End(), test(p.Text(characters.MustTest(p, first).Operand)))), nil
}

// inParens adds parentheses to text if the code around e binds closer than a comparison.
func inParens(p *mutate.Pass, e ast.Expr, text string) string {
	switch up := p.Parent(e).(type) {
	case *ast.UnaryExpr:
		return "(" + text + ")"
	case *ast.BinaryExpr:
		if up.Op.Precedence() >= token.EQL.Precedence() {
			return "(" + text + ")"
		}
	}
	return text
}
