package sorting

import (
	_ "embed"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/kit"
)

//go:embed sort_search.go
var sortSearchSource string

// sortSearch (part of catalogue O3) matches a sort of the function's own list for a single binary
// search. It calls slices.Contains and drops the sort.
var sortSearch = example.Rule{
	Name: "sort-search",
	Doc: "Look through a list instead of sorting it for a single search. Sorting visits every element many times, " +
		"the look once. Legal because the list belongs to the function, nothing else asks for its order, and the " +
		"search asks only whether the value is there.",
	Class:  beagle.E4,
	Gain:   4,
	Source: sortSearchSource,
	Pairs: []example.Pair{
		{Before: sortedSearch[int], After: unsortedSearch[int], Spent: []string{"list"}},
		{Before: sortedTest[int], After: unsortedTest[int], Spent: []string{"list"}},
		{Before: sortedAbsence[string], After: unsortedAbsence[string], Spent: []string{"list"}},
	},
	Label: func(m *example.Match) string { return "sort of " + m.Pass.Text(m.Expr("list")) + " for one search" },
}.Mutator()

func sortedSearch[T kit.Exact](list []T, x T) bool {
	slices.Sort(list)
	_, found := slices.BinarySearch(list, x)
	return found
}

func unsortedSearch[T kit.Exact](list []T, x T) bool {
	found := slices.Contains(list, x)
	return found
}

func sortedTest[T kit.Exact](list []T, x T, then func()) {
	slices.Sort(list)
	if _, found := slices.BinarySearch(list, x); found {
		then()
	}
}

func unsortedTest[T kit.Exact](list []T, x T, then func()) {
	if slices.Contains(list, x) {
		then()
	}
}

func sortedAbsence[T kit.Exact](list []T, x T, then func()) {
	slices.Sort(list)
	if _, found := slices.BinarySearch(list, x); !found {
		then()
	}
}

func unsortedAbsence[T kit.Exact](list []T, x T, then func()) {
	if !slices.Contains(list, x) {
		then()
	}
}
