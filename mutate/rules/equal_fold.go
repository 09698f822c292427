package rules

import (
	_ "embed"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/kit"
)

//go:embed equal_fold.go
var equalFoldSource string

// equalFold (catalogue S6) matches comparisons of two strings in lower or upper case. It calls a
// helper that uses EqualFold for two ASCII strings, and the original comparison otherwise.
// EqualFold and ToLower differ on 94 pairs of runes, so the helper needs the test for ASCII.
var equalFold = example.Rule{
	Name: "equal-fold-ascii",
	Doc: "Compare two strings without regard to case by strings.EqualFold, which copies nothing, when both are " +
		"ASCII; all others are converted and compared as before. Legal because the two agree on ASCII; beyond it " +
		"they do not (the long s folds to s and is lower case already).",
	Class:  beagle.E3,
	Gain:   1.5,
	Source: equalFoldSource,
	Pairs: []example.Pair{{
		Before: func(a, b string) bool { return strings.ToLower(a) == strings.ToLower(b) },
		After:  func(a, b string) bool { return kit.EqualLower(a, b) },
	}, {
		Before: func(a, b string) bool { return strings.ToLower(a) != strings.ToLower(b) },
		After:  func(a, b string) bool { return !kit.EqualLower(a, b) },
	}, {
		Before: func(a, b string) bool { return strings.ToUpper(a) == strings.ToUpper(b) },
		After:  func(a, b string) bool { return kit.EqualUpper(a, b) },
	}, {
		Before: func(a, b string) bool { return strings.ToUpper(a) != strings.ToUpper(b) },
		After:  func(a, b string) bool { return !kit.EqualUpper(a, b) },
	}},
}.Mutator()
