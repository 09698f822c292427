package rt

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// maxSweep bounds the lengths that are all tried: beyond the tails of any unrolled loop and
// beyond most corpora.
const maxSweep = 300

// lengths gives each sequence every length from 0 to 300, filled in different
// ways, and all sequences together the same length.
func (x *exhauster) lengths(yield func() bool) {
	rng := rand.New(rand.NewPCG(x.q.Seed, 3))
	sequences := 0
	x.args.each(isSequence, func(int, reflect.Type) bool { sequences++; return true })
	// All ways of one length come before the next length, so that an end of the budget cuts off the
	// longest.
	for n := 0; n <= maxSweep && n <= x.capLen && sequences > 0; n++ {
		for way := range distinct + 1 {
			ok := true
			x.args.each(isSequence, func(i int, t reflect.Type) bool {
				x.args.base((n + way) % x.args.bases)
				x.args.fill(i, t, n, way, rng)
				ok = !x.small() || yield()
				x.pace.note(n, x.check.took)
				return ok
			})
			// Lengths that agree may matter, too.
			if ok && sequences > 1 {
				x.args.base(0)
				x.args.each(isSequence, func(i int, t reflect.Type) bool {
					x.args.fill(i, t, n, way, rng)
					return true
				})
				ok = yield()
			}
			// The original got slow: later phases stop at this length.
			if !ok {
				if x.check.took > slowCase {
					x.capLen = n
				}
				return
			}
		}
	}
}

// farLengths are the lengths beyond the sweep: around the sizes of blocks and buffers.
var farLengths = []int{301, 400, 511, 512, 513, 700, 1000, 1023, 1024, 1025, 1500, 2000, 2047, 2048, 2049, 3000, 4000,
	4095, 4096, 4097,
	5000, 8000, 8191, 8192, 8193, 10000, 16384, 20000, 32767, 32768, 32769, 50000, 65535, 65536, 65537, 100001}

// long gives each sequence lengths far beyond the corpus's, until the original
// gets slow.
func (x *exhauster) long(yield func() bool) {
	rng := rand.New(rand.NewPCG(x.q.Seed, 4))
	// A length that was too slow before is not tried again.
	for _, n := range farLengths {
		if n > x.capLen {
			return
		}
		for _, way := range []int{0, 1, 2, 3, distinct} {
			ok := true
			x.args.each(isSequence, func(i int, t reflect.Type) bool {
				if ok = !x.late(); !ok {
					x.cut = true
					return false
				}
				x.args.base((n + way) % x.args.bases)
				x.args.fill(i, t, n, way, rng)
				ok = !x.small() || yield()
				return ok
			})
			if !ok {
				return
			}
		}
	}
}

// fill makes a sequence of n elements: 0 and 1 of one element, 2 from the
// record in place, 3 drawn from all, 4 the same in order, 5 drawn from three,
// distinct no two alike: small tables that stand for sets overflow on nothing
// else.
func (a *arguments) fill(i int, t reflect.Type, n, way int, rng *rand.Rand) {
	// Texts have their own ways.
	if isText(t) {
		setText(a.field(i), a.text(a.field(i), n, way, rng))
		return
	}
	// With the fifth way only three elements occur.
	from := a.elements(t.Elem())
	if way == 5 {
		k := rng.IntN(len(from))
		from = []reflect.Value{from[k], from[(k+1)%len(from)], from[len(from)-1]}
	}
	// Some lists get room behind their end.
	old := a.field(i)
	room := 0
	if way == 3 {
		room = n % 9
	}
	s := reflect.MakeSlice(t, n, n+room)
	// Draw the elements in advance, so that they can be sorted.
	picks := make([]int, n)
	for k := range picks {
		picks[k] = rng.IntN(len(from))
	}
	if way == 4 {
		sortInts(picks)
	}
	for k := range n {
		// A list without elements in place falls back to drawn ones, and so does a type that has no
		// numbers.
		switch {
		case way < 2:
			s.Index(k).Set(from[way*(len(from)-1)])
		case way == 2 && old.Len() > 0:
			s.Index(k).Set(old.Index(k % old.Len()))
		case way == distinct && numbered(s.Index(k), k*stride):
		default:
			s.Index(k).Set(from[picks[k]])
		}
	}
	a.field(i).Set(s)
}

const (
	distinct = 6
	stride   = 7919 // a prime, so that numbers are not dense
)

// numbered sets an element to a value that the number decides alone.
func numbered(v reflect.Value, n int) bool {
	switch {
	case v.Kind() == reflect.String:
		v.SetString("k" + strconv.Itoa(n))
	case v.CanInt() && !v.OverflowInt(int64(n)):
		v.SetInt(int64(n))
	case v.CanUint() && !v.OverflowUint(uint64(n)):
		v.SetUint(uint64(n))
	case v.CanFloat():
		v.SetFloat(float64(n) / 7) // sums of these are rounded, so that their order shows
	default:
		return false
	}
	return true
}

