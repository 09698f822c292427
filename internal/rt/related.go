package rt

import (
	"bytes"
	"reflect"
	"slices"
)

// Arguments seldom come independently: one text is another with a byte
// changed, or a part of it; a number is the length of a list, or an index of
// it. Values that are chosen one by one never stand in such a relation.

// related makes pairs of sequences, and numbers that go with a length.
func (x *exhauster) related(yield func() bool) {
	// Choose what a pair of slots can have in common by their types.
	for i, a := range x.args.slots {
		for k, b := range x.args.slots {
			var ok bool
			switch {
			case i == k:
				continue
			case isText(a.t) && isText(b.t):
				ok = x.relatedTexts(i, k, yield)
			case a.t == b.t && isSlice(a.t):
				ok = x.relatedLists(i, k, yield)
			case isSequence(a.t) && isInteger(b.t):
				ok = x.relatedNumbers(i, k, yield)
			default:
				continue
			}
			if !ok {
				return
			}
		}
	}
}

// relatedLens are the lengths of related sequences: around words, then others.
var relatedLens = append(slices.Clone(placeLens[:9]), 1, 2, 3, 4, 5, 7, 12, 15, 23, 31, 40, 63, 100, 129, 255, 300)

// relatedTexts makes two texts of one: changed at one place, cut, continued, or
// a part of the other.
func (x *exhauster) relatedTexts(i, k int, yield func() bool) bool {
	// both puts the two texts in place.
	both := func(a, b []byte) bool {
		if len(a) > x.capLen || len(b) > x.capLen {
			x.pass(1)
			return true
		}
		setText(x.args.field(i), a)
		setText(x.args.field(k), b)
		return !x.small() || yield()
	}
	marks := x.marks()
	marks = marks[:min(len(marks), firstMarks)]
	// Take a plain text of each length, and two of the records' own.
	for from := range min(x.args.bases, 3) {
		x.args.base(from)
		ground := bytesOf(x.args.field(i))
		for _, n := range relatedLens {
			a := patternText(n, pattern{mixed: true, at: func(k, n int) int { return k }})
			if from > 0 && len(ground) > 0 {
				a = repeated(ground, n)
			}
			// First the text beside itself, in capitals, and twice in a row.
			if !both(a, a) || !both(a, bytes.ToUpper(a)) || !both(a, slices.Concat(a, a)) {
				return false
			}
			// Then cuts at each place, and texts that differ there in the case, the top bit, the
			// value or by one byte left out.
			for at := range n {
				for _, b := range [][]byte{a[:at], a[at:], a[at : at+1], a[at:min(n, at+4)], a[at:min(n, at+9)],
					slices.Concat(a[:at], []byte{a[at] ^ 0x20}, a[at+1:]),
					slices.Concat(a[:at], []byte{a[at] ^ 0x80}, a[at+1:]),
					slices.Concat(a[:at], []byte{a[at] + 1}, a[at+1:]), slices.Concat(a[:at], a[at+1:])} {
					if !both(a, b) {
						return false
					}
				}
				for _, m := range marks { // a mark at one place of the one, and alone in the other
					if !both(slices.Concat(a[:at], []byte(m), a[at:]), []byte(m)) {
						return false
					}
				}
			}
		}
	}
	return true
}

// relatedLists makes two lists of one: changed at one place, cut, turned round.
func (x *exhauster) relatedLists(i, k int, yield func() bool) bool {
	t := x.args.slots[i].t
	// The first list is plain. The second one differs at one place, is rotated, is shifted by a
	// number, holds one value only, or is cut.
	for _, n := range relatedLens {
		for at := range n {
			for way := range 5 {
				if n > x.capLen {
					x.pass(1)
					continue
				}
				x.args.base(at % x.args.bases)
				x.args.pattern(i, t, n, patterns[2])
				x.args.pattern(k, t, n, pattern{at: func(k, n int) int {
					switch {
					case way == 0 && k == at:
						return low
					case way == 1:
						return (k + at) % n
					case way == 2:
						return k + at
					case way == 3:
						return at
					}
					return k
				}})
				if way == 4 {
					x.args.field(k).SetLen(at)
				}
				if x.small() && !yield() {
					return false
				}
			}
		}
	}
	return true
}

