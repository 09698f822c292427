// Package calls holds the rewrites of calls: they inline, split and specialise functions.
package calls

import "github.com/beagle-go/beagle/mutate"

// Rules lists the rules of this package in the order of the catalogue.
var Rules = []*mutate.Mutator{
	outline,
	specialise,
	constantArgument,
	indexFunc,
	devirtualise,
	directHeap,
	inlineLeaf,
	spliceCall,
	directUnlock,
}
