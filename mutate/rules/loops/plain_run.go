package loops

import (
	"fmt"
	"go/ast"
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

// plainRun (part of catalogue L1) matches a loop over the bytes or characters of a text that does
// one and the same thing with most of them: it copies them, counts them, or does nothing. It passes
// a run of such bytes at once, in front of the statements for the others.
var plainRun = &mutate.Mutator{
	Name: "plain-run",
	Doc: "Pass a run of ordinary bytes at once, in a loop that copies, counts or skips most bytes and treats a few " +
		"in another way: escapers, scanners, decoders. A run is copied by one append instead of one for each byte. A " +
		"search for its end is a comparison or a load for each byte, eight bytes at a time, or the library's " +
		"IndexByte. Exact: following the loop's body for all 256 bytes shows which are ordinary. Only the capacity " +
		"of the list may differ.",
	Example: mutate.Shows(`for i := 0; i < len(s); i++ {
	c := s[i]
	switch c {
	case '"', '\\':
		dst = append(dst, '\\', c)
	default:
		dst = append(dst, c)
	}
}`,
		`for i := 0; i < len(s); i++ {
	if start := i; plain[s[i]] {
		for i++; i < len(s) && plain[s[i]]; i++ {
		}
		dst = append(dst, s[start:i]...)
		if i >= len(s) {
			break
		}
	}
	c := s[i]
	...`),
	Class:   beagle.E2,
	Gain:    1.5,
	Find:    findPlainRun,
	Params:  plainRunParams,
	Rewrite: rewritePlainRun,
}

// A byteLoop is a loop over the bytes of a text, or over the characters of a string.
type byteLoop struct {
	stmt  ast.Stmt
	body  *ast.BlockStmt
	label string
	seq   *types.Var // nil for a range over what has no name
	index *types.Var // nil for a range without one
	value *types.Var // of a range
	elem  ast.Expr   // an s[i] of the body or the condition; nil if there is none
	tests []ast.Expr // what else must hold for an iteration
	bare  bool       // the body moves the index on
	runes bool       // a range over characters

	known map[*types.Var]mutate.Value // variables that hold constants

	set    [256]bool  // the bytes that many iterations can do at once
	action byteAction // what an iteration does with each
}

// Limits of what is worth a run.
const (
	leastPlainBytes = 64 // of 256
	leastPlainASCII = 32 // of 128
)

// findPlainRun looks for loops over bytes that do one and the same thing with most of them: copy,
// count or skip.
func findPlainRun(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, s := range mutate.Nodes[ast.Stmt](p, nil) {
		l := byteLoopOf(p, s)
		if l == nil || !l.findPlain(p) {
			continue
		}
		what := "skips"
		if l.action.sink != nil {
			what = "copies to " + p.Text(l.action.sink.place)
		}
		sites = append(sites, mutate.Site{Node: s, Label: "loop over " + l.text(p) + " that " + what, Data: l})
	}
	return sites
}

// text is what the loop goes through.
func (l *byteLoop) text(p *mutate.Pass) string {
	if l.seq != nil {
		return l.seq.Name()
	}
	return p.Text(l.stmt.(*ast.RangeStmt).X)
}

// byteLoopOf recognises a loop whose index goes from byte to byte, or nil.
func byteLoopOf(p *mutate.Pass, s ast.Stmt) *byteLoop {
	if syntax.LoopBody(s) == nil || p.FuncOf(s) == nil || facts.IsRedefined(p, s, "len") ||
		facts.IsRedefined(p, s, "append") {
		return nil
	}
	// The label tells which continue means this loop.
	l := &byteLoop{stmt: s, body: syntax.LoopBody(s)}
	if up, ok := p.Parent(s).(*ast.LabeledStmt); ok {
		l.label = up.Label.Name
	}
	ok := false
	switch s := s.(type) {
	case *ast.ForStmt:
		ok = l.head(p, s)
	case *ast.RangeStmt:
		ok = l.ranges(p, s)
	}
	// The sequence must stay the same and be out of reach of closures, and so must the loop's
	// variables.
	captured := facts.Captured.Of(p)
	if !ok || l.seq != nil && (!facts.IsLocal(p, l.seq) || captured[l.seq] || p.Assigned(l.seq, s)) ||
		l.index != nil && captured[l.index] || l.value != nil && captured[l.value] {
		return nil
	}
	return l
}

// head reads `for i := 0; i < len(s); i++` and `for i < len(s)`, perhaps with further conditions.
func (l *byteLoop) head(p *mutate.Pass, s *ast.ForStmt) bool {
	if s.Cond == nil {
		return false
	}
	// The first part of the condition bounds the index; the others must hold as well.
	tests := syntax.Operands(s.Cond, token.LAND)
	cond, ok := ast.Unparen(tests[0]).(*ast.BinaryExpr)
	if !ok || cond.Op != token.LSS {
		return false
	}
	l.index, l.tests = p.Var(cond.X), tests[1:]
	if l.index == nil || !facts.IsLocal(p, l.index) || !syntax.IsPredeclared(l.index.Type(), types.Int) {
		return false
	}
	// Without a step in the head the body moves the index.
	if l.bare = s.Post == nil; !l.bare {
		if by, ok := stepOf(p, s.Post, l.index); !ok || by != 1 {
			return false
		}
	}
	// Find the sequence: the list at the index whose length is the bound.
	for _, ix := range mutate.Nodes[*ast.IndexExpr](p, s) {
		if v := p.Var(ix.X); l.elem == nil && p.Var(ix.Index) == l.index && v != nil && facts.IsLengthOf(p, cond.Y, v) {
			l.seq, l.elem = v, ix
		}
	}
	// A length that was computed before must still be the length.
	if l.seq == nil || !isBasicOrBytes(l.seq.Type()) || p.LenOf(cond.Y) != l.seq && p.Assigned(l.seq, p.FuncOf(s)) {
		return false
	}
	// A negative index panics, unless the first thing that an iteration does is the read that would
	// panic.
	return neverNegative(p, l.index) || l.readsFirst(p)
}

// isBasicOrBytes reports whether a type is string or []byte under no other name.
func isBasicOrBytes(t types.Type) bool {
	return types.Identical(t, types.Typ[types.String]) || types.Identical(t, types.NewSlice(types.Typ[types.Uint8]))
}

// neverNegative reports whether an index begins at zero or above, and only grows.
func neverNegative(p *mutate.Pass, v *types.Var) bool {
	// The variable must be defined alone, by a constant of at least zero.
	fn, begun := token.NoPos, false
	for id, obj := range p.Info.Defs {
		if obj == types.Object(v) {
			fn = id.Pos()
			as, ok := p.Parent(id).(*ast.AssignStmt)
			if !ok || len(as.Lhs) != 1 || len(as.Rhs) != 1 {
				return false
			}
			n, ok := p.Int(as.Rhs[0])
			begun = ok && n >= 0
		}
	}
	if !begun || fn == token.NoPos {
		return false
	}
	// After that it may only grow by constants, or be set to one. A change in any other form may
	// come from anything, so it is refused.
	for _, id := range p.Uses(v, p.File) {
		if !p.Changes(id) {
			continue
		}
		s, ok := p.Parent(id).(ast.Stmt)
		if !ok {
			return false
		}
		by, steps := stepOf(p, s, v)
		lhs, rhs, sets := syntax.SplitAssign(s, token.ASSIGN)
		n, number := int64(0), false
		if sets && p.Var(lhs) == v {
			n, number = p.Int(rhs)
		}
		if !(steps && by > 0 || number && n >= 0) {
			return false
		}
	}
	return true
}

// readsFirst reports whether every iteration begins with a read of the element.
func (l *byteLoop) readsFirst(p *mutate.Pass) bool {
	// A further condition of the loop runs before the body.
	if len(l.tests) > 0 {
		return l.leads(p, l.tests[0])
	}
	if len(l.body.List) == 0 {
		return false
	}
	// Otherwise the first statement of the body has to read the element.
	switch s := l.body.List[0].(type) {
	case *ast.AssignStmt:
		return s.Tok == token.DEFINE && len(s.Rhs) == 1 && l.leads(p, s.Rhs[0])
	case *ast.IfStmt:
		return s.Init == nil && l.leads(p, s.Cond)
	case *ast.SwitchStmt:
		if s.Init != nil || s.Tag == nil {
			return false
		}
		return l.leads(p, s.Tag)
	}
	return false
}

// leads reports whether an expression begins with a read of the element.
func (l *byteLoop) leads(p *mutate.Pass, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.BinaryExpr:
		return l.leads(p, e.X)
	case *ast.UnaryExpr:
		return e.Op == token.NOT && l.leads(p, e.X)
	case *ast.CallExpr:
		return len(e.Args) == 1 && p.Info.Types[e.Fun].IsType() && l.leads(p, e.Args[0])
	case *ast.IndexExpr:
		return p.Same(e, l.elem)
	}
	return false
}

