package loops

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// runeByteLoop (catalogue L11) matches a range over a string whose body only compares the runes
// with ASCII constants. It goes over the bytes.
//
// A byte loop sees a character beyond ASCII as two to four bytes of 0x80 or more, and a rune loop
// as one rune of 0x80 or more. So the rule follows the body for such a value: comparisons with
// ASCII constants have the same outcome for all of them. If a second iteration then changes
// nothing, one iteration is as good as several.
var runeByteLoop = &mutate.Mutator{
	Name: "rune-to-byte-loop",
	Doc: "Go through a string by bytes instead of decoding runes. Legal because the body, or a function that it " +
		"calls, only compares the character with ASCII constants. For any other character it does nothing, leaves " +
		"the loop, or sets variables that a second iteration would set alike.",
	Example: mutate.Shows(`for _, r := range s {
	if r == '"' || r == '\\' {
		n++
	}
}`,
		`for i := 0; i < len(s); i++ {
	r := rune(s[i]) // a byte will do: only ASCII matters here
	if r == '"' || r == '\\' {
		n++
	}
}`),
	Class:   beagle.E0,
	Gain:    1.6,
	Find:    findRuneByteLoop,
	Rewrite: edit.Precomputed,
}

// findRuneByteLoop looks for loops over the runes of a text in which only ASCII characters make a
// difference. A loop over bytes sees every ASCII character once, and several bytes of 0x80 and
// above where the original saw one rune.
func findRuneByteLoop(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, r := range mutate.Nodes[*ast.RangeStmt](p, nil) {
		elem, ok := r.Value.(*ast.Ident)
		if !ok || elem.Name == "_" || r.Tok != token.DEFINE || p.Basic(r.X) != types.String {
			continue
		}
		v, _ := p.Info.Defs[elem].(*types.Var)
		// One turn with such a rune must do the same as several in a row.
		if v == nil || p.Assigned(v, r.Body) || facts.Captured.Of(p)[v] ||
			!oneTurnDoes(p, v, p.Var(syntax.OrNil(r.Key)), r.Body) {
			continue
		}
		// The index counts bytes in both loops, but a body that changes it would skip other places.
		index := "i"
		if syntax.IsBlank(r.Key) {
			index = p.Fresh("i", "at")
		} else {
			index = p.Text(r.Key)
			if k := p.Var(r.Key); p.Assigned(k, r.Body) || facts.Captured.Of(p)[k] {
				continue
			}
		}
		// The text is read throughout the loop, so it must not change in it.
		seq, edits, ok := steadyText(p, r)
		if !ok {
			continue
		}
		head := "for " + index + " := 0; " + index + " < len(" + seq + "); " + index + "++ {\n" +
			elem.Name + " := rune(" + seq + "[" + index + "]) // a byte will do: only ASCII matters here"
		edits = append(edits, p.Span(r.Pos(), r.Body.Lbrace+1, head))
		sites = append(sites, edit.Site(r, "rune loop over "+p.Text(r.X), edits...))
	}
	return sites
}
