package branches

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// wordPrefix (part of catalogue C9) matches a loop that steps over ordinary bytes, and over one
// byte that must stand alone between two of them. It adds a loop in front that steps over eight
// such bytes at a time.
var wordPrefix = &mutate.Mutator{
	Name: "word-prefix",
	Doc: "Step over the ordinary bytes at the start of a text eight at a time, with arithmetic on a word (SWAR), " +
		"before the loop that does so one by one. A last word, which overlaps the one before it, takes the end. The " +
		"test also accepts a byte that may stand alone between two ordinary ones. Exact: the loop's tests on all " +
		"256 bytes decide which are ordinary.",
	Example: mutate.Shows(`for i := 0; i < len(s); i++ {
	if plain[s[i]] {
		continue
	}
	...`,
		`start := 0
for start+8 <= len(s) && allAccepted(load64(s[start:])) {
	start += 8
}
if left := len(s) - start; left > 0 && left < 8 && len(s) >= 8 && allAccepted(load64(s[len(s)-8:])) {
	start = len(s)
}
for i := start; i < len(s); i++ {
	if plain[s[i]] {
		continue
	}
	...`),
	Class: beagle.E0,
	Gain:  1.5,
	Find: edit.SitesOf(prefixOf, func(_ *mutate.Pass, s *prefixSite) string {
		return "loop over " +
			s.loop.Seq.Name()
	}),
	Rewrite: rewriteWordPrefix,
}

// A prefixSite is a loop whose first arm only steps on.
type prefixSite struct {
	loop   *mutate.CountedLoop
	test   ast.Expr // the test of the first arm
	start  int64
	ranges []characters.Range // the bytes that the arm accepts
	gap    *gap
}

// A gap is a byte that an ordinary one must follow.
type gap struct {
	char   byte
	inside bool // it may not be the first byte of the loop
}

// TakesPrefix reports whether word-prefix applies to a loop, for rules that then need not try.
func TakesPrefix(p *mutate.Pass, f *ast.ForStmt) bool { return prefixOf(p, f) != nil }

// prefixOf recognises a loop over a text whose first arm accepts the bytes of a few ranges.
func prefixOf(p *mutate.Pass, f *ast.ForStmt) *prefixSite {
	// The loop counts along a text or bytes that it leaves alone, from a constant on.
	l, ok := p.Counted(f)
	if !ok || l.Seq == nil || !l.Strict || l.Start == nil || !characters.HasWords(l.Seq.Type()) ||
		p.Assigned(l.Seq, f) {
		return nil
	}
	if facts.IsLabelled(p, f) || !facts.CanDeclare(p, f) {
		return nil
	}
	start, ok := constantInt(p, l.Start)
	if !ok || start < 0 {
		return nil
	}
	// The first arm accepts bytes and goes on; those bytes must be few ranges.
	test, body, last := characters.AcceptingArm(p, l)
	if test == nil {
		return nil
	}
	set, err := p.Values().ByteSet(test, characters.MustTest(p, test).Operand)
	ranges := characters.Ranges(set)
	if err != nil || ranges == nil || !stepsOn(p, l, set, body, last) {
		return nil
	}
	s := &prefixSite{loop: l, test: test, start: start, ranges: ranges}
	// A gap is optional: without, the blocks stop at the first other byte.
	s.gap = gapOf(p, l, set, start)
	return s
}

func constantInt(p *mutate.Pass, e ast.Expr) (int64, bool) {
	v := p.Info.Types[e].Value
	if v == nil || v.Kind() != constant.Int {
		return 0, false
	}
	return constant.Int64Val(v)
}

// stepsOn reports whether an arm only ends the iteration, or is what skip-run made of such an arm.
func stepsOn(p *mutate.Pass, l *mutate.CountedLoop, set [256]bool, body []ast.Stmt, last bool) bool {
	if len(body) > 0 && skipsRun(p, l, set, body[0]) {
		body = body[1:]
	}
	if len(body) == 0 {
		return last
	}
	return len(body) == 1 && facts.EndsIn(body, token.CONTINUE)
}

