package rt

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Code that counts how often a letter stands in a row (slashes before a quote,
// zeros before a digit, dots) has a limit somewhere when it is written for speed:
// a word, a small array, a few steps.

// runLengths are the numbers of repetitions of a letter: every number to beyond two words, and
// around the sizes of others.
var runLengths = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 24, 31, 32, 33, 63, 64, 65,
	127, 128, 129, 255, 256, 257, 300}

// runeRuns are the numbers of repetitions of a rune beyond ASCII: a text that grows or shrinks by
// its runes outgrows a small buffer.
var runeRuns = []int{2, 5, 9, 17, 65}

// maxRunes bounds the runes that are repeated.
const maxRunes = 400

// markRuns puts runs of one mark before and after another, alone and between
// ordinary letters, and runs of the runes that the original's callees treat in
// ways of their own.
func (x *exhauster) markRuns(yield func() bool) {
	for i, s := range x.args.slots {
		if isText(s.t) && (!x.repeatedRunes(i, yield) || !x.cutTwins(i, yield) || !x.runsBeside(i, yield)) {
			return
		}
	}
}

// repeatedRunes fills a text with one rune. Runes come first whose other case takes
// another length: there code counts bytes wrongly.
func (x *exhauster) repeatedRunes(i int, yield func() bool) bool {
	runes := slices.Concat(folding(), x.q.Runes, notable)
	for k, r := range runes[:min(len(runes), maxRunes)] {
		for _, n := range runeRuns {
			if !x.textCase(i, k, strings.Repeat(string(r), n), yield) {
				return false
			}
		}
	}
	return true
}

// runsBeside puts a run of one mark beside each other mark, so that both ends of
// the run meet something.
func (x *exhauster) runsBeside(i int, yield func() bool) bool {
	marks := x.marks()
	marks = marks[:min(len(marks), 20)]
	for _, n := range runLengths {
		if n > x.capLen {
			break
		}
		for k, m := range marks {
			run := strings.Repeat(m, n)
			for _, other := range marks {
				for _, text := range []string{"a" + run + other + "b", other + run, run + other + "a" + other} {
					if !x.textCase(i, k, text, yield) {
						return false
					}
				}
			}
		}
	}
	return true
}

// textCase puts a text into a slot of the k-th surrounding, and makes it a case.
func (x *exhauster) textCase(i, k int, text string, yield func() bool) bool {
	x.args.base(k % x.args.bases)
	setText(x.args.field(i), []byte(text))
	return !x.small() || yield()
}

// cutTwins writes a rune after the one that it truncates to in 8 or 16 bits: a version that
// truncates runes, or keeps them in a small table, confuses the two.
func (x *exhauster) cutTwins(slot int, yield func() bool) bool {
	for k, r := range slices.Concat(x.q.Runes, notable) {
		for _, other := range []rune{r & 0xffff, r & 0xff} {
			if other == r || !utf8.ValidRune(other) {
				continue
			}
			if !x.textCase(slot, k, "x"+string(other)+string(r), yield) {
				return false
			}
		}
	}
	return true
}