// ranges reads a range over a string, or over a slice of bytes.
func (l *byteLoop) ranges(p *mutate.Pass, s *ast.RangeStmt) bool {
	if s.Tok != token.DEFINE || syntax.IsBlank(s.Value) || p.Info.Types[s.X].Value != nil {
		return false
	}
	// A range over a string gives runes; over bytes it gives bytes.
	t := p.Info.TypeOf(s.X)
	if t == nil || !isBasicOrBytes(t) {
		return false
	}
	l.value = p.Var(s.Value)
	if !syntax.IsBlank(s.Key) {
		l.index = p.Var(s.Key)
	}
	// The body may not change the loop's variables: a range would not notice.
	if l.value == nil || p.Assigned(l.value, l.body) || l.index != nil && p.Assigned(l.index, l.body) {
		return false
	}
	_, slice := t.Underlying().(*types.Slice)
	l.runes = !slice
	l.seq = p.Var(s.X)
	if slice {
		return l.seq != nil && !syntax.IsBlank(s.Value)
	}
	// A text that may change, or has no name, is put into a variable first.
	if l.seq != nil && (!facts.IsLocal(p, l.seq) || p.Assigned(l.seq, s) || facts.Captured.Of(p)[l.seq]) {
		l.seq = nil // it is given a name
	}
	_, _, named := steadyText(p, s)
	return named && facts.CanDeclare(p, s)
}

