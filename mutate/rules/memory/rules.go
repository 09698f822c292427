// Package memory holds the rewrites that allocate less: on the stack, at once, or not at all.
package memory

import "github.com/beagle-go/beagle/mutate"

// Rules lists the rules of this package in the order of the catalogue.
var Rules = []*mutate.Mutator{
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
}
