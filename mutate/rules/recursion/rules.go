// Package recursion holds the rewrites of functions that call themselves.
package recursion

import "github.com/beagle-go/beagle/mutate"

// Rules lists the rules of this package in the order of the catalogue.
var Rules = []*mutate.Mutator{
	recurrence,
	memo,
	tailLoop,
}
