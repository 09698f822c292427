package rt

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// Libraries know classes of characters of which code for ASCII forgets some members. Notable
// characters are tried alone, at both ends, inside and twice, in letters and in the records: a
// parser gives one answer to all texts that are no record.

// spaces are all of White_Space; broken are texts that are no UTF-8, each in
// its own way: cut off, overlong, a surrogate, beyond the last rune, a lone
// continuation.
var (
	spaces       = membersOf(unicode.White_Space)
	invalidTexts = []string{"\x80", "\xc2", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe2\x82", "\xed\xa0\x80",
		"\xed\xbf\xbf", "\xf0\x9f\x98", "\xf0\x80\x80\x80",
		"\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xfe", "\xff"}
)

func membersOf(table *unicode.RangeTable) (list []rune) {
	for _, r := range table.R16 {
		for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
			list = append(list, c)
		}
	}
	return list
}

// folding are the runes outside ASCII whose other case lies inside or takes
// another number of bytes, and the other way round.
var folding = func() (list []rune) {
	for r := rune(utf8.RuneSelf); r <= 0x1ffff; r++ {
		for _, o := range []rune{unicode.ToLower(r), unicode.ToUpper(r), unicode.ToTitle(r), unicode.SimpleFold(r)} {
			if utf8.RuneLen(o) != utf8.RuneLen(r) {
				list = append(list, r)
				break
			}
		}
	}
	return list
}

// pieces returns the texts to put into contexts, the most telling first. The first few are the
// same for every target.
func (x *exhauster) pieces() (list []string, few int) {
	// A text occurs once, in the order in which it was first added.
	seen := map[string]bool{}
	add := func(s string) {
		if !seen[s] {
			seen[s] = true
			list = append(list, s)
		}
	}
	// Spaces, notable runes and broken encodings come first. few counts them.
	for _, r := range spaces {
		add(string(r))
	}
	for _, r := range notable {
		add(string(r))
	}
	for _, s := range invalidTexts {
		add(s)
	}
	few = len(list)
	// Then come the runes that the original's code asks for, and those whose case changes their
	// length.
	if !x.brief() {
		for _, r := range x.q.Runes {
			if utf8.ValidRune(r) {
				add(string(r))
			}
		}
		for _, r := range folding() {
			add(string(r))
		}
	}
	return list, few
}

// contextsOf are the places of a piece among letters.
var contextsOf = []func(p string) string{
	func(p string) string { return p },
	func(p string) string { return "a" + p },
	func(p string) string { return p + "a" },
	func(p string) string { return "a" + p + "a" },
	func(p string) string { return p + p },
	func(p string) string { return "a" + p + p + "b" },
	func(p string) string { return p + "ab" + p },
	func(p string) string { return "abcdefgh" + p },
	func(p string) string { return "A" + p },
	func(p string) string { return " " + p + " " },
}

// contexts puts every piece into every context, by itself and in lists.
func (x *exhauster) contexts(yield func() bool) {
	// Each text of the input takes every piece in each context.
	pieces, _ := x.pieces()
	for _, s := range x.args.spots(0) {
		x.args.ground(0, s)
		for _, p := range pieces {
			for _, c := range contextsOf {
				x.args.put(s, []byte(c(p)))
				if !yield() {
					return
				}
			}
		}
	}
	marks := x.marks()
	for _, s := range x.args.spots(0) { // and beside what the code compares with
		x.args.ground(0, s)
		for _, p := range pieces {
			for _, m := range marks[:min(len(marks), 16)] {
				for _, text := range []string{p + m, m + p, "a" + m + p + "a", "a" + p + m + "a"} {
					x.args.put(s, []byte(text))
					if !yield() {
						return
					}
				}
			}
		}
	}
}

// putPieces puts every piece into the records: instead of the first byte, the
// last one and each separator, and beside them.
func (x *exhauster) putPieces(yield func() bool) {
	pieces, few := x.pieces()
	if x.putInside(slices.Concat(x.marks(), pieces[:few]), yield) { // the telling ones into all records, then the rest
		x.putInside(pieces[few:], yield)
	}
}

// putInside puts each piece at the cuts of the records' texts: at their ends, and at the separators
// of their words.
func (x *exhauster) putInside(pieces []string, yield func() bool) bool {
	// Two records may have the same text, and long ones would take all the time.
	seen := map[string]bool{}
	return x.args.everySpot(1, func(s spot, text []byte) bool {
		if len(text) == 0 || len(text) > 1<<12 || seen[string(text)] {
			return true
		}
		seen[string(text)] = true
		cuts := cutsOf(text)
		for _, p := range pieces {
			for _, c := range cuts {
				x.args.put(s, slices.Concat(text[:c.from], []byte(p), text[c.to:]))
				if !yield() {
					return false
				}
			}
		}
		return true
	})
}

// A cut is a part of a text that a piece replaces; it may be empty.
type cut struct{ from, to int }

// maxCuts bounds the places of one text.
const maxCuts = 24

// cutsOf returns the ends of a text and of the words in it: before, instead of and after each
// separator.
func cutsOf(text []byte) []cut {
	n := len(text)
	// The ends come first: between, instead of and behind the outermost bytes.
	list := []cut{{0, 0}, {n, n}, {0, 1}, {n - 1, n}}
	for i := 1; i < n && len(list) < maxCuts; i++ {
		switch was, now := kindOfByte(text[i-1]), kindOfByte(text[i]); {
		case now == 0:
			list = append(list, cut{i, i}, cut{i, i + 1}, cut{i + 1, i + 1})
		case was != now && was != 0:
			list = append(list, cut{i, i})
		}
	}
	// A text without separators has its middle instead.
	if len(list) == 4 && n > 2 {
		list = append(list, cut{n / 2, n / 2}, cut{n / 2, n/2 + 1})
	}
	return list
}

// kindOfByte tells letters, digits, bytes beyond ASCII and separators (0) apart.
func kindOfByte(b byte) int {
	switch {
	case '0' <= b && b <= '9':
		return 1
	case 'a' <= b|0x20 && b|0x20 <= 'z':
		return 2
	case b >= utf8.RuneSelf:
		return 3
	}
	return 0
}
