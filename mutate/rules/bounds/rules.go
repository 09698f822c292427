// Package bounds holds the rewrites that spare checks of bounds.
package bounds

import "github.com/beagle-go/beagle/mutate"

// Rules lists the rules of this package in the order of the catalogue.
var Rules = []*mutate.Mutator{
	unsignedIndex,
	blockConsume,
	mergeConsume,
	shrinkEnds,
	filterAppend,
	wordLoad,
	partialWord,
	checkHint,
	window,
	reslice,
	rowSlice,
	tableArray,
	tablePad,
	localCopy,
	localField,
}
