package rules

// A Lemma states that a rule keeps the meaning of its own example. The version before and the
// rule's result, both in testdata/<rule>.txtar, agree on all inputs or on all up to a length. A
// lemma covers the form of the rewrite. Find must ensure that the rule applies only to this form,
// and the judge doubts it.
type Lemma struct {
	Rule   string
	After  string // the file in the archive; before.go stands beside it
	Length int    // of each string and slice; 0 means all inputs
}

// Lemmas lists the lemmas that a test proves (internal/proof).
var Lemmas = []Lemma{
	{"unsigned-index", "underscore/after.go", 16},
	{"block-consume", "blocks/after.go", 16},
	{"merge-consume", "merge/after.go", 4},
	{"shrink-ends", "reverse/after.go", 16},
	{"filter-append", "later/after.go", 4},
	{"word-load", "little/after.go", 16},
	{"partial-word", "tail/after.go", 16},
	{"bounds-hint", "words/after.go", 16},
	{"reslice-second", "dot/after.go", 8},
	{"table-array", "byte/after.go", 16},
	{"table-pad", "states/after.go", 16},
	{"local-copy", "global/after.go", 16},
	{"std-kernel", "equal-strings/after.go", 8},
	{"unroll", "all/after.go", 16},
	{"accumulators", "sum/after.go", 16},
	{"skip-run", "state-machine/after.0.words.go", 8},
	{"hoist-invariant", "condition/after.go", 4},
	{"range-array", "frozen/after.go", 0},
	{"unswitch", "else/after.go", 16},
	{"fuse-loops", "renamed/after.go", 16},
	{"early-exit", "flag/after.go", 16},
	{"byte-table", "predicate/after.go", 16},
	{"byte-bits", "predicate/after.go", 16},
	{"word-test", "ascii/after.go", 16},
	{"word-prefix", "inside/after.go", 8},
	{"case-order", "neighbours/after.go", 4},
	{"rune-table", "negative/after.go", 4},
	{"reorder-tests", "and/after.go", 16},
	{"branchless", "min/after.go", 4},
	{"if-chain-to-switch", "returns/after.go", 0},
	{"only-if-needed", "ends/after.go", 4},
	{"domain-table", "hex/after.go", 4},
	{"split-first", "define/after.go", 4},
	{"split-pair", "field/after.go", 16},
	{"split-seq", "split/after.go", 4},
	{"byte-separator", "again/after.go", 8},
	{"drop-conversion", "write/after.go", 16},
	{"rune-slice", "length/after.go", 4},
	{"append-to-index", "squares/after.go", 16},
	{"bit-loop", "length/after.go", 0},
	{"caller-alloc", "state/after.go", 16},
	{"inline-call", "expression/after.go", 16},
	{"outline-slow-path", "clean/after.go", 16},
	{"specialise-func-param", "literal/after.go", 16},
	{"stack-builder", "lower/after.go", 8},
	{"stack-scratch", "sized/after.go", 4},
	{"tail-loop", "void/after.go", 8},
	{"trim-then-convert", "prefix/after.go", 16},
	{"fix-minmax", "if/after.go", 0},
	{"fix-forvar", "copy/after.go", 8},
}

// WithoutLemma gives the reason why the other rules that claim exactness have no lemma.
var WithoutLemma = map[string]string{
	"row-slice":         "slices of slices have too many combinations of lengths",
	"range-pointer":     "slices of strings have too many combinations of lengths",
	"class-switch":      "no answer within the time",
	"cheap-test-first":  "no answer within the time",
	"string-builder":    "no answer within the time, or slices of strings",
	"builder-grow":      "no answer within the time, or slices of strings",
	"sprintf":           "fmt is not followed",
	"replace-bytes":     "no answer within the time",
	"rune-to-byte-loop": "z3 has no answer within the time",
}

// LemmaOf returns the lemma of a rule; ok is false if it has none.
func LemmaOf(rule string) (l Lemma, ok bool) {
	for _, l := range Lemmas {
		if l.Rule == rule {
			return l, true
		}
	}
	return Lemma{}, false
}
