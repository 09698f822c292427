package rt

import (
	"bytes"
	"math"
	"reflect"
)

// Bounds of what match tries for one input.
const (
	maxPairs      = 192 // distinct pairs
	maxMatches    = 600 // inputs
	maxOccurrence = 12  // of one operand in one text
	maxDerived    = 300 // change of a length that an operand is less than
	maxComputed   = 32  // bytes of a text that an operand may be computed from
)

// match looks for the operands that an input's decisions compared in the input
// itself, and tries what happens when one operand is put in place of the
// other.
func (g *guidedSearch) match(k *keptInput) {
	// Call the input once more with the trace of comparisons on.
	beginRun(true)
	g.next++
	g.call(g.next&(1<<caseShift-1), g.clone(k.args))
	n := trace.pairs
	endRun()
	k.pairs = distinctPairs(trace.log[:n])
	// Large inputs get fewer tries, since each costs more.
	left := max(maxMatches*usualSize/(usualSize+k.size), 16)
	for i := range k.pairs {
		p := &k.pairs[i]
		both := trace.sites[p.site].sides&3 == 3
		if both && i > 24 && g.rng.IntN(4) > 0 {
			continue // the decision went both ways already
		}
		// Either side of a comparison may be the one that the input holds.
		for _, q := range []tracePair{*p, p.turned()} {
			g.matchPair(k, &q, &left)
			if left <= 0 || g.stopped() {
				return
			}
		}
	}
}

// distinctPairs leaves out pairs that repeat, such as those of a loop, by their values and by how
// their texts begin.
func distinctPairs(log []tracePair) []tracePair {
	type key struct {
		kind   uint8
		x, y   uint64
		xs, ys [8]byte
	}
	seen := map[key]bool{}
	var out []tracePair
	for i := range log {
		p := &log[i]
		k := key{p.kind, p.x, p.y, [8]byte(p.xs[:8]), [8]byte(p.ys[:8])}
		if !seen[k] && len(out) < maxPairs {
			seen[k] = true
			out = append(out, *p)
		}
	}
	return out
}

func (p *tracePair) turned() tracePair {
	q := *p
	q.x, q.y, q.xs, q.ys, q.nx, q.ny = p.y, p.x, p.ys, p.xs, p.ny, p.nx
	return q
}

// matchPair tries y wherever x occurs: everywhere at once, so that what was equal
// stays so, and at each place alone.
func (g *guidedSearch) matchPair(k *keptInput, p *tracePair, left *int) {
	places := g.places(k.args)
	// With one place only, this is what the loop below tries.
	if c := g.clone(k.args); g.everywhere(g.places(c), p) > 1 {
		*left--
		g.try(c)
	}
	// The places of a copy come in the same order, so that an index is enough to find one again.
	for i, at := range places {
		g.substitutes(at, p, func(set func(v reflect.Value)) bool {
			if *left--; *left < 0 || g.stopped() {
				return false
			}
			c := g.clone(k.args)
			set(g.places(c)[i].v)
			g.try(c)
			return true
		})
	}
}

// everywhere puts y in place of x at all places, and returns how many there are.
func (g *guidedSearch) everywhere(places []place, p *tracePair) (n int) {
	for _, at := range places {
		// A number, a length or a text: wherever x itself is found.
		switch {
		case at.kind == intPlace && p.kind == pairInt && bitsOf(at.v) == p.x:
			setBitsOf(at.v, p.y)
		case (at.kind == textPlace || at.kind == listPlace) && p.kind == pairInt && uint64(at.v.Len()) == p.x &&
			p.y <= uint64(g.capLen):
			g.resize(at.v, int(p.y))
		case at.kind == textPlace && p.kind == pairText && p.nx > 0 && bytes.Contains(textOf(at.v), p.xs[:p.nx]):
			setText(at.v, bytes.ReplaceAll(textOf(at.v), p.xs[:p.nx], p.ys[:p.ny]))
		default:
			continue
		}
		n++
	}
	return n
}

