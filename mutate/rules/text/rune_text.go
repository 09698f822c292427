package text

import (
	_ "embed"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/kit"
)

//go:embed rune_text.go
var runeTextSource string

// runeText (part of catalogue S7) matches the conversion of a character to a string. It makes the
// text of an ASCII character without an allocation.
var runeText = example.Rule{
	Name: "rune-text",
	Doc: "Make the text of an ASCII character from a list of one byte. The runtime keeps all texts of one byte, so " +
		"that nothing is allocated; the conversion of a number allocates four bytes wherever the text lives on. " +
		"Exact: other characters are converted as before.",
	Class:  beagle.E0,
	Gain:   1.2,
	Source: runeTextSource,
	Pairs: []example.Pair{{
		Before: func(c rune) string { return string(c) },
		After:  func(c rune) string { return kit.RuneText(c) },
	}, {
		Before: func(c byte) string { return string(rune(c)) },
		After:  func(c byte) string { return kit.RuneText(rune(c)) },
	}, {
		Before: func(c byte) string { return string(c) },
		After:  func(c byte) string { return kit.RuneText(rune(c)) },
	}},
	Guard: func(m *example.Match) bool { return !m.IsConstant("c") && facts.TakesTime(m.Pass, m.Region()) },
}.Mutator()
