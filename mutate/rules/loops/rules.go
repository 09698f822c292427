// Package loops holds the rewrites of loops: they unroll, hoist, fuse and leave them, or call the
// library in their place.
package loops

import "github.com/beagle-go/beagle/mutate"

// Rules lists the rules of this package in the order of the catalogue.
var Rules = []*mutate.Mutator{
	stdKernel,
	partKernel,
	repeatText,
	stdCall,
	compact,
	unroll,
	unrollIndex,
	fixedTrips,
	accumulators,
	skipRun,
	plainRun,
	hoistInvariant,
	reuseValue,
	rangeIndex,
	elementPointer,
	rangeArray,
	unswitch,
	fuseLoops,
	earlyExit,
	runeByteLoop,
}
