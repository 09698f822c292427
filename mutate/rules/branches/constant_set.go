package branches

import (
	"go/ast"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// constantSet (catalogue C1) matches a search for one character in a constant text. It writes
// comparisons, which other rules make a table of.
var constantSet = &mutate.Mutator{
	Name: "constant-set",
	Doc: "Compare a character with those of a constant set instead of searching for it in a text. The call costs " +
		"more than a few comparisons, and cannot be inlined. Exact: the set is ASCII, which no other character " +
		"matches.",
	Example: mutate.Shows(`if strings.ContainsRune(" \t\r\n", r) {`,
		`if r == '\t' || r == '\n' || r == '\r' || r == ' ' {`),
	Class:   beagle.E0,
	Gain:    1.2,
	Find:    findConstantSet,
	Rewrite: edit.Precomputed,
}

// findConstantSet looks for searches of a character in a constant text, of which only the presence
// counts.
func findConstantSet(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		call, ok := p.IsCall(call, "strings", "ContainsRune", "IndexRune", "IndexByte")
		if !ok || !facts.TakesTime(p, call) {
			continue
		}
		// The searched text is constant, and the character varies. It is evaluated several times in
		// the result, so it must be steady.
		set, ok := facts.ConstString(p, call.Args[0])
		if !ok || set == "" || !syntax.IsRepeatable(call.Args[1]) || p.Info.Types[call.Args[1]].Value != nil ||
			!facts.SameEverywhere(p, call.Args[0]) {
			continue
		}
		what, negated, ok := characters.AsksForPresence(p, call)
		if !ok {
			continue
		}
		if text := characters.SetText(p.Text(call.Args[1]), set); text != "" {
			// The sum of comparisons needs parentheses wherever it goes.
			if text = "(" + text + ")"; negated {
				text = "!" + text
			}
			sites = append(sites, edit.Site(call, "search in "+p.Text(call.Args[0]), p.Replace(what, text)))
		}
	}
	return sites
}