// substitutes yields the ways to put y at a place instead of x.
func (g *guidedSearch) substitutes(at place, p *tracePair, yield func(set func(reflect.Value)) bool) {
	switch {
	case at.kind == intPlace && p.kind == pairInt:
		g.otherInts(at, p, yield)
	case at.kind == floatPlace && p.kind == pairFloat:
		if x := math.Float64frombits(p.x); at.v.Float() == x {
			yield(func(v reflect.Value) { v.SetFloat(oneNaN(math.Float64frombits(p.y))) })
		}
	case at.kind == textPlace && p.kind == pairInt:
		if g.otherLengths(at, p, yield) {
			g.otherNumbers(textOf(at.v), p, yield)
		}
	case at.kind == textPlace && p.kind == pairText:
		g.otherTexts(textOf(at.v), p, yield)
	case at.kind == listPlace && p.kind == pairInt:
		g.otherLengths(at, p, yield)
	}
}

// otherInts puts y in place of x, and moves numbers that x was computed from.
func (g *guidedSearch) otherInts(at place, p *tracePair, yield func(func(reflect.Value)) bool) {
	n := bitsOf(at.v)
	list := append([]uint64{n + p.y - p.x, n + p.y - p.x + 1, n + p.y - p.x - 1, p.y}, otherFactors(n, p)...)
	for _, m := range list {
		if m != n && !yield(func(v reflect.Value) { setBitsOf(v, m) }) {
			return
		}
	}
}

// shifts are common shift counts of programs that cut numbers.
var shifts = []int{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 40, 48, 56}

// otherFactors returns the numbers that make x equal to y if x is n shifted, multiplied or divided.
func otherFactors(n uint64, p *tracePair) (list []uint64) {
	for _, s := range shifts {
		if n>>s == p.x {
			list = append(list, p.y<<s|n&(1<<s-1))
		}
	}
	if n > 1 && p.x > n && p.x%n == 0 {
		list = append(list, p.y/(p.x/n))
	}
	if p.x > 1 && n > p.x {
		list = append(list, p.y*(n/p.x), p.y*(n/p.x+1))
	}
	return list
}

// otherLengths gives a sequence the length that makes x equal to y, or next to
// it, if x may come from its length.
func (g *guidedSearch) otherLengths(at place, p *tracePair, yield func(func(reflect.Value)) bool) bool {
	n, x, y := at.v.Len(), int64(p.x), int64(p.y)
	// A length that is far from x, or becomes too large, is not where x came from.
	if x < 0 || y < 0 || x > int64(n) || y > maxGrown || x < int64(n) && max(y-x, x-y) > maxDerived {
		return true
	}
	// Compilers and programmers compare with one more or one less.
	for _, d := range []int64{0, 1, -1} {
		m := int64(n) + y - x + d
		if m < 0 || m > int64(g.capLen) || m == int64(n) {
			continue
		}
		if !yield(func(v reflect.Value) { g.resize(v, int(m)) }) {
			return false
		}
		// Longer texts are tried with other padding as well.
		if at.kind == textPlace && d >= 0 && m > int64(n) && !g.padded(textOf(at.v), int(m)-n, yield) {
			return false
		}
	}
	return true
}

// padded makes a text longer by letters that often mean nothing.
func (g *guidedSearch) padded(b []byte, n int, yield func(func(reflect.Value)) bool) bool {
	zeros, blanks := bytes.Repeat([]byte("0"), n), bytes.Repeat([]byte(" "), n)
	for _, out := range [][]byte{insert(b, 0, 0, zeros), insert(b, 0, 0, blanks), insert(b, len(b), len(b), blanks)} {
		if !yield(func(v reflect.Value) { setText(v, out) }) {
			return false
		}
	}
	return true
}

// resize cuts a sequence or repeats it.
func (g *guidedSearch) resize(v reflect.Value, n int) {
	if !isText(v.Type()) {
		v.Set(g.resized(v, n))
		return
	}
	b := textOf(v)
	if len(b) == 0 {
		b = []byte("a")
	}
	setText(v, bytes.Repeat(b, n/len(b)+1)[:n])
}