// skipsRun recognises the loop that skip-run writes:
//
//	for i+2 < len(s) && plain[s[i+1]] && plain[s[i+2]] { i += 2 }
func skipsRun(p *mutate.Pass, l *mutate.CountedLoop, set [256]bool, s ast.Stmt) bool {
	// The body adds a constant k to the index.
	f, ok := s.(*ast.ForStmt)
	if !ok || f.Init != nil || f.Post != nil || f.Cond == nil || len(f.Body.List) != 1 {
		return false
	}
	as, ok := f.Body.List[0].(*ast.AssignStmt)
	if !ok || as.Tok != token.ADD_ASSIGN || p.Var(as.Lhs[0]) != l.Index {
		return false
	}
	// The condition has k+1 parts: one for the length, and one for each element in reach.
	k, ok := constantInt(p, as.Rhs[0])
	tests := syntax.Operands(f.Cond, token.LAND)
	if !ok || int64(len(tests)) != k+1 {
		return false
	}
	ahead := func(e ast.Expr) int64 { // ahead returns k for i+k
		b, ok := ast.Unparen(e).(*ast.BinaryExpr)
		if !ok || b.Op != token.ADD || p.Var(b.X) != l.Index {
			return -1
		}
		n, _ := constantInt(p, b.Y)
		return n
	}
	// The first part asks for i+k < len(s), so that all others stay inside.
	bound, ok := ast.Unparen(tests[0]).(*ast.BinaryExpr)
	if !ok || bound.Op != token.LSS || ahead(bound.X) != k || !p.Same(bound.Y, l.Bound) {
		return false
	}
	// The others test the elements at i+1 to i+k, in this order and for the same set of bytes.
	for j, e := range tests[1:] {
		t, ok := characters.TestOf(p, e)
		if !ok {
			return false
		}
		ix, ok := ast.Unparen(t.Operand).(*ast.IndexExpr)
		if !ok || p.Var(ix.X) != l.Seq || ahead(ix.Index) != int64(j)+1 {
			return false
		}
		if same, err := p.Values().ByteSet(e, t.Operand); err != nil || same != set {
			return false
		}
	}
	return true
}

// gapOf recognises, after the first arm, what accepts one other byte if an
// ordinary one follows:
//
//	if s[i] != '_' { return false }
//	i++
//	if i == len(s) || !ordinary(s[i]) { return false }
func gapOf(p *mutate.Pass, l *mutate.CountedLoop, ordinary [256]bool, start int64) *gap {
	// Behind an optional copy of the element, the body must consist of the first arm, a refusal, a
	// step and a second refusal.
	list := l.Stmt.Body.List
	if len(list) > 0 && characters.ElementCopy(p, l, list[0]) != nil {
		list = list[1:]
	}
	if len(list) != 4 || !onlyArm(list[0]) {
		return nil
	}
	one, ok := list[2].(*ast.IncDecStmt)
	if !ok || one.Tok != token.INC || p.Var(one.X) != l.Index {
		return nil
	}
	// The first refusal leaves on all bytes but one. It may also leave at the start, where the gap
	// has no byte in front of it.
	g := &gap{inside: false}
	refused, ok := leavesOn(p, l, list[1], func(e ast.Expr) bool {
		b, ok := e.(*ast.BinaryExpr)
		if !ok || b.Op != token.EQL || p.Var(b.X) != l.Index {
			return false
		}
		at, ok := constantInt(p, b.Y)
		g.inside = g.inside || at == start
		return ok && at <= start
	})
	if !ok {
		return nil
	}
	// The byte that is neither refused nor ordinary is the gap's.
	chars := 0
	for c := range 256 {
		if !refused[c] && !ordinary[c] {
			g.char = byte(c)
			chars++
		}
	}
	if chars != 1 || g.char >= 0x80 {
		return nil
	}
	// The second refusal leaves at the end, or if no ordinary byte follows.
	ends := false
	refused, ok = leavesOn(p, l, list[3], func(e ast.Expr) bool {
		b, ok := e.(*ast.BinaryExpr)
		ends = ok && (b.Op == token.EQL || b.Op == token.GEQ) && p.Var(b.X) == l.Index && p.Same(b.Y, l.Bound)
		return ends
	})
	for c := range 256 {
		ok = ok && refused[c] != ordinary[c]
	}
	if !ok || !ends {
		return nil
	}
	return g
}

// onlyArm reports whether a first arm stands alone. Other arms of its statement would run for a
// byte that the new loop steps over.
func onlyArm(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.IfStmt:
		return s.Else == nil
	case *ast.SwitchStmt:
		return len(s.Body.List) == 1
	}
	return false
}

// leavesOn recognises an if that leaves the function or the loop for some bytes seq[i], or for
// other conditions that the caller names.
func leavesOn(p *mutate.Pass, l *mutate.CountedLoop, s ast.Stmt, other func(ast.Expr) bool) (set [256]bool, ok bool) {
	// The statement is an if that leaves, with one or several conditions.
	f, ok := s.(*ast.IfStmt)
	if !ok || f.Init != nil || f.Else != nil || !facts.EndsIn(f.Body.List, token.RETURN, token.BREAK) {
		return set, false
	}
	tests := []ast.Expr{f.Cond}
	if b, ok := ast.Unparen(f.Cond).(*ast.BinaryExpr); ok && b.Op == token.LOR {
		tests = syntax.Operands(b, token.LOR)
	}
	// Each condition tests the element, which adds to the set of refused bytes, or is one that the
	// caller knows.
	for _, e := range tests {
		e = ast.Unparen(e)
		t, ok := characters.TestOf(p, e)
		if !ok || !characters.IsElementOf(p, l, t.Operand) {
			if !other(e) {
				return set, false
			}
			continue
		}
		if p.Var(t.Operand) != nil && s != l.Stmt.Body.List[2] {
			return set, false // a copy of the element from before i moved on
		}
		bad, err := p.Values().ByteSet(e, t.Operand)
		if err != nil {
			return set, false
		}
		for c, is := range bad {
			set[c] = set[c] || is
		}
	}
	return set, true
}

