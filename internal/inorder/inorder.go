// Package inorder sorts lists and keys where the time that it takes does not matter, and short
// lists of numbers and texts where it does.
//
// The sorts of package slices are compiled anew in each package and for each type of elements, 20
// to 40 ms of the compiler's time and 10 to 20 kB each. With 153 of them they were an
// eighth of the machine code of Beagle that a first build compiles. Here one sort serves all types:
// that of package sort, which swaps elements by reflection.
package inorder

import (
	"cmp"
	"iter"
	"slices"
	"sort"
)

// By sorts a list by a comparison, as of [slices.SortStableFunc]. Equal elements keep their order.
func By[E any](list []E, compare func(a, b E) int) {
	sort.SliceStable(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}

// few is the length up to which a list is sorted by insertion: the time of longer ones grows with
// the square of their length.
const few = 128

// Sort sorts a list in ascending order. The look-up in the library sorts millions of short lists.
func Sort[E cmp.Ordered](list []E) {
	if len(list) > few {
		By(list, cmp.Compare)
		return
	}
	for i := 1; i < len(list); i++ {
		x, at := list[i], i
		for ; at > 0 && cmp.Less(x, list[at-1]); at-- {
			list[at] = list[at-1]
		}
		list[at] = x
	}
}

// Keys returns the keys of a map in ascending order.
func Keys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	Sort(keys)
	return keys
}

// Collect returns the elements of a sequence, sorted as by [By].
func Collect[E any](elements iter.Seq[E], compare func(a, b E) int) []E {
	list := slices.Collect(elements)
	By(list, compare)
	return list
}
