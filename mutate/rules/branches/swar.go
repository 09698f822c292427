package branches

import (
	"errors"
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// wordTest (catalogue C9) matches a loop that leaves at the first byte of some kind: below a limit,
// above a limit, one of a few, or outside some ranges. It tests eight bytes at once with arithmetic
// on a word, and leaves the rest to the loop.
var wordTest = &mutate.Mutator{
	Name: "word-test",
	Doc: "Test eight bytes at once with arithmetic on a word (SWAR) where a loop leaves at the first byte of some " +
		"kind: below a limit, above a limit, one of a few, or outside of some ranges. Exact: the kind is found by " +
		"evaluating the loop's test on all 256 bytes.",
	Example: mutate.Shows(`for i := 0; i < len(s); i++ {
	if s[i] >= 0x80 {
		return false
	}
}`,
		`rest := s
for len(rest) >= 8 {
	if load64(rest)&0x8080808080808080 != 0 {
		return false
	}
	rest = rest[8:]
}
for i := range len(rest) {
	if rest[i] >= 0x80 {
		return false
	}
}`),
	Class:   beagle.E0,
	Gain:    2,
	Find:    findWordTests,
	Rewrite: rewriteWordTest,
}

// A wordSite is a loop that leaves at bytes below low, above high, or equal to one of some values
// in between.
type wordSite struct {
	loop  *mutate.ElementLoop
	then  *ast.BlockStmt
	low   int
	high  int
	equal []int

	accepted []characters.Range // if limits cannot say it: the bytes at which the loop stays
}

// findWordTests looks for loops that leave at the first byte that fails a test.
func findWordTests(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, s := range mutate.Nodes[ast.Stmt](p, nil) {
		// The loop visits every byte, and leaves as soon as one is not accepted.
		l, ok := p.Elements(s)
		if !ok || !l.Plain || !facts.IsInnermost(l) || facts.UnrolledBefore(p, l) || !facts.CanDeclare(p, s) ||
			!facts.CanStart(p, l) ||
			!characters.HasWords(l.Seq.Type()) {
			continue
		}
		cond, then, ok := facts.ExitTest(p, l)
		if !ok {
			continue
		}
		t, ok := characters.TestOf(p, cond)
		if !ok || !isLoopElement(p, l, t.Operand) {
			continue
		}
		// The rejected bytes must be few ranges and values, or the accepted ones must be.
		set, err := p.Values().ByteSet(cond, t.Operand)
		w := kindOf(set)
		if w == nil {
			w = acceptedKind(set)
		}
		if err == nil && w != nil {
			w.loop, w.then = l, then
			sites = append(sites, mutate.Site{Node: s, Label: "byte test over " + l.Seq.Name(), Data: w})
		}
	}
	return sites
}

func isLoopElement(p *mutate.Pass, l *mutate.ElementLoop, e ast.Expr) bool {
	if ix, ok := e.(*ast.IndexExpr); ok {
		return slices.Contains(l.Elems, ix)
	}
	v := p.Var(e)
	return v != nil && (v == l.Value || v == facts.CopyOfElement(p, l))
}

// kindOf writes a set of rejected bytes as limits and up to three values.
func kindOf(bad [256]bool) *wordSite {
	w := &wordSite{low: 0, high: 255}
	// Cut off what is rejected at both ends of the range.
	for w.low < 256 && bad[w.low] {
		w.low++
	}
	for w.high >= 0 && bad[w.high] {
		w.high--
	}
	// The arithmetic on words needs limits below 0x80: the top bit is the flag.
	if w.low > w.high || w.low > 0x80 || w.high >= 0x80 && w.high < 255 {
		return nil
	}
	// List the rejected bytes between them one by one.
	for c := w.low; c <= w.high; c++ {
		if bad[c] {
			w.equal = append(w.equal, c)
		}
	}
	if len(w.equal) > 3 || w.low == 0 && w.high == 255 && len(w.equal) < 2 {
		return nil // nothing to do, or one value, for which IndexByte is better
	}
	return w
}

// acceptedKind writes the bytes that are not rejected as ranges.
func acceptedKind(bad [256]bool) *wordSite {
	accepted := [256]bool{}
	rejects := 0
	for c := range bad {
		if accepted[c] = !bad[c]; bad[c] {
			rejects++
		}
	}
	if r := characters.Ranges(accepted); r != nil && rejects > 1 {
		return &wordSite{accepted: r}
	}
	return nil
}

func rewriteWordTest(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	w := s.Data.(*wordSite)
	if facts.IsLabelled(p, s.Node) {
		return nil, errors.New("the loop has a label")
	}
	// The words are taken from the rest, which the loop shortens; the original loop takes what is
	// left.
	rest := p.Fresh("rest", "tail")
	load, edits := w.load(p, rest)
	test := w.test(p, load, &edits)
	text := fmt.Sprintf("%[1]s := %[2]s\nfor len(%[1]s) >= 8 {\n%[3]s {\n%[4]s\n}\n%[1]s = %[1]s[8:]\n}\n%[5]s",
		rest, edit.StartOf(w.loop), test, p.BodyText(w.then), edit.RemainderLoop(p, w.loop, rest))
	return append(edits, p.Replace(s.Node, text)), nil
}

const topBits = "0x8080808080808080"

// test writes code that sets the top bit of every rejected byte of a word. A borrow or a carry may
// also set the bit of a byte above a rejected one, but never without a rejected byte below it.
func (w *wordSite) test(p *mutate.Pass, load string, edits *[]mutate.Edit) string {
	// Ranges of accepted bytes have a test of their own.
	if w.accepted != nil {
		all := p.Fresh("allAccepted", "wordAccepted")
		*edits = append(*edits, p.Declare(w.loop.Stmt, characters.WordTest(all, w.accepted)))
		return fmt.Sprintf("if !%s(%s)", all, load)
	}
	// If only bytes above ASCII are rejected, the top bits are the answer.
	if w.high == 0x7f && w.low == 0 && len(w.equal) == 0 {
		return fmt.Sprintf("if %s&%s != 0", load, topBits)
	}
	// Otherwise combine up to three conditions. Each sets the top bit of the bytes that fail it.
	word, stop, x, each := p.Fresh("w", "word"), p.Fresh("stop", "stops"), p.Fresh("x", "y"), p.Fresh("eachByte")
	declare := fmt.Sprintf("// %s times a byte is a word of eight of it.\nconst %s = 0x0101010101010101", each, each)
	*edits = append(*edits, p.Declare(w.loop.Stmt, declare))
	lines := []string{fmt.Sprintf("%s := %s", word, load)}
	op := stop + " := "
	add := func(format string, args ...any) {
		lines = append(lines, op+fmt.Sprintf(format, args...))
		op = stop + " |= "
	}
	// Bytes above a limit: adding the distance to 0x7f carries into the top bit. Bytes with the top
	// bit itself are above it anyway.
	switch {
	case w.high == 0x7f:
		add("%s // not ASCII", word)
	case w.high < 0x7f:
		add("(%s + %d*%s) | %s // above %s", word, 0x7f-w.high, each, word, edit.ByteText(w.high))
	}
	// Bytes below a limit: subtracting it borrows from the top bit. &^ word drops the bytes that
	// had it before.
	if w.low > 0 {
		add("(%s - %s*%s) &^ %s // below %s", word, edit.ByteText(w.low), each, word, edit.ByteText(w.low))
	}
	// Bytes equal to c are zero after ^ c, and only a zero borrows.
	for i, c := range w.equal {
		define := "="
		if i == 0 {
			define = ":="
		}
		lines = append(lines, fmt.Sprintf("%s %s %s ^ %s*%s", x, define, word, edit.ByteText(c), each))
		add("(%s - %s) &^ %s // %s", x, each, x, edit.ByteText(c))
	}
	// One test of the top bits answers for all eight bytes.
	return strings.Join(lines, "\n") + fmt.Sprintf("\nif %s&%s != 0", stop, topBits)
}

func (w *wordSite) load(p *mutate.Pass, rest string) (string, []mutate.Edit) {
	return characters.LoadWord(p, w.loop.Stmt, w.loop.Seq, rest)
}