// text makes n bytes.
func (a *arguments) text(old reflect.Value, n, way int, rng *rand.Rand) []byte {
	// The record's own text is the pattern of the second way.
	b := make([]byte, 0, n+3)
	var was []byte
	if old.Kind() == reflect.String {
		was = []byte(old.String())
	} else {
		was = old.Bytes()
	}
	three := rng.IntN(len(a.letters))
	// Append letters or pieces until there are enough bytes. The last one is cut to fit.
	for len(b) < n {
		switch {
		case way == 0:
			b = append(b, "a"...)
		case way == 1:
			b = append(b, a.letters[n%len(a.letters)]...)
		case way == 2 && len(was) > 0:
			b = append(b, was...)
		case way == 5:
			b = append(b, a.letters[(three+rng.IntN(3))%len(a.letters)]...)
		case way == 4 && rng.IntN(8) > 0:
			b = append(b, "a"...)
		default:
			b = append(b, a.letters[rng.IntN(len(a.letters))]...)
		}
	}
	return b[:n]
}

// wordLengths are the lengths into which single bytes are put: around the widths of
// unrolled loops and of words.
var wordLengths = []int{9, 1, 17, 33, 2, 3, 4, 5, 7, 8, 12, 15, 16, 24, 31, 32, 40, 63, 64, 65, 100, 129}

// words makes texts end in eight times the same byte, each byte in turn: a wrong mask over a word
// may accept eight equal bytes and still reject one of them among others.
func (x *exhauster) words(yield func() bool) bool {
	const word = 8
	for _, n := range []int{word, 2 * word} {
		for b := range 256 {
			ok := true
			x.args.each(isText, func(i int, t reflect.Type) bool {
				x.args.base(0)
				text := x.args.text(x.args.field(i), n, 0, rand.New(rand.NewPCG(1, 1)))
				copy(text[n-word:], bytes.Repeat([]byte{byte(b)}, word))
				setText(x.args.field(i), text)
				ok = x.unless(n > x.capLen, yield)
				return ok
			})
			if !ok {
				return false
			}
		}
	}
	return true
}

// bytes puts every byte value at telling positions of ordinary text.
func (x *exhauster) bytes(yield func() bool) {
	if !x.words(yield) {
		return
	}
	// Texts of several lengths around, with the base's own content or plain letters: each value
	// goes to each telling place.
	for _, n := range wordLengths {
		for k := range x.args.bases {
			ok := true
			x.args.each(isText, func(i int, t reflect.Type) bool {
				x.args.base(k)
				way := 2
				if k == 0 {
					way = 0
				}
				text := x.args.text(x.args.field(i), n, way, rand.New(rand.NewPCG(1, 1)))
				ok = x.inject(i, text, positions(len(text)), yield)
				return ok
			})
			if !ok {
				return
			}
		}
	}
	for k := 1; k < x.args.bases; k++ { // the records themselves
		ok := true
		x.args.each(isText, func(i int, t reflect.Type) bool {
			x.args.base(k)
			f := x.args.field(i)
			text := x.args.text(f, min(f.Len(), 4096), 2, rand.New(rand.NewPCG(1, 1)))
			ok = x.inject(i, text, positions(len(text)), yield)
			return ok
		})
		if !ok {
			return
		}
	}
}

// oddWords makes texts end in a word of seven letters alike and one other byte,
// each in turn, at that end of the word where a sum over it carries out or in: a
// comparison of whole words that is wrong may hold for nothing else.
func (x *exhauster) oddWords(yield func() bool) {
	const word = 8
	if 2*word > x.capLen {
		return
	}
	x.args.each(isText, func(i int, t reflect.Type) bool {
		// Only single bytes are letters of a word.
		for _, l := range x.args.letters {
			if len(l) != 1 {
				continue
			}
			x.args.base(0)
			text := x.args.text(x.args.field(i), 2*word, 0, rand.New(rand.NewPCG(1, 1)))
			copy(text[word:], strings.Repeat(l, word))
			if !x.inject(i, text, []int{word, 2*word - 1}, yield) {
				return false
			}
		}
		return true
	})
}

// inject puts every byte value at positions of a text in turn.
func (x *exhauster) inject(i int, text []byte, at []int, yield func() bool) bool {
	if len(text) > x.capLen {
		x.pass(256 * len(at))
		return true
	}
	for _, at := range at {
		was := text[at]
		for b := range 256 {
			text[at] = byte(b)
			setText(x.args.field(i), text)
			if !yield() {
				return false
			}
		}
		text[at] = was
	}
	return true
}

