package text

import (
	"bytes"
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
// ranges over SplitSeq or FieldsSeq, or writes a loop with Cut or, for one byte, IndexByte. It
// writes that loop for bytes.SplitSeq, too.
var splitSeq = example.Rule{
	Name: "split-seq",
	Doc: "Take a string apart while going through it, without the slice of all parts. Legal because strings never " +
		"change, so that parts cut later are the same parts; the separator of the loop form is a non-empty constant. " +
		"Of bytes only the iterator is written out, which looks for each end when the loop does.",
	Class:  beagle.E0,
	Gain:   1.4,
	Source: splitSeqSource,
	Pairs: []example.Pair{
		{Before: throughParts, After: throughSeq, Choice: "seq", Also: []example.Way{
			{Choice: "cut", After: throughCuts}, {Choice: "index", After: throughBytes},
		}, When: cutsAtByte, Go: 24},
		{Before: throughParts, After: throughSeq, Choice: "seq",
			Also: []example.Way{{Choice: "cut", After: throughCuts}}, When: notEmpty, Go: 24},
		{Before: throughParts, After: throughCuts, Choice: "cut", When: notEmpty, Go: 18},
		{Before: throughParts, After: throughSeq, Choice: "seq", Go: 24},
		{Before: throughSeq, After: throughCuts, Choice: "cut",
			Also: []example.Way{{Choice: "index", After: throughBytes}}, When: cutsAtByte},
		{Before: throughSeq, After: throughCuts, Choice: "cut", When: notEmpty},
		{Before: throughSeqOfBytes, After: throughBytesOfBytes, Choice: "index", When: cutsAtByte},
		{Before: throughPartsAfter, After: throughSeqAfter, Choice: "seq", Go: 24},
		{Before: throughFields, After: throughFieldsSeq, Choice: "seq", Go: 24},
		{Before: throughFieldsFunc, After: throughFieldsFuncSeq, Choice: "seq", Go: 24, Guard: asksOnly},
	},
	Label: func(m *example.Match) string { return "loop over " + m.Pass.Text(m.Source()) },
}.Mutator()

func notEmpty(sep string) bool   { return sep != "" }
func cutsAtByte(sep string) bool { return len(sep) == 1 }

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

func throughBytes(s, sep string, body func(string)) {
	for rest, more := s, true; more; {
		part := rest
		if i := strings.IndexByte(rest, sep[0]); i >= 0 {
			part, rest = rest[:i], rest[i+1:]
		} else {
			more = false
		}
		body(part)
	}
}

func throughSeqOfBytes(s []byte, sep string, body func([]byte)) {
	for part := range bytes.SplitSeq(s, []byte(sep)) {
		body(part)
	}
}

// throughBytesOfBytes leaves no part room to grow into the next one, as the iterator does. A part
// is of type []byte, even if the list is of another.
func throughBytesOfBytes(s []byte, sep string, body func([]byte)) {
	for rest, more := []byte(s), true; more; {
		part := rest[:len(rest):len(rest)]
		if i := bytes.IndexByte(rest, sep[0]); i >= 0 {
			part, rest = rest[:i:i], rest[i+1:]
		} else {
			more = false
		}
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
		for _, id := range mutate.Nodes[*ast.Ident](p, lit) {
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
