package loops

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/branches"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// skipRun (catalogue L1) matches a loop over bytes whose first arm accepts a byte and does nothing
// new. It adds a loop to that arm that steps over several accepted bytes at a time. It suits loops
// that carry state or move their index.
var skipRun = &mutate.Mutator{
	Name: "skip-run",
	Doc: "Step over a run of ordinary bytes several at a time in the arm that accepts them. Legal because accepting " +
		"a byte has no effect, or sets variables to constants, so that a run of them amounts to one.",
	Example: mutate.Shows(`for i := 0; i < len(s); i++ {
	if plain[s[i]] {
		continue
	}
	...`,
		`for i := 0; i < len(s); i++ {
	if plain[s[i]] {
		for i+4 < len(s) && plain[s[i+1]] && plain[s[i+2]] && plain[s[i+3]] && plain[s[i+4]] {
			i += 4
		}
		continue
	}
	...`),
	Class: beagle.E0,
	Gain:  1.15,
	Find:  findSkipRun,
	Params: func(p *mutate.Pass, s mutate.Site) []mutate.Param {
		out := []mutate.Param{{Label: "4", Value: 4}, {Label: "8", Value: 8}}
		site := s.Data.(skipSite)
		set, err := p.Values().ByteSet(site.test, characters.MustTest(p, site.test).Operand)
		words := err == nil && characters.Ranges(set) != nil && characters.HasWords(site.loop.Seq.Type())
		if words && !branches.TakesPrefix(p, site.loop.Stmt) { // word-prefix does more
			out = append(out, mutate.Param{Label: "words", Value: characters.Ranges(set)})
		}
		return out
	},
	Rewrite: rewriteSkipRun,
}

type skipSite struct {
	loop *mutate.CountedLoop
	test ast.Expr // over s[i] or its copy
	at   token.Pos
}

// findSkipRun looks for loops over bytes whose first arm accepts a byte and does nothing that
// depends on it.
func findSkipRun(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, f := range mutate.Nodes[*ast.ForStmt](p, nil) {
		// The loop goes over bytes, one at a time, and leaves the list alone.
		l, ok := p.Counted(f)
		if !ok || l.Seq == nil || !l.Strict || !mutate.IsBytes(l.Seq.Type()) || p.Assigned(l.Seq, f) {
			continue
		}
		// An arm that does the same once as for a whole run lets the run be skipped.
		test, body, last := characters.AcceptingArm(p, l)
		if test == nil || !isIdempotent(p, l, body, last) || facts.HasLoop(p, f.Body) {
			continue
		}
		if len(body) == 0 {
			continue
		}
		sites = append(sites, mutate.Site{
			Node:  test,
			Label: "accepting arm of the loop over " + l.Seq.Name(),
			Data:  skipSite{l, test, body[0].Pos()},
		})
	}
	return sites
}

// isIdempotent reports whether running the arm for a run of bytes equals running it once: it only
// assigns constants to variables, and the iteration ends with it.
func isIdempotent(p *mutate.Pass, l *mutate.CountedLoop, body []ast.Stmt, last bool) bool {
	if len(body) == 0 {
		return false
	}
	// A continue at the end means that nothing follows.
	if facts.EndsIn(body, token.CONTINUE) {
		body, last = body[:len(body)-1], true
	}
	// All that is left must set local variables to constants.
	for _, s := range body {
		as, ok := s.(*ast.AssignStmt)
		if !ok || as.Tok != token.ASSIGN {
			return false
		}
		for i := range as.Lhs {
			v := p.Var(as.Lhs[i])
			if v == nil || v == l.Index || v == l.Seq || p.IsGlobal(v) || len(as.Rhs) != len(as.Lhs) ||
				p.Info.Types[as.Rhs[i]].Value == nil {
				return false
			}
		}
	}
	return last
}

// rewriteSkipRun puts a loop into the arm that skips the bytes that follow, as long as the arm
// would accept them.
func rewriteSkipRun(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	site := s.Data.(skipSite)
	// Words of eight bytes are tested by ranges.
	if ranges, ok := param.Value.([]characters.Range); ok {
		return skipWords(p, site, ranges), nil
	}
	// Otherwise test k bytes ahead, each by the arm's own condition, and skip them if all pass.
	k := param.Value.(int)
	seq, i := site.loop.Seq.Name(), site.loop.Index.Name()
	bound := p.Text(site.loop.Bound)
	tests := []string{fmt.Sprintf("%s+%d < %s", i, k, bound)}
	operand := characters.MustTest(p, site.test).Operand
	for j := range k {
		elem := fmt.Sprintf("%s[%s+%d]", seq, i, j+1)
		test := p.TextWith(site.test, func(n ast.Node) (string, bool) {
			if x, ok := n.(ast.Expr); ok && p.Same(x, operand) {
				return elem, true
			}
			return "", false
		})
		tests = append(tests, edit.Operand(site.test, test, token.LAND))
	}
	text := fmt.Sprintf("for %s {\n%s += %s\n}\n", edit.JoinTests(tests, "&&"), i, strconv.Itoa(k))
	return []mutate.Edit{p.Insert(site.at, text)}, nil
}

// skipWords steps over a run of accepted bytes eight at a time.
func skipWords(p *mutate.Pass, s skipSite, ranges []characters.Range) []mutate.Edit {
	seq, i := s.loop.Seq.Name(), s.loop.Index.Name()
	load, edits := characters.LoadWord(p, s.loop.Stmt, s.loop.Seq, fmt.Sprintf("%s[%s+1:]", seq, i))
	all := p.Fresh("allAccepted", "wordAccepted")
	return append(edits,
		p.Insert(s.at, fmt.Sprintf("for %s+8 < %s && %s(%s) {\n%s += 8\n}\n", i, p.Text(s.loop.Bound), all, load, i)),
		p.Declare(s.loop.Stmt, characters.WordTest(all, ranges)))
}
