//lint:file-ignore S1003,S1004,SA6005 a Before is what the rule replaces

package loops

import (
	"bytes"
	_ "embed"
	"go/ast"
	"go/token"
	"strings"
	"unicode/utf8"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
)

//go:embed std_call.go
var stdCallSource string

// stdCall (part of catalogue L10) matches expressions that ask the library for more than they need:
// an order where equality will do, all pieces where their number will do. It asks for that.
var stdCall = example.Rule{
	Name: "std-call",
	Doc: "Ask the library for less: whether two texts are equal instead of their order, how often a separator occurs " +
		"instead of the pieces, whether it occurs instead of how often. A text has at most as many runes as bytes, " +
		"so limits often need no count. Exact.",
	Class:  beagle.E0,
	Gain:   1.3,
	Source: stdCallSource,
	Pairs: []example.Pair{{
		Before: func(a, b []byte) bool { return bytes.Compare(a, b) == 0 },
		After:  func(a, b []byte) bool { return bytes.Equal(a, b) },
	}, {
		Before: func(a, b []byte) bool { return bytes.Compare(a, b) != 0 },
		After:  func(a, b []byte) bool { return !bytes.Equal(a, b) },
	}, {
		Before: func(a, b string) bool { return strings.Compare(a, b) == 0 },
		After:  func(a, b string) bool { return a == b },
	}, {
		Before: func(a, b string) bool { return strings.Compare(a, b) != 0 },
		After:  func(a, b string) bool { return a != b },
	}, {
		Before: func(a, b string) bool { return strings.Compare(a, b) < 0 },
		After:  func(a, b string) bool { return a < b },
	}, {
		Before: func(a, b string) bool { return strings.Compare(a, b) > 0 },
		After:  func(a, b string) bool { return a > b },
	}, {
		Before: func(s, sep string) int { return len(strings.Split(s, sep)) },
		After:  func(s, sep string) int { return strings.Count(s, sep) + 1 },
		When:   isSeparator,
	}, {
		Before: func(s []byte, sep string) int { return len(bytes.Split(s, []byte(sep))) },
		After:  func(s []byte, sep string) int { return bytes.Count(s, []byte(sep)) + 1 },
		When:   isSeparator,
	}, {
		Before: func(s, sep string) bool { return strings.Count(s, sep) > 0 },
		After:  func(s, sep string) bool { return strings.Contains(s, sep) },
	}, {
		Before: func(s, sep string) bool { return strings.Count(s, sep) == 0 },
		After:  func(s, sep string) bool { return !strings.Contains(s, sep) },
	}, {
		Before: func(s string, n int) bool { return utf8.RuneCountInString(s) > n },
		After:  func(s string, n int) bool { return len(s) > n && utf8.RuneCountInString(s) > n },
		Guard:  notGuarded,
	}, {
		Before: func(s string, n int) bool { return utf8.RuneCountInString(s) >= n },
		After:  func(s string, n int) bool { return len(s) >= n && utf8.RuneCountInString(s) >= n },
		Guard:  notGuarded,
	}, {
		Before: func(s string, n int) bool { return utf8.RuneCountInString(s) < n },
		After:  func(s string, n int) bool { return len(s) < n || utf8.RuneCountInString(s) < n },
		Guard:  notGuarded,
	}, {
		Before: func(s string, n int) bool { return utf8.RuneCountInString(s) <= n },
		After:  func(s string, n int) bool { return len(s) <= n || utf8.RuneCountInString(s) <= n },
		Guard:  notGuarded,
	}},
}.Mutator()

func isSeparator(sep string) bool { return sep != "" }

// notGuarded reports whether no comparison of the length stands in front of a match.
func notGuarded(m *example.Match) bool {
	up, ok := m.Pass.Parent(m.Node).(*ast.BinaryExpr)
	if !ok || up.Op != token.LAND && up.Op != token.LOR || up.Y != m.Node {
		return true
	}
	front, ok := ast.Unparen(up.X).(*ast.BinaryExpr)
	return !ok || m.Pass.LenOf(front.X) == nil
}
