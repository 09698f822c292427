// Package branches holds the rewrites of tests: tables, words of eight bytes, and orders that
// follow what the corpus shows.
package branches

import "github.com/beagle-go/beagle/mutate"

// Rules lists the rules of this package in the order of the catalogue.
var Rules = []*mutate.Mutator{
	byteTable,
	byteBits,
	classSwitch,
	wordTest,
	wordPrefix,
	caseOrder,
	identityFastPath,
	asciiPath,
	runeTable,
	constantSet,
	reorderTests,
	branchless,
	chainSwitch,
	cheapFirst,
	onlyIfNeeded,
	firstValue,
	foldLength,
	domainTable,
	answerTable,
	hexPairs,
	specialiseValue,
	shortNumber,
}
