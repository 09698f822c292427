// Package inorder sorts lists and keys where the time that it takes does not matter, and short
// lists of numbers and texts where it does.
//
// The sorts of package slices are compiled anew in each package and for each type of elements, 20
// to 40 ms of the compiler's time and 10 to 20 kB each. With 153 of them they were an
// eighth of the machine code of Beagle that a first build compiles. Here one sort serves all types:
// it sorts the places of the elements, and the elements move once.
package inorder

import (
	"cmp"
	"iter"
	"reflect"
	"slices"
)

// By sorts a list by a comparison, as of [slices.SortStableFunc]. Equal elements keep their order.
func By[E any](list []E, compare func(a, b E) int) {
	arrange(list, len(list), func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}

// arrange sorts a list of n elements. It is compiled once, and so has no type for the elements.
func arrange(list any, n int, less func(i, j int) bool) {
	places, swap := order(n, less), reflect.Swapper(list)
	// Each swap brings one element to its place, and the one there to where the next is missing.
	for i := range places {
		at := i
		for places[at] != i {
			from := places[at]
			swap(at, from)
			places[at], at = at, from
		}
		places[at] = at
	}
}

// order returns the places 0 to n-1 in the order of less. Equal elements keep theirs.
func order(n int, less func(i, j int) bool) []int {
	places, merged := make([]int, n), make([]int, 0, n)
	for i := range places {
		places[i] = i
	}
	// Merge neighbouring runs, each twice as long as those of the round before.
	for length := 1; length < n; length *= 2 {
		merged = merged[:0]
		for start := 0; start < n; start += 2 * length {
			a := places[start:min(start+length, n)]
			b := places[min(start+length, n):min(start+2*length, n)]
			for len(a) > 0 && len(b) > 0 {
				if less(b[0], a[0]) {
					merged, b = append(merged, b[0]), b[1:]
				} else {
					merged, a = append(merged, a[0]), a[1:]
				}
			}
			merged = append(append(merged, a...), b...)
		}
		places, merged = merged, places
	}
	return places
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
