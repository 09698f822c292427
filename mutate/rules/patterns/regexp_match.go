package patterns

import (
	"fmt"
	"go/ast"
	"go/types"
	"math/bits"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
)

// regexpMatch (catalogue X2) matches a question whether a text matches a constant pattern. It
// writes a table of states, made from the pattern at rewrite time, and looks up one state a byte.
// Package regexp still decides texts beyond ASCII.
var regexpMatch = &mutate.Mutator{
	Name: "regexp-match",
	Doc: "Answer whether a text matches a constant pattern with a table of states, one look-up a byte, made from the " +
		"pattern when the rewrite is made. The regexp package keeps a list of threads, or a stack, for every byte. " +
		"That package still matches texts that are not ASCII.",
	Example: mutate.Shows(`return datePattern.MatchString(s)`,
		`return dateMatches(s)

func dateMatches(s string) bool {
	state := uint8(0)
	for i := 0; i < len(s); i++ {
		state = dateStates[state&15][dateClasses[s[i]]&3]
		if state >= dateMatched {
			...
		}
	}
	return dateEnds>>state&1 != 0
}`),
	Class:   beagle.E4,
	Gain:    5,
	Find:    findRegexpMatch,
	Rewrite: rewriteRegexpMatch,
}

type patternSite struct {
	v     *types.Var // the compiled pattern
	dfa   *dfa
	bytes bool // Match, not MatchString
	calls []*ast.CallExpr
}

// findRegexpMatch looks for matches of constant patterns, and makes one site for all calls of one
// method on a pattern.
func findRegexpMatch(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	index := map[string]*patternSite{}
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		method, ok := p.IsCall(call, "regexp", "Regexp.MatchString", "Regexp.Match")
		if !ok || p.FuncOf(call) == nil {
			continue
		}
		// The pattern must be known and never change. The call in the fallback of this very rewrite
		// stays.
		sel := method.Fun.(*ast.SelectorExpr)
		v := p.Var(sel.X)
		if v == nil || !p.Frozen(v) || isFallback(p, call) {
			continue
		}
		// All calls of one method on one pattern share the automaton.
		key := v.Name() + "." + sel.Sel.Name
		if s := index[key]; s != nil {
			s.calls = append(s.calls, call)
			continue
		}
		d := patternOf(p, v, newDFA)
		if d == nil {
			continue
		}
		s := &patternSite{v, d, sel.Sel.Name == "Match", []*ast.CallExpr{call}}
		index[key] = s
		sites = append(sites, mutate.Site{Node: call, Label: p.Text(sel), Data: s})
	}
	return sites
}

// isFallback reports whether the call stands in a function that asks a table of states first.
func isFallback(p *mutate.Pass, call *ast.CallExpr) bool {
	name := p.FuncOf(call).Name.Name
	return strings.HasSuffix(name, "Matches") &&
		p.Fresh(strings.TrimSuffix(name, "Matches")+"States") != strings.TrimSuffix(name, "Matches")+"States"
}

func rewriteRegexpMatch(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	site := s.Data.(*patternSite)
	base := strings.TrimSuffix(strings.TrimSuffix(site.v.Name(), "Pattern"), "Regexp")
	// Both names are wanted, so that they are seen to belong together.
	if p.Fresh(base+"Matches") != base+"Matches" || p.Fresh(base+"States") != base+"States" {
		base = p.Fresh(base + "Text")
	}
	w := matcherWriter{patternSite: site, base: base}
	edits := []mutate.Edit{p.Declare(s.Node, w.text())}
	for _, call := range site.calls {
		edits = append(edits, p.Replace(call.Fun, base+"Matches"))
	}
	return edits, nil
}

type matcherWriter struct {
	*patternSite
	base string
}

// text writes the tables and the function. The three numbers after the states are the ways to end:
// a match, no match, and a byte beyond ASCII.
func (w matcherWriter) text() string {
	// Bytes that lead every state to the same place share a column. One more column is for bytes
	// beyond ASCII.
	of, columns := w.dfa.classes()
	states, classes := len(w.dfa.next), len(columns)+1
	param, method := "s string", "MatchString"
	if w.bytes {
		param, method = "s []byte", "Match"
	}
	// A mask holds the states in which the text may end.
	ends := uint64(0)
	for s, final := range w.dfa.final {
		if final {
			ends |= 1 << s
		}
	}
	// Tables of a power of two need no bounds check once the index is masked.
	rows, cols := powerOf2(states), powerOf2(classes)
	return fmt.Sprintf(`// %[1]sMatches reports whether s matches %[2]s. It asks %[2]s itself only
// when s is not ASCII.
func %[1]sMatches(%[3]s) bool {
	state := uint8(0)
	for i := 0; i < len(s); i++ {
		state = %[1]sStates[state&%[4]d][%[1]sClasses[s[i]]&%[5]d]
		if state >= %[6]d {
			if state == %[8]d {
				return %[2]s.%[9]s(s)
			}
			return state == %[6]d
		}
	}
	return uint64(%#[10]x)>>state&1 != 0 // the states in which a match is complete at the end
}

// %[1]sStates leads from a state and a class of bytes to the next state; %[6]d is
// a match, %[7]d is no match, %[8]d is a byte that is not ASCII.
var %[1]sStates = [%[11]d][%[12]d]uint8{
%[13]s}

// %[1]sClasses groups the bytes that the pattern does not tell apart.
var %[1]sClasses = func() (t [256]uint8) {
	for i := range t {
		switch c := byte(i); {
		%[14]s}
	}
	return t
}()`, w.base, w.v.Name(), param, rows-1, cols-1, states, states+1, states+2, method, ends, rows, cols, w.rows(columns),
		w.cases(of, len(columns)))
}

func powerOf2(n int) int { return 1 << bits.Len(uint(n-1)) }

// rows writes the table of the automaton, a row for each state. The two ends, matched and dead,
// have the numbers after the last state. The first column is the class of bytes beyond ASCII.
func (w matcherWriter) rows(columns [][]int) string {
	n := len(w.dfa.next)
	var out strings.Builder
	for s := range n {
		// The third number behind the states says that regexp must be asked.
		cells := []string{strconv.Itoa(n + 2)}
		for _, column := range columns {
			to := column[s]
			switch to {
			case matched:
				to = n
			case dead:
				to = n + 1
			}
			cells = append(cells, strconv.Itoa(to))
		}
		fmt.Fprintf(&out, "\t{%s},\n", strings.Join(cells, ", "))
	}
	return out.String()
}

// cases writes all classes but the first, which holds the bytes of no other class.
func (w matcherWriter) cases(of [128]int, n int) string {
	var out strings.Builder
	for class := 1; class <= n; class++ {
		var set characters.Class
		for c, k := range of {
			set[c] = k == class
		}
		fmt.Fprintf(&out, "case %s:\n\tt[i] = %d\n", characters.Comparisons(set), class)
	}
	return out.String()
}
