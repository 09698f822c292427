package text

import (
	_ "embed"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
)

//go:embed split_first.go
var splitFirstSource string

// splitFirst (part of catalogue S4) matches a call of strings.Split of which code uses only the
// first part or the count. It calls Cut, IndexByte or Count.
var splitFirst = example.Rule{
	Name: "split-first",
	Doc: "Look for the one separator that matters instead of splitting the whole string. Split allocates a slice of " +
		"all parts, of which one is used. Legal because the separator is a non-empty constant; with an empty one, " +
		"Split takes runes apart.",
	Class:  beagle.E0,
	Gain:   4,
	Source: splitFirstSource,
	Pairs: []example.Pair{
		{Before: firstPart, After: cutFirst, Choice: "cut", Also: []example.Way{{Choice: "index", After: firstByByte}},
			When: isByteSeparator, Go: 18},
		{Before: firstPart, After: cutFirst, Choice: "cut", When: hasSeparator, Go: 18},
		{Before: firstPart, After: firstByByte, Choice: "index", When: isByteSeparator},
		{Before: firstPart, After: firstByText, Choice: "index", When: hasSeparator},
		{Before: usePart, After: cutFirst, Choice: "cut", When: hasSeparator, Go: 18},
		{Before: usePart, After: firstByByte, Choice: "index", When: isByteSeparator},
		{Before: usePart, After: firstByText, Choice: "index", When: hasSeparator},
		{Before: countParts, After: countSeparators, Choice: "count", When: hasSeparator},
	},
	Label: func(m *example.Match) string {
		if m.Calls() == "Count" {
			return "count of " + m.Pass.Text(m.Node)
		}
		return "first of " + m.Pass.Text(m.Source())
	},
}.Mutator()

func isByteSeparator(sep string) bool { return len(sep) == 1 }
func hasSeparator(sep string) bool    { return sep != "" }

func firstPart(s, sep string) string {
	head := strings.Split(s, sep)[0]
	return head
}

func cutFirst(s, sep string) string {
	head, _, _ := strings.Cut(s, sep)
	return head
}

// The others are for modules whose Go has no Cut, and for a search for one byte.

func firstByByte(s, sep string) string {
	head := s
	if i := strings.IndexByte(head, sep[0]); i >= 0 {
		head = head[:i]
	}
	return head
}

func firstByText(s, sep string) string {
	head := s
	if i := strings.Index(head, sep); i >= 0 {
		head = head[:i]
	}
	return head
}

func usePart(s, sep string) string { return strings.Split(s, sep)[0] }

func countParts(s, sep string) int      { return len(strings.Split(s, sep)) }
func countSeparators(s, sep string) int { return strings.Count(s, sep) + 1 }
