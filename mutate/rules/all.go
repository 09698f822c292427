// Package rules holds the rewrites that need no model: one rule a file, with one golden archive a
// rule (testdata/<rule>.txtar).
//
// A rule looks only at the present code, not at a sequence of rules. Each recognises what other
// rules write, and the search finds the order. A rule leaves a place out if it is in doubt. If its
// legality class allows, it may still propose what types and syntax cannot prove; the checks of
// that class then decide.
package rules

import (
	"slices"

	"github.com/beagle-go/beagle/mutate"
)

// All lists every rule, in the order of the catalogue and of `beagle explain`.
var All = slices.Concat(ownRules, GoFixes)

// ownRules lists the rules of this package; [GoFixes] takes the others from the Go team.
var ownRules = []*mutate.Mutator{
	// Bounds checks.
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

	// Loops.
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

	// Branches and specialisation by what the corpus shows.
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
	foldLength,
	domainTable,
	answerTable,
	hexPairs,
	specialiseValue,
	shortNumber,

	// Strings, bytes, formatting.
	stringBuilder,
	builderGrow,
	sprintfConcat,
	stringMethod,
	splitFirst,
	splitPair,
	splitSeq,
	splitStack,
	joinConcat,
	listText,
	bufferBuilder,
	byteSeparator,
	dropConversion,
	affixText,
	runeSlice,
	runeList,
	replaceBytes,
	stackText,
	textBytes,
	runeText,
	trimConvert,
	writeByte,
	mergeWrites,
	lowerText,
	scanText,
	hoistCompile,
	regexpMatch,
	regexpFind,

	// Allocation.
	prealloc,
	appendIndex,
	appendJoin,
	oneBacking,
	structBacking,
	oneObject,
	mapHint,
	stackScratch,
	stackBuilder,
	stackKey,
	structKey,
	stackSet,
	positionSet,
	hoistClosure,
	staticLiteral,
	staticError,
	pointerParam,
	stackResult,
	needlessCopy,
	callerAlloc,
	concreteParam,
	binaryWrite,
	deepEqual,

	// Maps, sorting, hashing, recursion.
	mapUpdate,
	mapEntry,
	byteMap,
	mapSwitch,
	mapClear,
	sortFunc,
	sortExtreme,
	sortSearch,
	sortKeys,
	sortOrdered,
	shortSort,
	sortedMerge,
	unorderedFold,
	checksumStd,
	checksumSlicing,
	recurrence,
	memo,
	tailLoop,

	// Calls and arithmetic.
	outline,
	specialise,
	constantArgument,
	indexFunc,
	devirtualise,
	directHeap,
	inlineLeaf,
	spliceCall,
	directUnlock,
	modMask,
	reciprocal,
	bitLoop,
	bigWord,
}

// docs/rewrites.md lists the catalogue's entries with their rules, and says why some have none.
// Changes that depend on promises outside the source are in Advice.

// Named returns the rule of that name, or nil.
func Named(name string) *mutate.Mutator {
	for _, m := range All {
		if m.Name == name {
			return m
		}
	}
	return nil
}
