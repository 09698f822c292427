package rules

import (
	"fmt"
	"strings"
)

// A byteRange is a range of ASCII, or all bytes above it.
type byteRange struct{ low, high int }

// wordRanges writes a set of bytes as at most four ranges that arithmetic on a word can test. It
// returns nil if there are more, or if the set holds only some bytes above 127.
// Letters and digits are three ranges, and quotes and backslashes two of one byte each.
func wordRanges(set [256]bool) []byteRange {
	var out []byteRange
	for c := 0; c < 256; c++ {
		if !set[c] {
			continue
		}
		r := byteRange{c, c}
		// A range ends at 0x7f: beyond, sums would carry.
		for r.high+1 < 256 && set[r.high+1] && r.high != 0x7f {
			r.high++
		}
		// Above 127 it is all or none.
		if r.low >= 0x80 && r != (byteRange{0x80, 0xff}) || len(out) == 4 {
			return nil
		}
		out = append(out, r)
		c = r.high
	}
	return out
}

// wordTestOf declares the test of eight bytes at once.
func wordTestOf(name string, ranges []byteRange) string {
	return fmt.Sprintf(`// %s reports whether the loop accepts all eight bytes of w.
func %s(w uint64) bool {
	const each, top = 0x0101010101010101, 0x8080808080808080
	%s
	return in&top == top
}`, name, name, wordSum(ranges))
}

// wordSum sets the top bit, in `in`, of every byte of w that is in a range. Adding 0x80-low sets it
// from low on, and adding 0x7f-high sets it above high. The sum of a byte below 0x80 carries
// nothing into the next byte, but the sum of another byte may. If the set refuses such bytes, the
// word is refused too; otherwise the test first removes their top bits.
func wordSum(ranges []byteRange) string {
	var lines []string
	word, first, above := "w", "in := ", "in &^= w // none is above ASCII"
	// If bytes above ASCII are plain, they are let through apart from the ranges.
	if ranges[len(ranges)-1].low >= 0x80 {
		ranges = ranges[:len(ranges)-1]
		lines = []string{"x := w &^ top"}
		word, above = "x", "in |= w // nor is any above ASCII refused"
		if len(ranges) == 0 {
			return "in := w // all are above ASCII"
		}
	}
	for _, r := range ranges {
		lines = append(lines,
			fmt.Sprintf("%s(%s + %#x*each) &^ (%s + %#x*each) // %s to %s", first, word, 0x80-r.low, word, 0x7f-r.high,
				byteText(r.low), byteText(r.high)))
		first = "in |= "
	}
	return strings.Join(append(lines, above), "\n")
}
