package rules_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

// turns notes what a sort asks and exchanges. It is not a total order: equal
// pairs get different answers.
type turns struct {
	n     int
	seed  uint64
	notes []string
	keys  []int
}

func (t *turns) Len() int { return t.n }
func (t *turns) Less(i, j int) bool {
	less := t.compare(t.keys[i], t.keys[j]) < 0
	t.notes = append(t.notes, fmt.Sprint("less ", i, j, less))
	return less
}
func (t *turns) Swap(i, j int) {
	t.keys[i], t.keys[j] = t.keys[j], t.keys[i]
	t.notes = append(t.notes, fmt.Sprint("swap ", i, j))
}

// compare answers at random, the same for the same pair.
func (t *turns) compare(a, b int) int {
	return rand.New(rand.NewPCG(t.seed, uint64(a)<<32|uint64(b))).IntN(3) - 1
}

// TestShortSort: up to the rule's limits, this toolchain's library asks and exchanges in the turns
// that the rule writes, whatever the answers. Behind them it does not, so the limits say something.
func TestShortSort(t *testing.T) {
	for _, stable := range []bool{false, true} {
		limit, sorts := 12, sort.Sort
		if stable {
			limit, sorts = 20, sort.Stable
		}
		other := false
		for n := range limit + 12 {
			for seed := range uint64(40) {
				made := func() *turns {
					return &turns{n: n, seed: seed, keys: rand.New(rand.NewPCG(seed, 1)).Perm(n)}
				}
				short := made()
				for i := 1; i < n; i++ {
					for j := i; j > 0 && short.Less(j, j-1); j-- {
						short.Swap(j, j-1)
					}
				}
				long := made()
				sorts(long)
				same := slices.Equal(short.notes, long.notes) && slices.Equal(short.keys, long.keys)
				if same && n <= limit {
					same = sortsSlicesAlike(made(), short.keys, stable)
				}
				if n <= limit && !same {
					t.Fatalf("%d elements, stable %v: the library takes other turns", n, stable)
				}
				other = other || n > limit && !same
			}
		}
		if !other {
			t.Errorf("stable %v: the library sorts more than %d elements by insertion, too", stable, limit)
		}
	}
}

// sortsSlicesAlike reports whether the functions that sort slices come to the same.
func sortsSlicesAlike(t *turns, want []int, stable bool) bool {
	byIndex, byElement := slices.Clone(t.keys), slices.Clone(t.keys)
	less := func(i, j int) bool { return t.compare(byIndex[i], byIndex[j]) < 0 }
	if stable {
		sort.SliceStable(byIndex, less)
		slices.SortStableFunc(byElement, t.compare)
	} else {
		sort.Slice(byIndex, less)
		slices.SortFunc(byElement, t.compare)
	}
	return slices.Equal(byIndex, want) && slices.Equal(byElement, want)
}

// TestSortFloats: sort-ordered holds because this toolchain's slices.Sort moves floats in the turns
// of sort.Sort, so that even equal ones and kinds of NaN end in the same places.
func TestSortFloats(t *testing.T) {
	special := []float64{0, math.Copysign(0, -1), math.NaN(), math.Float64frombits(math.Float64bits(math.NaN()) + 1)}
	stable := true
	for n := range 200 {
		r := rand.New(rand.NewPCG(uint64(n), 3))
		list := make([]float64, n)
		for i := range list {
			list[i] = float64(r.IntN(5) - 2)
			if r.IntN(2) == 0 {
				list[i] = special[r.IntN(len(special))]
			}
		}
		bits := func(sorts func([]float64)) (out []uint64) {
			sorted := slices.Clone(list)
			sorts(sorted)
			for _, x := range sorted {
				out = append(out, math.Float64bits(x))
			}
			return out
		}
		own := bits(slices.Sort[[]float64])
		//lint:ignore S1032 sort.Float64s is slices.Sort by now; the rule replaces sort.Sort
		if !slices.Equal(own, bits(func(x []float64) { sort.Sort(sort.Float64Slice(x)) })) {
			t.Fatalf("%d floats: slices.Sort and sort.Sort differ", n)
		}
		stable = stable && slices.Equal(own, bits(func(x []float64) { sort.Stable(sort.Float64Slice(x)) }))
	}
	if stable {
		t.Error("sort.Stable never differs, so the rule may take it too")
	}
}

// BenchmarkShortSort shows what sorting in place is worth for a list of ten.
func BenchmarkShortSort(b *testing.B) {
	from := rand.New(rand.NewPCG(1, 2)).Perm(10)
	for name, sorts := range map[string]func([]int){
		"library": func(list []int) {
			sort.Slice(list, func(i, j int) bool { return cmp.Less(list[i], list[j]) })
		},
		"in place": func(list []int) {
			less := func(i, j int) bool { return cmp.Less(list[i], list[j]) }
			for i := 1; i < len(list); i++ {
				for j := i; j > 0 && less(j, j-1); j-- {
					list[j], list[j-1] = list[j-1], list[j]
				}
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			list := make([]int, len(from))
			for b.Loop() {
				copy(list, from)
				sorts(list)
			}
		})
	}
}
