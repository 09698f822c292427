package rt

import (
	"bytes"
	"reflect"
	"slices"
	"unicode"
	"unicode/utf8"
)

// A function of two texts compares them, and most of its mistakes need two
// texts that are nearly equal: letters that fold to each other in one alphabet
// and not in another, bytes that differ in one bit at a border of words, or one
// byte beyond the first page. Two texts that are made one by one never are.

// twins makes pairs of texts that differ in one byte or one rune.
func (x *exhauster) twins(yield func() bool) {
	for i, a := range x.args.slots {
		for k, b := range x.args.slots {
			if i < k && isText(a.t) && isText(b.t) &&
				!(x.twinBytes(i, k, yield) && x.twinRunes(i, k, yield) && x.farTwins(i, k, yield)) {
				return
			}
		}
	}
}

// putBoth puts two texts into place, in the surroundings of a record.
func (x *exhauster) putBoth(i, k, base int, a, b []byte, yield func() bool) bool {
	x.args.base(base % x.args.bases)
	setText(x.args.field(i), a)
	setText(x.args.field(k), b)
	return !x.small() || yield()
}

// twinPlaces are lengths of texts and places in them: alone, and at the ends of
// words with and without a rest after them.
var twinPlaces = [][2]int{{1, 0}, {8, 0}, {8, 7}, {9, 8}, {16, 8}, {17, 3}, {4, 3}, {33, 31}}

// twinBytes tries every byte beside the bytes that differ from it in one bit or
// by one, at telling places. As all of it is a hundred thousand pairs, the
// letters' and digits' bit comes first.
func (x *exhauster) twinBytes(i, k int, yield func() bool) bool {
	for _, flip := range []byte{0x20, 0x80, 0x01, 0x40, 0x10, 0x08, 0x04, 0x02} {
		for n, at := range twinPlaces {
			for c := range 256 {
				a := bytes.Repeat([]byte{'1'}, at[0])
				a[at[1]] = byte(c)
				b := slices.Clone(a)
				b[at[1]] ^= flip
				if !x.putBoth(i, k, c+n, a, b, yield) {
					return false
				}
			}
		}
	}
	return true
}

// twinRunes tries each rune that has another case, or folds, beside each of its
// relatives: alone and between letters.
func (x *exhauster) twinRunes(i, k int, yield func() bool) bool {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r == 0x3000 { // hardly any runes beyond have cases
			r = 0xa640
		}
		if r == 0x1f000 {
			break
		}
		for _, other := range relatives(r) {
			// Each relative stands alone, and between letters that could hide it.
			for context := range 2 {
				a, b := utf8.AppendRune(nil, r), utf8.AppendRune(nil, other)
				if context == 1 {
					a, b = slices.Concat([]byte("ab"), a, []byte("c")), slices.Concat([]byte("ab"), b, []byte("c"))
				}
				if !x.putBoth(i, k, int(r), a, b, yield) {
					return false
				}
			}
		}
	}
	return true
}

// relatives returns the other runes that a rune folds, lowers, uppers or titles to.
func relatives(r rune) []rune {
	var list []rune
	add := func(o rune) {
		if o != r && !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
		add(o)
	}
	add(unicode.ToLower(r))
	add(unicode.ToUpper(r))
	add(unicode.ToTitle(r))
	return list
}

// farTwins makes long texts that differ in one byte: at the end, in the middle,
// after the borders of pages, and at neighbouring places.
func (x *exhauster) farTwins(i, k int, yield func() bool) bool {
	// Brief searches have no time for long texts.
	if x.brief() {
		return true
	}
	x.patience = largeCase
	// The lengths lie around powers of two and pages, and at those that the code names.
	for _, n := range slices.Concat([]int{65, 129, 257, 1000, 4097, 5001, 8193, 65_537}, x.q.Lens) {
		if n < 2 || n > longestOf(reflect.TypeFor[string]()) {
			continue
		}
		if !x.affords(n) {
			x.cut = true
			continue
		}
		a := patternText(n, pattern{mixed: true, at: func(k, n int) int { return k }})
		// Differences at the ends and in the middle, and around the borders of blocks that grow
		// from 64 bytes on.
		places := []int{n - 1, n - 2, n / 2, n/2 + 1, 0, 1}
		for border := 64; border < n; border *= 8 {
			places = append(places, border-1, border, border+1, n-border, n-border-1)
		}
		for _, at := range places {
			if at < 0 || at >= n {
				continue
			}
			b := slices.Clone(a)
			// Change the lowest bit, and the one between upper and lower case.
			for _, flip := range []byte{0x01, 0x20} {
				b[at] = a[at] ^ flip
				if x.late() {
					x.cut = true
					return false
				}
				if !x.putBoth(i, k, at, a, b, yield) {
					return false
				}
			}
		}
	}
	return true
}