// otherNumbers replaces a number that stands in a text in some encoding.
func (g *guidedSearch) otherNumbers(b []byte, p *tracePair, yield func(func(reflect.Value)) bool) {
	// Look for one side of a comparison in all its encodings, and write the other side in its
	// place.
	from, to := encodings(p.x), encodings(p.y)
	for i := range from {
		// Leave out encodings that cannot hold the numbers, or that are the same as another one.
		switch {
		case i == 0 && (p.x > math.MaxUint8 || p.y > math.MaxUint8), i == 2 && p.x < 0x80 && p.y < 0x80,
			i > 2 && i < 9 && p.x < 256 && p.y < 256, i == 9 && bytes.Equal(from[1], from[9]):
			continue
		}
		if !g.exchange(b, from[i], to[i], maxOccurrence, yield) {
			return
		}
		for _, near := range []uint64{p.y + 1, p.y - 1} { // an operator other than == may want it
			if i < 7 && !g.exchange(b, from[i], encodings(near)[i], 2, yield) {
				return
			}
		}
	}
	if p.x <= 9 && p.y <= 9 { // a digit
		g.exchange(b, []byte{'0' + byte(p.x)}, []byte{'0' + byte(p.y)}, maxOccurrence, yield)
	}
	if other := p.x ^ 0x20; letter(other) && p.y <= math.MaxUint8 { // a letter of the other case
		g.exchange(b, []byte{byte(other)}, []byte{byte(p.y)}, maxOccurrence, yield)
	}
	// A byte that occurs nowhere may have been computed from another byte.
	if p.x <= math.MaxUint8 && p.y <= math.MaxUint8 && bytes.IndexByte(b, byte(p.x)) < 0 {
		g.otherBytes(b, p, yield)
	}
	// A number that occurs nowhere may have to be put in as a whole.
	if p.x == 0 || !bytes.Contains(b, from[1]) {
		g.newNumbers(b, to[1], yield)
	}
}

// newNumbers puts a number into a text: a compared value may have been 0 because no number stood
// there.
func (g *guidedSearch) newNumbers(b, number []byte, yield func(func(reflect.Value)) bool) {
	for i := range min(len(b)+1, maxOccurrence) {
		out := insert(b, i, i, number)
		if !yield(func(v reflect.Value) { setText(v, out) }) {
			return
		}
	}
}

// otherBytes changes each byte in turn as x must change to be y: x was computed
// from one of them.
func (g *guidedSearch) otherBytes(b []byte, p *tracePair, yield func(func(reflect.Value)) bool) {
	for i := range min(len(b), maxComputed) {
		for _, c := range []byte{b[i] + byte(p.y-p.x), b[i] - byte(p.y-p.x), b[i] ^ byte(p.x^p.y)} {
			out := bytes.Clone(b)
			out[i] = c
			if !yield(func(v reflect.Value) { setText(v, out) }) {
				return
			}
		}
	}
}

func letter(n uint64) bool { return 'a' <= n|0x20 && n|0x20 <= 'z' && n < 0x80 }

// exchange replaces the first occurrences of x, one at a time.
func (g *guidedSearch) exchange(b, x, y []byte, most int, yield func(func(reflect.Value)) bool) bool {
	for at, n := 0, 0; n < most; n++ {
		i := bytes.Index(b[at:], x)
		if i < 0 || len(x) == 0 {
			return true
		}
		at += i
		out := insert(b, at, at+len(x), y)
		if len(out) <= g.capLen && !yield(func(v reflect.Value) { setText(v, out) }) {
			return false
		}
		at++
	}
	return true
}

// otherTexts replaces a text by the one that it was compared with. A text that does not occur may
// have been cut out or changed first, so y is tried at the ends.
func (g *guidedSearch) otherTexts(b []byte, p *tracePair, yield func(func(reflect.Value)) bool) {
	x, y := bytes.Clone(p.xs[:p.nx]), bytes.Clone(p.ys[:p.ny])
	if len(x) > 0 && bytes.Contains(b, x) {
		g.exchange(b, x, y, maxOccurrence, yield)
	} else if low := bytes.ToLower(b); len(x) > 0 && len(low) == len(b) && bytes.Contains(low, bytes.ToLower(x)) {
		// The versions may have compared without regard to case.
		i := bytes.Index(low, bytes.ToLower(x))
		out := insert(b, i, i+len(x), y)
		if !yield(func(v reflect.Value) { setText(v, out) }) {
			return
		}
	}
	n := min(len(y), len(b))
	for _, out := range [][]byte{y, insert(b, 0, n, y), insert(b, len(b)-n, len(b), y), insert(b, 0, 0, y),
		insert(b, len(b), len(b), y), insert(b, len(b)/2, len(b)/2, y)} {
		if len(out) <= g.capLen && !bytes.Equal(out, b) && !yield(func(v reflect.Value) { setText(v, out) }) {
			return
		}
	}
}
