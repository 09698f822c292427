// Package sorting holds the rewrites that sort faster, or do not sort.
package sorting

import "github.com/beagle-go/beagle/mutate"

// Rules lists the rules of this package in the order of the catalogue.
var Rules = []*mutate.Mutator{
	sortFunc,
	sortExtreme,
	sortSearch,
	sortKeys,
	sortOrdered,
	shortSort,
	sortedMerge,
}
