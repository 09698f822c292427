package rt

import (
	"reflect"
	"slices"
)

// Code that samples large values is right on all uniform ones. So large sequences get one element
// out of line: at the ends, in the middle and at the borders of pages.

var (
	sampleLens = []int{1<<17 + 1, 1 << 18, 1 << 20}
	pageSize   = 1 << 12
)

// sampledMarks is the number of the versions' own marks in long texts: a place that is kept in 16
// bits shows only after the right one.
const sampledMarks = 8

// samples puts single elements out of line into long sequences.
func (x *exhauster) samples(yield func() bool) {
	if x.brief() {
		return
	}
	x.patience = largeCase
	// A length that the original is too slow for ends the phase for that slot.
	for _, n := range sampleLens {
		ok := true
		x.args.each(isSequence, func(i int, t reflect.Type) bool {
			if n > longestOf(t) {
				return true
			}
			if !x.affords(n) {
				x.cut = true
				return true // the phase has no other lengths below
			}
			ok = x.sample(i, t, n, yield)
			return ok
		})
		if !ok {
			return
		}
	}
}

// sample puts one other element at each of a few places of a sequence of n equal ones. For very
// long sequences that is all that the time allows.
func (x *exhauster) sample(i int, t reflect.Type, n int, yield func() bool) bool {
	marks := []string{"\x00", "\xff"}
	// Texts have marks of their own; lists have two other values.
	if own := x.marks(); len(own) > 0 {
		marks = append(marks, own[:min(len(own), sampledMarks)]...)
	}
	text := slices.Repeat([]byte{'a'}, n)
	for _, at := range sampledPlaces(n) {
		for k, m := range marks {
			if x.late() {
				x.cut = true
				return false
			}
			if !isText(t) && k > 1 {
				break
			}
			x.args.base((at + k) % x.args.bases)
			// The text is reused, so the place gets its byte back. The end of a mark of several
			// bytes stays in the text, which does no harm.
			if isText(t) {
				copy(text[at:], m)
				setText(x.args.field(i), text)
				text[at] = 'a'
			} else {
				x.args.pattern(i, t, n, pattern{at: func(j, n int) int { return choose(j == at, low-k, 0) }})
			}
			if x.small() && !yield() {
				return false
			}
		}
	}
	return true
}

// sampledPlaces returns the ends, the middle and the borders of pages: the early ones, and then
// fewer.
func sampledPlaces(n int) []int {
	list := []int{0, n - 1, n / 2, n/2 + 1, n / 3, n - n/3, 1, n - 2, 1<<16 + 5, n - 1<<16}
	for page := pageSize; page < n; page += pageSize * (1 + page/(16*pageSize)) {
		list = append(list, page-1, page, page+1, page+pageSize/2+3)
	}
	return slices.DeleteFunc(list, func(at int) bool { return at < 0 || at >= n })
}
