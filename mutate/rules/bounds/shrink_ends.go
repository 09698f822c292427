package bounds

import (
	_ "embed"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
)

//go:embed shrink_ends.go
var shrinkEndsSource string

// shrinkEnds (catalogue B9) matches a loop that moves two indexes towards each other from both ends
// of a slice. It cuts both ends off the slice. The prove pass knows 0 <= i and i < j, but not that
// j stays below the length.
var shrinkEnds = example.Rule{
	Name: "shrink-ends",
	Doc: "Walk towards the middle by cutting an element off both ends of a slice instead of moving two indexes. The " +
		"compiler can prove that the first and the last element of a slice of two or more are there, and checks no " +
		"index. Exact: the indexes are used only to name these two elements.",
	Class:  beagle.E0,
	Gain:   1.1,
	Source: shrinkEndsSource,
	Pairs: []example.Pair{
		{Before: bothEnds[int], After: cutEnds[int]},
		{Before: bothEndsHalf[int], After: cutEnds[int]},
		{Before: bothEndsString, After: cutEndsString},
	},
	Label: func(m *example.Match) string { return "loop from both ends of " + m.Pass.Text(m.Expr("s")) },
}.Mutator()

func bothEnds[T any](s []T, body func(first, last *T)) {
	for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
		body(&s[i], &s[j])
	}
}

func bothEndsHalf[T any](s []T, body func(first, last *T)) {
	for i := 0; i < len(s)/2; i++ {
		body(&s[i], &s[len(s)-1-i])
	}
}

func cutEnds[T any](s []T, body func(first, last *T)) {
	for rest := s; len(rest) > 1; rest = rest[1 : len(rest)-1] {
		body(&rest[0], &rest[len(rest)-1])
	}
}

func bothEndsString(s string, body func(first, last byte)) {
	for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
		body(s[i], s[j])
	}
}

func cutEndsString(s string, body func(first, last byte)) {
	for rest := s; len(rest) > 1; rest = rest[1 : len(rest)-1] {
		body(rest[0], rest[len(rest)-1])
	}
}
