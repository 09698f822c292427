package text

import (
	"bytes"
	_ "embed"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/kit"
)

//go:embed affix_text.go
var affixTextSource string

// affixText (part of catalogue S7) matches bytes.HasPrefix and its like with a string that is
// converted to bytes. It calls a helper that compares bytes with the string.
var affixText = example.Rule{
	Name: "affix-text",
	Doc: "Compare the first or last bytes with a string as it is, instead of converting the string for " +
		"bytes.HasPrefix and its like. The compiler compares strings with bytes in place, and short constants as " +
		"one number. Exact: the helper is the library's function, except for the type of the prefix.",
	Class:  beagle.E0,
	Gain:   1.15,
	Source: affixTextSource,
	Pairs: []example.Pair{{
		Before: func(b []byte, s string) ([]byte, bool) { return bytes.CutPrefix(b, []byte(s)) },
		After:  func(b []byte, s string) ([]byte, bool) { return kit.CutPrefixText(b, s) },
	}, {
		Before: func(b []byte, s string) ([]byte, bool) { return bytes.CutSuffix(b, []byte(s)) },
		After:  func(b []byte, s string) ([]byte, bool) { return kit.CutSuffixText(b, s) },
	}, {
		Before: func(b []byte, s string) []byte { return bytes.TrimPrefix(b, []byte(s)) },
		After:  func(b []byte, s string) []byte { return kit.TrimPrefixText(b, s) },
	}, {
		Before: func(b []byte, s string) []byte { return bytes.TrimSuffix(b, []byte(s)) },
		After:  func(b []byte, s string) []byte { return kit.TrimSuffixText(b, s) },
	}, {
		Before: func(b []byte, s string) bool { return bytes.HasPrefix(b, []byte(s)) },
		After:  func(b []byte, s string) bool { return kit.HasPrefixText(b, s) },
	}, {
		Before: func(b []byte, s string) bool { return bytes.HasSuffix(b, []byte(s)) },
		After:  func(b []byte, s string) bool { return kit.HasSuffixText(b, s) },
	}},
	Together: true,
	Label:    func(*example.Match) string { return "affixes that are texts" },
}.Mutator()