// rewriteWordPrefix puts a loop that tests eight bytes at once in front of the original loop, and
// lets the original begin where it stopped.
func rewriteWordPrefix(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	site := s.Data.(*prefixSite)
	l := site.loop
	// The word is loaded from the current start; the last one may overlap the bytes before it.
	seq, start := l.Seq.Name(), p.Fresh("start", "begin")
	load, edits := characters.LoadWord(p, l.Stmt, l.Seq, seq+"[<start>:]")
	all := p.Fresh("allAccepted", "wordAccepted")
	edits = append(edits, p.Declare(l.Stmt, characters.WordTest(all, site.ranges)))
	// Choose the template: without gaps, with gaps anywhere, or with gaps that need a byte in
	// front.
	text := plainPrefix
	if g := site.gap; g != nil {
		text = gapPrefix
		if g.inside {
			text = insidePrefix
		}
		gaps := p.Fresh("gapsIn", "gaps")
		edits = append(edits, p.Declare(l.Stmt, gapTestOf(gaps, site.ranges, g.char)))
		text = strings.ReplaceAll(text, "<gaps>", gaps)
		text = strings.ReplaceAll(text, "<char>", edit.ByteText(int(g.char)))
	}
	// The first byte may have a test of its own, written for a fixed index.
	operand := characters.MustTest(p, site.test).Operand
	first := p.TextWith(site.test, func(n ast.Node) (string, bool) {
		if x, ok := n.(ast.Expr); ok && p.Same(x, operand) {
			return fmt.Sprintf("%s[%d]", seq, site.start), true
		}
		return "", false
	})
	first = edit.Operand(site.test, first, token.LAND)
	text = strings.NewReplacer(
		"<load>", strings.ReplaceAll(load, "<start>", start), "<last>",
		strings.ReplaceAll(load, "<start>", "len("+seq+")-8"),
		"<start>", start, "<0>", fmt.Sprint(site.start), "<1>", fmt.Sprint(site.start+1), "<9>",
		fmt.Sprint(site.start+9),
		"<s>", seq, "<all>", all, "<behind>", p.Fresh("behind", "pending"), "<w>", p.Fresh("w", "word"), "<left>",
		p.Fresh("left", "rest"),
		"<found>", p.Fresh("found", "alone"), "<first>", first).Replace(text)
	// The start is an int, and the index may be of another type.
	index := types.TypeString(l.Index.Type(), types.RelativeTo(p.Pkg))
	return append(edits,
		p.Insert(l.Stmt.Pos(), text),
		p.Replace(l.Start, edit.LiteralOf(index, start))), nil
}

const plainPrefix = `<start> := <0> // behind what is accepted eight at a time
for <start>+8 <= len(<s>) && <all>(<load>) {
	<start> += 8
}
// The last word overlaps the one before it.
if <left> := len(<s>) - <start>; <left> > 0 && <left> < 8 && len(<s>) >= 8 && <all>(<last>) {
	<start> = len(<s>)
}
`

// wordsWithGaps steps over words. behind is the top bit of the lowest byte if the word before ended
// with a gap, which then belongs to the next word.
const wordsWithGaps = `<start>+8 <= len(<s>); <start> += 8 {
	<w> := <load>
	if <all>(<w>) {
		<behind> = 0
		continue
	}
	<found> := <gaps>(<w>)
	if <found> == 0 || <found>&<behind> != 0 {
		break
	}
	<behind> = <found> >> 56
}
<start> -= int(<behind> >> 7) // <char> at the end of a word is looked at with what follows
// The last word overlaps the one before it.
if <left> := len(<s>) - <start>; <left> > 0 && <left> <= 8 && len(<s>) >= 8 {
	if <w> := <last>; <all>(<w>) {
		<start> = len(<s>)
	} else if <found> := <gaps>(<w>); <found> != 0 && <found>>>63 == 0 {
		<start> = len(<s>)
	}
}
`

const gapPrefix = `// Eight bytes at a time as long as they are accepted.
<start>, <behind> := <0>, uint64(0)
for ; ` + wordsWithGaps

const insidePrefix = `// Eight bytes at a time as long as they are accepted.
<start> := <0>
if len(<s>) >= <9> && <first> {
	<behind> := uint64(0)
	for <start> = <1>; ` + wordsWithGaps + `}
`

// gapTestOf declares the function that finds gaps in a word.
func gapTestOf(name string, ranges []characters.Range, char byte) string {
	return fmt.Sprintf(`// %s returns the top bits of the bytes of w that are %s, and 0 when the loop does
// not accept another byte of it or two of these stand together.
func %s(w uint64) uint64 {
	const each, top = 0x0101010101010101, 0x8080808080808080
	%s
	found := ^((w&^top ^ %#x*each) + 0x7f*each) &^ w & top
	if in&top|found != top || found&(found<<8) != 0 {
		return 0
	}
	return found
}`, name, edit.ByteText(int(char)), name, characters.WordSum(ranges), char)
}
