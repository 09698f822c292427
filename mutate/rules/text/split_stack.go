package text

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/kit"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

//go:embed split_stack.go
var splitStackSource string

// splitStack (part of catalogue S4) matches pieces of a text that stay in the function. It collects
// them in an array on the stack.
var splitStack = example.Rule{
	Name: "split-stack",
	Doc: "Collect the pieces of a text in an array on the stack. strings.Split and strings.Fields look through the " +
		"text once to count, allocate a slice, and look again. Legal because the pieces stay in the function, which " +
		"ignores the slice's capacity; more pieces than the array holds move to the heap by themselves.",
	Class:  beagle.E0,
	Gain:   1.5,
	Source: splitStackSource,
	Pairs: []example.Pair{
		{Before: splitParts, After: fewParts, Choice: "8", Also: []example.Way{{Choice: "32", After: someParts}},
			When: isNotEmpty, Guard: piecesStay},
		{Before: splitFields, After: fewFields, Choice: "8", Also: []example.Way{{Choice: "32", After: someFields}},
			Guard: piecesStay},
	},
	Label: func(m *example.Match) string { return "pieces " + m.Local("parts").Name() },
	Code:  findLimitedSplits,
}.Mutator()

func isNotEmpty(sep string) bool { return sep != "" } // an empty one takes runes apart

func splitParts(s, sep string) []string {
	parts := strings.Split(s, sep)
	return parts
}

func fewParts(s, sep string) []string {
	var room [8]string // holds most pieces without an allocation
	parts := kit.AppendParts(room[:0], s, sep)
	return parts
}

func someParts(s, sep string) []string {
	var room [32]string // holds most pieces without an allocation
	parts := kit.AppendParts(room[:0], s, sep)
	return parts
}

func splitFields(s string) []string {
	parts := strings.Fields(s)
	return parts
}

func fewFields(s string) []string {
	var room [8]string // holds most pieces without an allocation
	parts := kit.AppendFields(room[:0], s)
	return parts
}

func someFields(s string) []string {
	var room [32]string // holds most pieces without an allocation
	parts := kit.AppendFields(room[:0], s)
	return parts
}

func piecesStay(m *example.Match) bool {
	parts := m.Local("parts")
	return len(m.Pass.Uses(parts, m.Pass.File)) > 0 && facts.StaysHere(m.Pass, parts)
}

// findLimitedSplits finds strings.SplitN, whose limit is the length of the array: no example can
// say that.
func findLimitedSplits(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range facts.Statements(p) {
		d, ok := facts.Declares(p, list[i])
		if !ok || d.Value == nil || d.Type != nil {
			continue
		}
		// The list may not leave the function, since its array is on the stack.
		call, ok := p.IsCall(d.Value, "strings", "SplitN")
		if !ok || len(p.Uses(d.Var, p.File)) == 0 || !facts.StaysHere(p, d.Var) {
			continue
		}
		sep, constant := facts.ConstString(p, call.Args[1])
		most, limited := p.Int(call.Args[2])
		if !constant || sep == "" || !limited || most < 2 || most > 64 {
			continue // without a piece, with the whole text, or with all pieces
		}
		name, edits, err := example.Helper(p, d.Stmt, "AppendFirstParts")
		if err != nil {
			continue
		}
		// The array has room for all pieces that the limit allows.
		room := p.Fresh("room", "space")
		args := p.Between(call.Args[0].Pos(), call.Args[2].End())
		text := fmt.Sprintf("var %s [%d]string // holds most pieces without an allocation\n", room, most) +
			fmt.Sprintf("%s := %s(%s[:0], %s)", d.Var.Name(), name, room, args)
		edits = append(edits, p.Replace(d.Stmt, text))
		sites = append(sites, edit.Site(d.Stmt, "pieces "+d.Var.Name(), edits...))
	}
	return sites
}
