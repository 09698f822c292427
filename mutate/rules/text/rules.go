// Package text holds the rewrites of code that makes, splits and formats strings and slices of
// bytes.
package text

import "github.com/beagle-go/beagle/mutate"

// Rules lists the rules of this package in the order of the catalogue.
var Rules = []*mutate.Mutator{
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
}
