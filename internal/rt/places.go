package rt

import (
	"reflect"
	"slices"
)

// Code that reads many bytes at once has borders between what it reads, and at
// each of them something to carry. So every special letter, every pair of them,
// and for lists every small disorder, is put at every place of an otherwise
// clean sequence of every length.

// placeLens are the lengths, those around the widths of words first.
var placeLens = func() []int {
	list := []int{16, 24, 9, 17, 32, 33, 8, 64, 65}
	for n := 1; n <= 72; n++ {
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return append(list, 79, 80, 81, 88, 96, 97, 104, 112, 127, 128, 129, 144, 160, 191, 192, 193, 200, 224, 255, 256,
		257, 288, 300)
}()

// denseLens are those of them without gaps.
var denseLens = placeLens[:72]

// How many special letters are put at every place.
const (
	firstMarks = 8  // before all others
	maxMarks   = 40 // alone and doubled
	maxPaired  = 11 // with each other
)

// marks returns the special letters, those that either version compares with first.
func (x *exhauster) marks() []string {
	var list []string
	add := func(s string) {
		if s != "a" && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	for _, r := range x.q.Marks {
		addLetter(int64(r), add)
	}
	for _, l := range x.args.letters {
		add(l)
	}
	return list[:min(len(list), maxMarks)]
}

// places visits every place in ever wider rounds: first few letters in plain
// text, each alone and doubled, then these with each other, then all letters in
// all texts.
func (x *exhauster) places(yield func() bool) {
	marks, grounds := x.marks(), x.cleanTexts()
	first, one := marks[:min(len(marks), firstMarks)], grounds[:min(len(grounds), 1)]
	for _, n := range placeLens {
		if !x.disorders(n, yield) || !x.lonePlaces(n, first, one, yield) {
			return
		}
	}
	// A round goes on to more only when all that is likelier has been tried.
	if !x.pairPlaces(first, one, denseLens, yield) {
		return
	}
	for _, n := range placeLens {
		if !x.lonePlaces(n, marks, grounds, yield) {
			return
		}
	}
	x.pairPlaces(marks[:min(len(marks), maxPaired)], grounds[:min(len(grounds), 2)], placeLens, yield)
}

// lonePlaces puts each letter alone and doubled at every place.
func (x *exhauster) lonePlaces(n int, marks []string, grounds []clean, yield func() bool) bool {
	for _, m := range marks {
		for _, g := range grounds {
			if !x.everywhere(g, n, m+m, yield) || !x.everywhere(g, n, m, yield) {
				return false
			}
		}
	}
	return true
}

// pairPlaces puts two letters that differ at every place, the most telling ones
// first.
func (x *exhauster) pairPlaces(marks []string, grounds []clean, lens []int, yield func() bool) bool {
	// By the sum of their ranks: pairs of telling letters come before those with one that is not.
	for sum := 1; sum < 2*len(marks); sum++ {
		for _, n := range lens {
			for i := max(0, sum-len(marks)+1); i < len(marks) && i <= sum; i++ {
				for _, g := range grounds {
					if 2*i != sum && !x.everywhere(g, n, marks[i]+marks[sum-i], yield) {
						return false
					}
				}
			}
		}
	}
	return true
}

// A clean is a text without special characters. It is repeated to reach a length.
type clean struct {
	spot spot
	base int
	text []byte
}

// cleanTexts returns the texts to put letters into: texts that the original takes for ordinary,
// and the records.
func (x *exhauster) cleanTexts() (list []clean) {
	for _, s := range x.args.spots(0) {
		for _, l := range x.ordinary(s) {
			list = append(list, clean{s, 0, []byte(l)})
		}
	}
	for k := 1; k < min(x.args.bases, 4); k++ {
		for _, s := range x.args.spots(k) {
			if text := x.args.ground(k, s); len(text) > 0 {
				list = append(list, clean{s, k, text})
			}
		}
	}
	return list
}

// ordinary picks the letters that stand for clean text: a, and one of those
// that the original treats like most others.
func (x *exhauster) ordinary(s spot) []string {
	if s.elem != whole || x.brief() {
		return []string{"a"}
	}
	// Letters that the original treats alike are a class; the largest class is what it takes for
	// ordinary.
	classes := map[string][]string{}
	most := ""
	for _, l := range []string{"a", "b", "m", "z", "A", "B", "M", "Z", "0", "1", "5", "9", " ", "-", ".", ",", "/", "~",
		"é", "€"} {
		c := x.treatment(s.slot, l)
		classes[c] = append(classes[c], l)
		if len(classes[c]) > len(classes[most]) {
			most = c
		}
	}
	return slices.Compact([]string{"a", classes[most][0]})
}

// everywhere puts a piece at every place of a clean text of n bytes.
func (x *exhauster) everywhere(g clean, n int, piece string, yield func() bool) bool {
	// A text that is too short, or too long for the original, has no such place.
	if n < len(piece) {
		return true
	}
	if n > x.capLen {
		x.pass(n - len(piece) + 1)
		return true
	}
	// Write the piece at each place in turn, and put the text back after it.
	x.args.ground(g.base, g.spot)
	ground := repeated(g.text, n)
	text := slices.Clone(ground)
	for at := 0; at+len(piece) <= n; at++ {
		copy(text[at:], piece)
		x.args.put(g.spot, text)
		if x.small() && !yield() {
			return false
		}
		copy(text[at:], ground[at:at+len(piece)])
	}
	return true
}

func repeated(text []byte, n int) []byte {
	out := make([]byte, 0, n+len(text))
	for len(out) < n {
		out = append(out, text...)
	}
	return out[:n]
}

// disorders put one place of an ascending list of different elements out of order.
var disorders = []func(k, at, n int) int{
	func(k, at, n int) int { return k - btoi(k == at+1) },                   // two neighbours alike
	func(k, at, n int) int { return k + btoi(k == at) - btoi(k == at+1) },   // two neighbours exchanged
	func(k, at, n int) int { return choose(k == at, low, k) },               // the lowest
	func(k, at, n int) int { return choose(k == at, high, k) },              // the highest
	func(k, at, n int) int { return choose(k == at, 0, k) },                 // the first again
	func(k, at, n int) int { return choose(k == at, n-1, k) },               // the last too early
	func(k, at, n int) int { return choose(k == at || k == at+1, high, 0) }, // two that differ from all others
	func(k, at, n int) int { return choose(k == at, low, 0) },
	func(k, at, n int) int { return choose(k == at, high, low) },
	func(k, at, n int) int { return choose(k == at, low, high) },
	func(k, at, n int) int { return choose(k == at, 1, 0) },
}

func btoi(b bool) int { return choose(b, 1, 0) }

func choose[T any](b bool, yes, no T) T {
	if b {
		return yes
	}
	return no
}

// disorders puts each small disorder at every place of the lists and arrays.
func (x *exhauster) disorders(n int, yield func() bool) bool {
	ok := true
	x.args.each(isSeries, func(i int, t reflect.Type) bool {
		if t.Kind() == reflect.Array && n != placeLens[0] {
			return true // it has one length: once is enough
		}
		for _, f := range disorders {
			// Arrays have the length of their type.
			length := n
			if t.Kind() == reflect.Array {
				length = min(t.Len(), maxSweep)
			}
			if n > x.capLen {
				x.pass(length)
				continue
			}
			for at := range length {
				x.args.base(at % x.args.bases)
				x.args.series(i, t, n, pattern{at: func(k, n int) int { return f(k, at, n) }})
				if ok = !x.small() || yield(); !ok {
					return false
				}
			}
		}
		return true
	})
	return ok
}

// isSeries reports whether t is a list or an array, and no text.
func isSeries(t reflect.Type) bool {
	return t.Kind() == reflect.Array && t.Len() > 0 || t.Kind() == reflect.Slice && !isText(t)
}

// series fills a list of n elements, or an array of its own length.
func (a *arguments) series(i int, t reflect.Type, n int, p pattern) {
	if t.Kind() == reflect.Array {
		a.elems(a.field(i), p)
		return
	}
	a.pattern(i, t, n, p)
}
