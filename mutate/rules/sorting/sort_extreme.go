package sorting

import (
	_ "embed"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/kit"
)

//go:embed sort_extreme.go
var sortExtremeSource string

// sortExtreme (part of catalogue O3) matches a sort of the function's own copy of which code only
// reads the first or the last element. It calls slices.Min or slices.Max.
var sortExtreme = example.Rule{
	Name: "sort-extreme",
	Doc: "Look for the smallest or greatest element instead of sorting for it: one pass instead of n log n. Legal " +
		"because the sorted slice is the function's own copy and nothing else of it is used; on an empty slice it " +
		"panics with another text.",
	Class:  beagle.E1,
	Gain:   3,
	Go:     21,
	Source: sortExtremeSource,
	Pairs: []example.Pair{
		{Before: leastOfCopy[int], After: leastOf[int]},
		{Before: greatestOfCopy[string], After: greatestOf[string]},
		{Before: leastOfOwn[int], After: leastOf[int], Spent: []string{"v"}},
		{Before: greatestOfOwn[string], After: greatestOf[string], Spent: []string{"v"}},
	},
	Label: func(m *example.Match) string { return "sort of " + m.Pass.Text(m.Expr("v")) },
}.Mutator()

// leastOfCopy leaves out floats: NaN sorts first, but spreads in Min and Max.
func leastOfCopy[T kit.Exact](v []T) T {
	c := slices.Clone(v)
	slices.Sort(c)
	return c[0]
}

func greatestOfCopy[T kit.Exact](v []T) T {
	c := slices.Clone(v)
	slices.Sort(c)
	return c[len(c)-1]
}

func leastOfOwn[T kit.Exact](v []T) T {
	slices.Sort(v)
	return v[0]
}

func greatestOfOwn[T kit.Exact](v []T) T {
	slices.Sort(v)
	return v[len(v)-1]
}

func leastOf[T kit.Exact](v []T) T    { return slices.Min(v) }
func greatestOf[T kit.Exact](v []T) T { return slices.Max(v) }
