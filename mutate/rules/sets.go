package rules

import (
	"slices"

	"github.com/beagle-go/beagle/mutate"
)

// Default lists the rules of a search to which the user names none: those that public code has been
// seen to need.
var Default = slices.DeleteFunc(slices.Clone(All), func(m *mutate.Mutator) bool { return slices.Contains(Suite, m) })

// Suite lists the rules that fire on the suite, on the examples of this repository or on what other
// rules write, and in no function of the public packages of recall.txt. A search uses them when
// --rules names them, or the set "suite". A rule goes back to Default as soon as a wider matcher
// meets public code.
//
// The rules here stay because each makes a change that does not depend on one task. Some make what
// performance commits do most: word and table forms of byte loops, sorting avoided, small sets
// without a map, copies left out, work at a text's end only. One serves a call that is slow and
// rare, fmt.Sscanf, of which the packages of recall.txt have none. The others are textbook changes
// of any loop or recursion, or bring in the library's function, and the goals of
// docs/measurements.md for MergeTags, Fibonacci and Checksum rest on three of them.
var Suite = named(
	"block-consume",
	"partial-word",
	"compact",
	"fuse-loops",
	"rune-slice",
	"replace-bytes",
	"scan-text",
	"struct-key",
	"position-set",
	"needless-copy",
	"sort-extreme",
	"sort-search",
	"sort-keys",
	"sorted-merge",
	"unordered-fold",
	"checksum-std",
	"checksum-slicing",
	"recurrence",
	"memo",
)

// named returns the rules of these names.
func named(names ...string) []*mutate.Mutator {
	out := make([]*mutate.Mutator, len(names))
	for i, name := range names {
		if out[i] = Named(name); out[i] == nil {
			panic("rules: no rule is called " + name)
		}
	}
	return out
}

// sets are the names that --rules takes for several rules.
var sets = map[string][]*mutate.Mutator{"default": Default, "suite": Suite, "all": All}

// Set returns the rules of a set: "default", "suite" or "all".
func Set(name string) (rules []*mutate.Mutator, ok bool) {
	rules, ok = sets[name]
	return rules, ok
}

// Reason returns why a rule that finds few places in public code is in [Default] all the same, or
// "".
func Reason(name string) string { return rare[name] }

// rare holds the reasons for rules that find a place in fewer than 1 in 2,000 functions of public
// packages. A reason is what a maintainer would answer to "why do we keep this?". TestDefault
// fails on a rare rule without one, and on a reason that is no longer needed.
var rare = map[string]string{
	"unsigned-index": "It is the cheapest way to lose a bounds check in a hot byte loop, and " +
		"other rules leave such loops.",
	"merge-consume": "Merging two sorted lists is rare, but where a service does it the loop " +
		"is most of its time.",
	"shrink-ends": "Reversing and palindrome loops are few and hot, and the edit is two lines " +
		"that a reader knows.",
	"filter-append": "Filtering in place is the usual way to drop elements without an " +
		"allocation, where it is hot.",
	"row-slice": "Matrix loops are rare in libraries and common in the programs that a profile " +
		"shows as numeric.",
	"table-pad": "It pays together with other rules that leave an index masked, and costs a " +
		"few bytes.",
	"std-kernel": "The library's kernels are up to thirty times as fast as a loop, so that one place in 4,000 is " +
		"worth the look.",
	"skip-run": "Scanners spend their time in runs of plain bytes; few functions scan, but " +
		"profiles end in them.",
	"element-pointer": "Searches in tables of ranges copy an entry for each probe, and profiles of text end in " +
		"them.",
	"range-array": "Ranging over an array copies it; few do, and nobody means to.",
	"early-exit": "A loop that goes on after its answer wastes half of its iterations, and nothing " +
		"else finds it.",
	"word-prefix": "Validators that return most inputs at once gain several times from eight bytes a step; they " +
		"are few and called for each request.",
	"case-order": "The order of cases follows the inputs, which only the corpus shows: no " +
		"reader can do it by eye.",
	"cheap-test-first": "The order of two tests is free to change, and the costly one is often " +
		"an allocation.",
	"domain-table": "A pure function of one byte in a loop becomes one load, whatever it " +
		"computes.",
	"split-first": "Splitting for one piece is the commonest waste in code that reads " +
		"addresses and headers.",
	"regexp-match": "Regular expressions are ten times as slow as a table; validators in services use them more " +
		"than libraries do.",
	"append-to-index": "Append's test for room is most of a short loop, and other rules leave " +
		"loops that have room.",
	"one-backing": "It saves all but one of a table's allocations, and its size cannot be seen " +
		"in a diff otherwise.",
	"deep-equal": "Reflection is slower by far than a comparison of what the compiler knows; most of its uses are in " +
		"tests, the others are forgotten.",
	"join-concat": "Generated String methods join lists that they write, often hundreds in a " +
		"module.",
	"stack-key": "Composite keys of maps are rare in libraries and usual in services that " +
		"count by tags.",
	"stack-set": "Small sets that forget duplicates are usual in services, and the map is most " +
		"of their time.",
	"concrete-param": "Boxing one known type allocates for each call, and the helper's " +
		"signature is private.",
	"binary-write": "Encoders write number after number this way, and each call asks for the type and allocates. It " +
		"was counted in 20 of the modules only.",
	"byte-map": "A map from bytes is twenty times as slow as the array that says the " +
		"same.",
	"map-clear": "Clearing keeps the buckets, and the change is one word.",
	"sort-ordered": "Lists of numbers and strings sort in a third of the time, and the edit is one line that " +
		"newer code has already. It was counted in 8 of the modules only.",
	"direct-heap": "Queues by priority are the inner loop of searches, timers and merges, and half of their time " +
		"goes to calls through an interface. It was counted in 8 of the modules only.",
	"specialise-func-param": "A call through a parameter cannot be inlined; helpers like that " +
		"sit inside the hottest loops.",
	"reciprocal": "Division is the slowest instruction of hash tables and sketches, which " +
		"divide by one number.",
	"constant-set": "The search of a set is a call for each character; scanners and trimmers do it in their " +
		"innermost loop, and the edit is one line.",
	"index-func": "A search by function calls it for each rune and cannot inline it; validators of short texts " +
		"are nothing else.",
	"repeat-text": "Padding is a byte an iteration in table writers and formatters, and the library cuts it from a " +
		"constant.",
	"std-call": "All pieces for their number is an allocation that nobody means, and the edit is one call.",
	"fold-length": "Names of headers and options are compared without regard to case in loops, most of them have " +
		"another length, and the edit is one test. It was counted in 17 of the modules only.",
	"first-value": "Options with defaults and comparisons by several keys call cmp.Or, which is new. Each call makes " +
		"a list in memory, and computes values that nothing needs.",
	"map-entry": "Counting and grouping by keys is what services do in their inner loops, and each look-up hashes " +
		"the key anew. It was counted in 12 of the modules only.",
	"local-field": "Scanners and readers of bits advance a field in their innermost loops, and each turn waits for " +
		"the store of the one before. It was counted in 33 of the modules only.",
	"rune-list": "Decoders of Latin-1 and filters of characters take four bytes for each and go through them twice; " +
		"the text is all that they want. It was counted in 12 of the modules only.",
	"bit-loop": "Counting bits is one instruction; loops that count are few and cost sixty " +
		"times as much.",
}