// positions returns the ends, the middle, and one of each remainder modulo 8.
func positions(n int) []int {
	var list []int
	for _, p := range []int{0, n - 1, n / 2, 1, n - 2, n/2 + 1, n/2 + 2, n/2 + 3, n - 3, n - 4, n - 5, 7, 8} {
		if p >= 0 && p < n && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// allWords enumerates the words over the whole alphabet, and every word of one
// and two bytes, by length.
func (x *exhauster) allWords(yield func() bool) {
	// All texts of one and two bytes come first: there are 65,792 of them.
	ok := true
	x.args.each(isText, func(i int, t reflect.Type) bool {
		x.args.base(0)
		if ok = x.inject(i, make([]byte, 1), []int{0}, yield); !ok {
			return false
		}
		for first := range 256 {
			pair := []byte{byte(first), 0}
			for second := range 256 {
				pair[1] = byte(second)
				setText(x.args.field(i), pair)
				if ok = yield(); !ok {
					return false
				}
			}
		}
		return true
	})
	if !ok {
		return
	}
	// Then longer words over the alphabet.
	x.spell(func(int) []string { return x.args.letters }, func(t reflect.Type) []reflect.Value {
		return x.args.elements(t)
	}, yield)
}

// classWords enumerates longer words over one letter for each class: letters
// that the original treats alike count once.
func (x *exhauster) classWords(yield func() bool) {
	x.spell(x.classes, func(t reflect.Type) []reflect.Value {
		all := x.args.elements(t)
		return all[:min(len(all), 3)]
	}, yield)
}

// spell enumerates words by length: all fields' words of one length before any
// longer one.
func (x *exhauster) spell(
	letters func(i int) []string, elems func(reflect.Type) []reflect.Value, yield func() bool,
) {
	longest := x.q.Words
	if longest == 0 {
		// The budget usually ends before words of nine letters.
		longest = 9
	}
	// The letters and elements do not change, so find them once.
	texts, lists := map[int][]string{}, map[int][]reflect.Value{}
	x.args.each(isSequence, func(i int, t reflect.Type) bool {
		if isText(t) {
			texts[i] = letters(i)
		} else {
			lists[i] = elems(t.Elem())
		}
		return true
	})
	// All words of a length come before longer ones, in each field in turn.
	for n := 0; n <= longest; n++ {
		ok := true
		x.args.each(isSequence, func(i int, t reflect.Type) bool {
			x.args.base(0)
			if isText(t) {
				ok = x.args.textWords(i, n, texts[i], yield)
			} else {
				ok = x.args.listWords(i, t, n, lists[i], yield)
			}
			return ok
		})
		if !ok {
			return
		}
	}
}

func (a *arguments) textWords(i, n int, letters []string, yield func() bool) bool {
	buf := make([]byte, 0, 4*n)
	return odometer(n, len(letters), func(digits []int) bool {
		buf = buf[:0]
		for _, d := range digits {
			buf = append(buf, letters[d]...)
		}
		setText(a.field(i), buf)
		return yield()
	})
}

func (a *arguments) listWords(i int, t reflect.Type, n int, elems []reflect.Value, yield func() bool) bool {
	return odometer(n, len(elems), func(digits []int) bool {
		s := reflect.MakeSlice(t, n, n)
		for k, d := range digits {
			s.Index(k).Set(elems[d])
		}
		a.field(i).Set(s)
		return yield()
	})
}

// odometer counts through all words of n digits.
func odometer(n, base int, f func(digits []int) bool) bool {
	digits := make([]int, n)
	for {
		if !f(digits) {
			return false
		}
		i := n - 1
		for ; i >= 0; i-- {
			if digits[i]++; digits[i] < base {
				break
			}
			digits[i] = 0
		}
		if i < 0 {
			return true
		}
	}
}

// maxClasses bounds the alphabet of the long words.
const maxClasses = 8

// classes picks one letter for each way in which the original treats letters: alone, after and
// before an ordinary letter.
func (x *exhauster) classes(i int) []string {
	var list []string
	seen := map[string]bool{}
	for _, l := range x.args.letters {
		if len(list) == maxClasses {
			break
		}
		if s := x.treatment(i, l); !seen[s] {
			seen[s] = true
			list = append(list, l)
		}
	}
	return list
}

// treatment returns how the original treats a letter, as a text that is equal for letters that it
// treats alike: the outcomes of four short words, with the letter itself left out.
func (x *exhauster) treatment(i int, letter string) string {
	var all []byte
	for _, word := range []string{letter, "a" + letter, letter + "a", letter + letter} {
		x.args.base(0)
		setText(x.args.field(i), []byte(word))
		if !x.stand.keeps() {
			all = append(all, "outside|"...)
			continue
		}
		x.stand.original((x.phase + 1) << caseShift)
		if p := x.stand.panicked(); p != nil {
			all = append(all, p.text...)
			continue
		}
		snap, err := x.stand.snapshot()
		if err != nil {
			continue
		}
		all = append(all, bytes.ReplaceAll(snap, []byte(letter), []byte("?"))...)
		all = append(all, '|')
	}
	return string(all)
}
