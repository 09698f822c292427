//lint:file-ignore SA6005 a Before is what the rule replaces

package text

import (
	_ "embed"
	"go/ast"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/kit"
)

//go:embed lower_text.go
var lowerTextSource string

// lowerText (part of catalogue S6) matches a text in lower or upper case that code only compares
// with constants, switches on, or looks up. It compares as it converts, or converts on the stack.
var lowerText = example.Rule{
	Name: "lower-text",
	Doc: "Look at the lower or upper case of a text without making a string of it: compare byte by byte up to the " +
		"first difference, or convert a short text on the stack for a switch or a look-up. Exact: ASCII converts " +
		"byte by byte, and a text with other characters before the answer is known is converted as before.",
	Class:  beagle.E0,
	Gain:   1.6,
	Source: lowerTextSource,
	Pairs: []example.Pair{{
		Before: func(s, x string) bool { return strings.ToLower(s) == x },
		After:  func(s, x string) bool { return kit.LowerIs(s, x) },
		When:   isASCIIText,
	}, {
		Before: func(s, x string) bool { return strings.ToLower(s) != x },
		After:  func(s, x string) bool { return !kit.LowerIs(s, x) },
		When:   isASCIIText,
	}, {
		Before: func(s, x string) bool { return strings.ToUpper(s) == x },
		After:  func(s, x string) bool { return kit.UpperIs(s, x) },
		When:   isASCIIText,
	}, {
		Before: func(s, x string) bool { return strings.ToUpper(s) != x },
		After:  func(s, x string) bool { return !kit.UpperIs(s, x) },
		When:   isASCIIText,
	}, {
		Before: func(s, x string) bool { return strings.HasPrefix(strings.ToLower(s), x) },
		After:  func(s, x string) bool { return kit.LowerStarts(s, x) },
		When:   isASCIIText,
	}, {
		Before: func(s, x string) bool { return strings.HasPrefix(strings.ToUpper(s), x) },
		After:  func(s, x string) bool { return kit.UpperStarts(s, x) },
		When:   isASCIIText,
	}, {
		Before: func(s, x string) bool { return strings.HasSuffix(strings.ToLower(s), x) },
		After:  func(s, x string) bool { return kit.LowerEnds(s, x) },
		When:   isASCIIText,
	}, {
		Before: func(s, x string) bool { return strings.HasSuffix(strings.ToUpper(s), x) },
		After:  func(s, x string) bool { return kit.UpperEnds(s, x) },
		When:   isASCIIText,
	}, {
		// The compiler makes no string of bytes for a switch or a read in a map.
		Before: func(s string) string { return strings.ToLower(s) },
		After:  func(s string) string { return string(kit.AppendLower(make([]byte, 0, 32), s)) },
		Guard:  looksUp,
	}, {
		Before: func(s string) string { return strings.ToUpper(s) },
		After:  func(s string) string { return string(kit.AppendUpper(make([]byte, 0, 32), s)) },
		Guard:  looksUp,
	}},
}.Mutator()

func isASCIIText(x string) bool { return kit.AllASCII(x) }

// looksUp reports whether the text of a call is what a switch compares with constants, or the key
// of a read in a map.
func looksUp(m *example.Match) bool {
	p := m.Pass
	switch up := p.Parent(m.Node).(type) {
	// A read of a map keeps no key, so a text that is only a key need not be made.
	case *ast.IndexExpr:
		return ast.Node(ast.Unparen(up.Index)) == m.Node && facts.IsMapRead(p, up)
	// With constants in all cases the switch compares texts of known case.
	case *ast.SwitchStmt:
		if ast.Node(up.Tag) != m.Node {
			return false
		}
		for _, c := range up.Body.List {
			for _, e := range c.(*ast.CaseClause).List {
				if p.Info.Types[e].Value == nil {
					return false
				}
			}
		}
		return true
	}
	return false
}
