package rules

import (
	_ "embed"
	"go/ast"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/facts"
)

//go:embed split_seq.go
var splitSeqSource string

// splitSeq (catalogue S5) matches a loop over the parts that strings.Split or Fields returns. It
// ranges over SplitSeq or FieldsSeq, or writes a loop with Cut.
var splitSeq = example.Rule{
	Name: "split-seq",
	Doc: "Take a string apart while going through it, without the slice of all parts. Legal because strings never " +
		"change, so that parts cut later are the same parts; the separator of the loop form is a non-empty constant.",
	Class:  beagle.E0,
	Gain:   1.4,
	Source: splitSeqSource,
	Pairs: []example.Pair{
		{Before: throughParts, After: throughSeq, Choice: "seq",
			Also: []example.Way{{Choice: "cut", After: throughCuts}}, When: notEmpty, Go: 24},
		{Before: throughParts, After: throughCuts, Choice: "cut", When: notEmpty, Go: 18},
		{Before: throughParts, After: throughSeq, Choice: "seq", Go: 24},
		{Before: throughSeq, After: throughCuts, Choice: "cut", When: notEmpty},
		{Before: throughPartsAfter, After: throughSeqAfter, Choice: "seq", Go: 24},
		{Before: throughFields, After: throughFieldsSeq, Choice: "seq", Go: 24},
		{Before: throughFieldsFunc, After: throughFieldsFuncSeq, Choice: "seq", Go: 24, Guard: asksOnly},
	},
	Label: func(m *example.Match) string { return "loop over " + m.Pass.Text(m.Source()) },
}.Mutator()

func notEmpty(sep string) bool { return sep != "" }

func throughParts(s, sep string, body func(string)) {
	for _, part := range strings.Split(s, sep) {
		body(part)
	}
}

func throughSeq(s, sep string, body func(string)) {
	for part := range strings.SplitSeq(s, sep) {
		body(part)
	}
}

func throughCuts(s, sep string, body func(string)) {
	for rest, more := s, true; more; {
		var part string
		part, rest, more = strings.Cut(rest, sep)
		body(part)
	}
}

func throughPartsAfter(s, sep string, body func(string)) {
	for _, part := range strings.SplitAfter(s, sep) {
		body(part)
	}
}

func throughSeqAfter(s, sep string, body func(string)) {
	for part := range strings.SplitAfterSeq(s, sep) {
		body(part)
	}
}

func throughFields(s string, body func(string)) {
	for _, part := range strings.Fields(s) {
		body(part)
	}
}

func throughFieldsSeq(s string, body func(string)) {
	for part := range strings.FieldsSeq(s) {
		body(part)
	}
}

func throughFieldsFunc(s string, blank func(rune) bool, body func(string)) {
	for _, part := range strings.FieldsFunc(s, blank) {
		body(part)
	}
}

// asksOnly reports whether the function that is asked about each rune answers the same between two
// turns of the loop as in front of it, and does nothing else.
func asksOnly(m *example.Match) bool {
	p, e := m.Pass, ast.Unparen(m.Expr("blank"))
	asked := ast.Expr(&ast.CallExpr{Fun: e})
	if lit, ok := e.(*ast.FuncLit); ok {
		for id := range mutate.Nodes[*ast.Ident](p, lit) {
			v, ok := p.Info.Uses[id].(*types.Var)
			inner := ok && lit.Pos() <= v.Pos() && v.Pos() < lit.End()
			if ok && facts.IsLocal(p, v) && !inner && p.Assigned(v, p.FuncOf(lit)) {
				return false
			}
		}
		asked = lit
	}
	f := p.Effects(asked)
	return !f.Writes && !f.Reads && !f.Panics
}

func throughFieldsFuncSeq(s string, blank func(rune) bool, body func(string)) {
	for part := range strings.FieldsFuncSeq(s, blank) {
		body(part)
	}
}
