// Package numbers holds the rewrites of arithmetic.
package numbers

import "github.com/beagle-go/beagle/mutate"

// Rules lists the rules of this package in the order of the catalogue.
var Rules = []*mutate.Mutator{
	modMask,
	reciprocal,
	bitLoop,
	bigWord,
}