// relatedNumbers makes a number the length of a sequence, one beside it, or an
// index near either end or a border of words.
func (x *exhauster) relatedNumbers(i, k int, yield func() bool) bool {
	t := x.args.slots[i].t
	for n := range maxSweep {
		// Off by one, half, a word less, a multiple of eight, none, twice and negative: what code
		// computes from a length.
		for _, m := range []int{n, n - 1, n + 1, n / 2, n - 8, n &^ 7, 0, 1, 2 * n, -n} {
			x.args.base((n + m&7) % x.args.bases)
			if !x.args.setInt(k, int64(m)) {
				continue
			}
			if n > x.capLen {
				x.pass(1)
				continue
			}
			x.args.pattern(i, t, n, pattern{mixed: true, at: func(k, n int) int { return k }})
			if x.small() && !yield() {
				return false
			}
		}
	}
	return true
}

// innerLens are the lengths of texts inside lists.
var innerLens = []int{31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 4097, 65535, 65536, 65537, 70_000}

// inner makes long texts inside lists, and large maps.
func (x *exhauster) inner(yield func() bool) {
	x.patience = largeCase
	// Lists of texts and maps grow until the time is up.
	lens := slices.Concat(innerLens, x.q.Lens)
	for i, s := range x.args.slots {
		for _, n := range lens {
			ok := true
			switch {
			case x.brief() && n > briefLength || n > 1<<17:
				x.cut = true
			case isTexts(s.t):
				ok = x.innerTexts(i, n, yield)
			case s.t.Kind() == reflect.Map && n <= 5000:
				ok = x.largeMaps(i, n, yield)
			}
			if !ok {
				return
			}
		}
	}
}

// innerTexts puts one long text into lists: alone, twice, between short ones, and beside one that
// differs at its end.
func (x *exhauster) innerTexts(i, n int, yield func() bool) bool {
	t := x.args.slots[i].t
	for round, p := range patterns[:7] {
		if x.late() {
			x.cut = true
			return false
		}
		text := patternText(n, p)
		for _, places := range [][]int{{0}, {0, 0}, {1, 0, 2}, {0, 3}} {
			x.args.base(round % x.args.bases)
			list := reflect.MakeSlice(t, len(places), len(places))
			for k, place := range places {
				switch place {
				case 0:
					setText(list.Index(k), text)
				case 3: // the same except for its end
					setText(list.Index(k), slices.Concat(text[:n-1], []byte{text[n-1] ^ 1}))
				default:
					setText(list.Index(k), []byte{'a' + byte(place)})
				}
			}
			x.args.field(i).Set(list)
			if x.small() && !x.unless(!x.affords(n), yield) {
				return false
			}
		}
	}
	return true
}

// largeMaps makes maps of n entries, with numbered keys and two kinds of elements.
func (x *exhauster) largeMaps(i, n int, yield func() bool) bool {
	t := x.args.slots[i].t
	for round, p := range []pattern{patterns[2], patterns[1]} {
		if x.late() {
			x.cut = true
			return false
		}
		m := reflect.MakeMapWithSize(t, n)
		for k := range n {
			key, elem := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			x.args.element(key, k, x.args.palette(t.Key()))
			x.args.element(elem, p.at(k, n), x.args.palette(t.Elem()))
			if key.Comparable() {
				m.SetMapIndex(key, elem)
			}
		}
		x.args.base(round % x.args.bases)
		x.args.field(i).Set(m)
		if x.small() && !x.unless(!x.affords(n), yield) {
			return false
		}
	}
	return true
}
