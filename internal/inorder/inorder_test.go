package inorder

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestOrder: the sorts are those of package slices.
func TestOrder(t *testing.T) {
	type element struct{ key, place int }
	for range 200 {
		list := make([]element, rand.IntN(2*few))
		floats := make([]float64, len(list))
		counts := map[int]bool{}
		for i := range list {
			list[i] = element{rand.IntN(10), i}
			floats[i] = []float64{rand.Float64(), math.NaN(), math.Inf(-1), 0}[rand.IntN(4)]
			counts[rand.IntN(100)] = true
		}
		byKey := func(a, b element) int { return cmp.Compare(a.key, b.key) }
		want, wantFloats := slices.Clone(list), slices.Clone(floats)
		slices.SortStableFunc(want, byKey)
		slices.Sort(wantFloats)

		By(list, byKey)
		Sort(floats)
		if !slices.Equal(list, want) {
			t.Fatalf("sorted %v, want %v", list, want)
		}
		if !slices.EqualFunc(floats, wantFloats, func(a, b float64) bool { return cmp.Compare(a, b) == 0 }) {
			t.Fatalf("sorted %v, want %v", floats, wantFloats)
		}
		if got := Collect(slices.Values(list), byKey); !slices.Equal(got, want) {
			t.Fatalf("collected %v, want %v", got, want)
		}
		if got, want := Keys(counts), slices.Sorted(maps.Keys(counts)); !slices.Equal(got, want) {
			t.Fatalf("keys %v, want %v", got, want)
		}
	}
}
