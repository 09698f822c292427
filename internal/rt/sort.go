package rt

import "sort"

// This package sorts by interfaces. The sorts of package slices, and those of package sort that are
// built on them, are compiled again for each type of elements, and each run on a new machine waits
// for the compiler of this package.

func sortInts(list []int) { sort.IntSlice(list).Sort() }

func sortTexts(list []string) { sort.StringSlice(list).Sort() }