// apart reports whether writing to a place leaves the loop's text as it is. Nothing can write to a
// string. A slice of bytes must be the function's own, or share no memory with the place.
func (l *byteLoop) apart(p *mutate.Pass, kind sinkKind, place ast.Expr) bool {
	if l.runes || syntax.IsText(l.seq.Type()) || kind == joinSink || facts.Owns(p, l.seq) {
		return true
	}
	if kind == appendSink {
		return facts.Apart(p, p.Var(place), l.seq)
	}
	return strings.TrimPrefix(p.Info.TypeOf(place).String(), "*") == "strings.Builder"
}

// findPlain finds the bytes that an iteration treats alike, if there are enough.
func (l *byteLoop) findPlain(p *mutate.Pass) bool {
	// Follow the body for each byte, and group the bytes by what it does with them. Where a loop
	// gives runes only ASCII is a single byte.
	l.known = constantsIn(p, l.stmt)
	actions := map[string]byteAction{}
	sets := map[string]*[256]bool{}
	sizes := map[string]int{}
	best, all, least := "", 256, leastPlainBytes
	if l.runes {
		all, least = 0x80, leastPlainASCII
	}
	for c := range all {
		// An action is what happens as a text, so that equal ones are found.
		t, ok := l.actionOn(p, byte(c))
		if !ok {
			continue
		}
		k := t.key(p)
		if sets[k] == nil {
			sets[k], actions[k] = new([256]bool), t
		}
		sets[k][c] = true
		if sizes[k]++; sizes[k] > sizes[best] {
			best = k
		}
	}
	// The largest group must be worth a loop of its own, and must not be everything.
	if sizes[best] < least || sizes[best] == 256 {
		return false
	}
	l.set, l.action = *sets[best], actions[best]
	return true
}

// constantsIn returns the local variables that code reads and that hold a constant from first to
// last.
func constantsIn(p *mutate.Pass, code ast.Node) map[*types.Var]mutate.Value {
	out := map[*types.Var]mutate.Value{}
	single := facts.Single.Of(p)
	for _, id := range mutate.Nodes[*ast.Ident](p, code) {
		// It must be assigned once, and declared outside of the code.
		d, ok := single[p.Var(id)]
		if !ok || d.Value == nil || p.Info.Types[d.Value].Value == nil || facts.DeclaredIn(d.Var, code) {
			continue
		}
		if v, err := p.Values().Eval(d.Value, map[*types.Var]mutate.Value{}); err == nil {
			out[d.Var] = v
		}
	}
	return out
}

// plainRunParams offers the ways to find the end of a run: by a few comparisons, a table, a search
// of the library for the only other byte, or eight bytes at a time.
func plainRunParams(p *mutate.Pass, s mutate.Site) []mutate.Param {
	l := s.Data.(*byteLoop)
	var out []mutate.Param
	// Comparisons are for few ranges, and a table for many.
	if n := len(l.comparisons("c")); n <= maxComparisons {
		out = append(out, mutate.Param{Label: "compare", Value: "compare"})
	}
	if len(l.comparisons("c")) > 2 {
		out = append(out, mutate.Param{Label: "table", Value: "table"})
	}
	// A search by assembly is fastest, but only one byte can end it.
	if l.others() == 1 {
		out = append(out, mutate.Param{Label: "index", Value: "index"})
	}
	if l.seq != nil && characters.Ranges(l.set) != nil && facts.CanDeclare(p, l.stmt) {
		out = append(out, mutate.Param{Label: "words", Value: "words"})
	}
	return out
}

// maxComparisons is the number of comparisons above which a table is faster.
const maxComparisons = 4

// comparisons are tests that must all hold for a plain byte.
func (l *byteLoop) comparisons(c string) (out []string) {
	// Each run of bytes that are not plain is one comparison, or a pair.
	for low := 0; low < 256; low++ {
		if l.set[low] {
			continue
		}
		// The run goes as far as bytes that are not plain follow each other.
		high := low
		for high+1 < 256 && !l.set[high+1] {
			high++
		}
		switch {
		case low == high:
			out = append(out, c+" != "+edit.ByteText(low))
		case low == 0:
			out = append(out, c+" > "+edit.ByteText(high))
		case high == 255:
			out = append(out, c+" < "+edit.ByteText(low))
		default:
			out = append(out, fmt.Sprintf("(%s < %s || %s > %s)", c, edit.ByteText(low), c, edit.ByteText(high)))
		}
		low = high
	}
	return out
}

// others is how many bytes are not plain.
func (l *byteLoop) others() int {
	n := 0
	for _, plain := range l.set {
		if !plain {
			n++
		}
	}
	return n
}
