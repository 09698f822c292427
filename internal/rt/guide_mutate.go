package rt

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"strconv"
)

// A place is a variable of an input that the search may set.
type place struct {
	v    reflect.Value
	kind placeKind
}

type placeKind int

const (
	boolPlace placeKind = iota
	intPlace
	floatPlace
	textPlace
	listPlace
	otherPlace // takes values that the domain knows
)

const (
	maxPlaces = 96
	maxPart   = 24      // elements of one list that are places themselves
	maxGrown  = 1 << 17 // length that the search grows a sequence to
	maxUsual  = 1 << 10 // the same where no operand asks for more
)

// places lists the variables of an input.
func (g *guidedSearch) places(p any) []place {
	var list []place
	g.collect(reflect.ValueOf(p).Elem(), 0, &list)
	return list
}

// collect lists the places of a value that a mutation may change, each with the kind of changes
// that suits it.
func (g *guidedSearch) collect(v reflect.Value, depth int, list *[]place) {
	if len(*list) >= maxPlaces || depth > 8 {
		return
	}
	v = reachable(v)
	t := v.Type()
	add := func(k placeKind) { *list = append(*list, place{v, k}) }
	// Types with a text form, and those of other packages, are only replaced as a whole.
	switch {
	case texted[t] != nil || closed(g.own, t) || special(t) != nil:
		add(otherPlace)
		return
	case isText(t):
		add(textPlace)
		return
	case v.CanInt() || v.CanUint():
		add(intPlace)
		return
	case v.CanFloat():
		add(floatPlace)
		return
	}
	// Lists are places themselves, for their length, and so are pointers, for nil.
	switch t.Kind() {
	case reflect.Bool:
		add(boolPlace)
	case reflect.Struct:
		for i := range v.NumField() {
			if t.Field(i).Name != "_" {
				g.collect(v.Field(i), depth+1, list)
			}
		}
	case reflect.Slice:
		add(listPlace)
		g.elements(v, depth, list)
	case reflect.Array:
		g.elements(v, depth, list)
	case reflect.Pointer:
		add(otherPlace)
		if !v.IsNil() {
			g.collect(v.Elem(), depth+1, list)
		}
	case reflect.Map, reflect.Interface, reflect.Complex64, reflect.Complex128:
		add(otherPlace)
	}
}

// elements collects the first elements and the last.
func (g *guidedSearch) elements(v reflect.Value, depth int, list *[]place) {
	for i := range v.Len() {
		if i < maxPart || i == v.Len()-1 {
			g.collect(v.Index(i), depth+1, list)
		}
	}
}

// mutant changes a copy of an input at one place or a few.
func (g *guidedSearch) mutant(k *keptInput) any {
	p := g.clone(k.args)
	// One in twelve takes a part of another input first.
	if g.rng.IntN(12) == 0 {
		g.cross(p)
	}
	for {
		list := g.places(p)
		if len(list) == 0 {
			return p
		}
		// Equal values elsewhere change along half of the time, since code may compare them.
		// Another round follows with probability one half.
		at := list[g.rng.IntN(len(list))]
		twins := g.twins(list, at)
		g.change(at, k, list)
		for _, w := range twins {
			w.v.Set(at.v)
		}
		if g.rng.IntN(2) == 0 {
			return p
		}
	}
}

// twins returns the places that are equal to one and must stay so: half the time, what was equal
// remains equal.
func (g *guidedSearch) twins(list []place, at place) []place {
	if at.kind == listPlace || at.kind == otherPlace || g.rng.IntN(2) == 0 {
		return nil
	}
	var out []place
	for _, w := range list {
		if w.kind == at.kind && w.v.Type() == at.v.Type() && w.v != at.v && w.v.Kind() != reflect.Slice &&
			w.v.Equal(at.v) {
			out = append(out, w)
		}
	}
	return out
}

// cross takes some parameters from another input.
func (g *guidedSearch) cross(p any) {
	v := reflect.ValueOf(p).Elem()
	o := reflect.ValueOf(g.clone(g.kept[g.rng.IntN(len(g.kept))].args)).Elem()
	for i := range v.NumField() {
		if g.rng.IntN(2) == 0 {
			reachable(v.Field(i)).Set(reachable(o.Field(i)))
		}
	}
}

// change mutates a place, in the way of its kind. A change that would make a text too long is
// dropped.
func (g *guidedSearch) change(at place, k *keptInput, list []place) {
	switch at.kind {
	case boolPlace:
		at.v.SetBool(!at.v.Bool())
	case intPlace:
		setBitsOf(at.v, g.number(bitsOf(at.v), k, list))
	case floatPlace:
		at.v.SetFloat(oneNaN(g.float(at.v.Float(), k)))
	case textPlace:
		if b := g.text(textOf(at.v), k, list); len(b) <= g.capLen {
			setText(at.v, b)
		}
	case listPlace:
		g.list(at.v)
	default:
		g.set(at.v)
	}
}

// set takes a value of the domain.
func (g *guidedSearch) set(v reflect.Value) {
	values := g.values(v.Type(), 40, 1)
	w := reflect.New(v.Type()).Elem()
	w.Set(values[g.rng.IntN(len(values))])
	v.Set(w)
}

func bitsOf(v reflect.Value) uint64 {
	if v.CanInt() {
		return uint64(v.Int())
	}
	return v.Uint()
}

// setBitsOf stores as many bits as fit.
func setBitsOf(v reflect.Value, n uint64) {
	if v.CanInt() {
		shift := 64 - v.Type().Bits()
		v.SetInt(int64(n<<shift) >> shift)
	} else {
		shift := 64 - v.Type().Bits()
		v.SetUint(n << shift >> shift)
	}
}

func textOf(v reflect.Value) []byte {
	if v.Kind() == reflect.String {
		return []byte(v.String())
	}
	return bytes.Clone(v.Bytes())
}

// number draws another number: near, with one bit changed, negated, like another place or its
// length, drawn freely, or from a comparison that the input took part in. A constant of the code is
// the rest.
func (g *guidedSearch) number(n uint64, k *keptInput, list []place) uint64 {
	switch g.rng.IntN(9) {
	case 0:
		return n + 1
	case 1:
		return n - 1
	case 2:
		return n + uint64(g.rng.IntN(64)) - 32
	case 3:
		return n ^ 1<<g.rng.IntN(64)
	case 4:
		return -n
	case 5:
		if w := list[g.rng.IntN(len(list))]; w.kind == intPlace {
			return bitsOf(w.v) + uint64(g.rng.IntN(3)) - 1
		} else if w.kind == textPlace || w.kind == listPlace {
			return uint64(w.v.Len()) + uint64(g.rng.IntN(3)) - 1
		}
	case 6:
		return g.rng.Uint64() >> g.rng.IntN(64)
	case 7:
		if len(k.pairs) > 0 {
			// Besides the two sides, their difference may be what has to be added.
			p := &k.pairs[g.rng.IntN(len(k.pairs))]
			if p.kind == pairInt {
				return []uint64{p.x, p.y, n + p.y - p.x, n + p.x - p.y}[g.rng.IntN(4)]
			}
		}
	}
	return uint64(g.ints[g.rng.IntN(len(g.ints))])
}

// float draws another float: a neighbour, the opposite, twice as much, another bit, or one that was
// compared with. Otherwise it is a value of the domain.
func (g *guidedSearch) float(f float64, k *keptInput) float64 {
	switch g.rng.IntN(7) {
	case 0:
		return f + 1
	case 1:
		return -f
	case 2:
		return f * 2
	case 3:
		return math.Nextafter(f, math.Inf(1-2*g.rng.IntN(2)))
	case 4:
		return math.Float64frombits(math.Float64bits(f) ^ 1<<g.rng.IntN(64))
	case 5:
		if len(k.pairs) > 0 {
			if p := &k.pairs[g.rng.IntN(len(k.pairs))]; p.kind == pairFloat {
				return math.Float64frombits([]uint64{p.x, p.y}[g.rng.IntN(2)])
			}
		}
	}
	// A draw that has nothing to choose from comes here too.
	list := g.values(reflect.TypeOf(f), 64, 1)
	return list[g.rng.IntN(len(list))].Float()
}

// list changes the elements of a list.
func (g *guidedSearch) list(v reflect.Value) {
	n, t := v.Len(), v.Type()
	out := reflect.MakeSlice(t, 0, n+1)
	// Draw one way to change the list: add, leave out, repeat, copy, swap, shuffle, double or cut.
	// An empty list can only grow.
	switch op := g.rng.IntN(9); {
	// A new element goes in anywhere.
	case n == 0 || op == 0:
		e := reflect.New(t.Elem()).Elem()
		g.set(e)
		i := g.rng.IntN(n + 1)
		out = reflect.AppendSlice(reflect.Append(reflect.AppendSlice(out, v.Slice(0, i)), e), v.Slice(i, n))
	case op == 1: // leave out
		i := g.rng.IntN(n)
		j := i + 1 + g.rng.IntN(min(n-i, 4))
		out = reflect.AppendSlice(reflect.AppendSlice(out, v.Slice(0, i)), v.Slice(j, n))
	case op == 2 || op == 3: // the same element, or a run of them, once more at a distance
		i := g.rng.IntN(n)
		j := i + 1
		if op == 3 {
			j = i + 1 + g.rng.IntN(n-i)
		}
		at := g.rng.IntN(n + 1)
		out = reflect.AppendSlice(reflect.AppendSlice(reflect.AppendSlice(out, v.Slice(0, at)), v.Slice(i, j)),
			v.Slice(at, n))
	case op == 4: // one in place of another
		out = reflect.AppendSlice(out, v)
		out.Index(g.rng.IntN(n)).Set(v.Index(g.rng.IntN(n)))
	case op == 5:
		out = reflect.AppendSlice(out, v)
		reflect.Swapper(out.Interface())(g.rng.IntN(n), g.rng.IntN(n))
	case op == 6:
		out = reflect.AppendSlice(out, v)
		g.rng.Shuffle(n, reflect.Swapper(out.Interface()))
	case op == 7:
		out = g.resized(v, n*2)
	default:
		if g.rng.IntN(2) == 0 {
			v.Set(reflect.Zero(t))
			return
		}
		out = reflect.AppendSlice(out, v.Slice(0, g.rng.IntN(n)))
	}
	// A list beyond the usual length is dropped, because every later step would pay for it.
	if out.Len() <= min(maxUsual, g.capLen) {
		v.Set(out)
	}
}

// resized has n elements: those of v, again and again.
func (g *guidedSearch) resized(v reflect.Value, n int) reflect.Value {
	out := reflect.MakeSlice(v.Type(), n, n)
	if v.Len() == 0 {
		e := reflect.New(v.Type().Elem()).Elem()
		g.set(e)
		v = reflect.Append(v, e)
	}
	for i := 0; i < n; i += v.Len() {
		reflect.Copy(out.Slice(i, n), v)
	}
	return out
}

// text changes a text.
func (g *guidedSearch) text(b []byte, k *keptInput, list []place) []byte {
	n := len(b)
	if n == 0 {
		return g.piece(k, list)
	}
	// Most changes concern a stretch from i to j, or a place at. Short stretches are the likelier
	// ones.
	i := g.rng.IntN(n)
	j := i + 1 + g.rng.IntN(min(n-i, 1<<g.rng.IntN(6)))
	at := g.rng.IntN(n + 1)
	// Single bytes change first; then stretches move, and pieces from elsewhere come in.
	switch g.rng.IntN(16) {
	case 0:
		b[i] = byte(g.rng.Uint32())
	case 1:
		b[i] ^= 1 << g.rng.IntN(8)
	case 2:
		b[i] += byte(1 - 2*g.rng.IntN(2))
	case 3:
		b[i] = b[g.rng.IntN(n)]
	case 4: // leave out
		return append(b[:i:i], b[j:]...)
	case 5: // once more, elsewhere
		return insert(b, at, at, b[i:j])
	case 6: // exchange for a piece
		return insert(b, i, j, g.piece(k, list))
	case 7, 8: // put in a piece
		return insert(b, at, at, g.piece(k, list))
	case 9: // write over with a piece
		s := g.piece(k, list)
		return insert(b, i, min(i+len(s), n), s)
	case 10:
		if 2*n <= maxUsual {
			return append(b, b...)
		}
		return b[:i]
	case 11:
		return b[i:j]
	case 12: // one byte again and again
		return insert(b, i, j, bytes.Repeat(b[i:i+1], 1<<g.rng.IntN(8)))
	case 13: // two bytes in the same way, which keeps their difference
		mask, other := byte(1)<<g.rng.IntN(8), (i+1)%n
		if g.rng.IntN(4) == 0 {
			other = g.rng.IntN(n)
		}
		b[i] ^= mask
		b[other] ^= mask
	case 14: // two bytes in opposite ways, which keeps their sum
		d, other := byte(g.rng.IntN(64)), (i+1)%n
		b[i] += d
		b[other] -= d
	default:
		s := g.piece(k, list)
		return insert(b, i, min(i+1, n), s[:min(1, len(s))])
	}
	return b
}

func insert(b []byte, i, j int, s []byte) []byte {
	out := make([]byte, 0, len(b)+len(s))
	return append(append(append(out, b[:i]...), s...), b[j:]...)
}

// piece returns a short text: a letter or constant of the versions, an operand that they compared,
// a text from elsewhere in the input, or a number.
func (g *guidedSearch) piece(k *keptInput, list []place) []byte {
	switch g.rng.IntN(7) {
	case 0, 1:
		return []byte(g.letters[g.rng.IntN(len(g.letters))])
	case 2:
		if len(g.strings) > 0 {
			return []byte(g.strings[g.rng.IntN(len(g.strings))])
		}
	case 3:
		if len(k.pairs) > 0 {
			p := &k.pairs[g.rng.IntN(len(k.pairs))]
			if p.kind == pairText {
				return bytes.Clone(p.ys[:p.ny])
			}
			return encodings(p.y)[g.rng.IntN(7)]
		}
	case 4:
		if w := list[g.rng.IntN(len(list))]; w.kind == textPlace && w.v.Len() > 0 {
			b := textOf(w.v)
			i := g.rng.IntN(len(b))
			return b[i : i+1+g.rng.IntN(min(len(b)-i, 16))]
		}
	case 5:
		return strconv.AppendInt(nil, g.ints[g.rng.IntN(len(g.ints))], 10)
	}
	n := g.rng.IntN(256)
	return []byte{byte(n)}
}

// encodings returns the ways to write a number in a text, in the same order for all numbers.
func encodings(n uint64) [][]byte {
	le, be := binary.LittleEndian, binary.BigEndian
	return [][]byte{
		{byte(n)}, strconv.AppendInt(nil, int64(n), 10), []byte(string(rune(min(n, 0x110000)))),
		le.AppendUint32(nil, uint32(n)), be.AppendUint32(nil, uint32(n)), le.AppendUint16(nil, uint16(n)),
		be.AppendUint16(nil, uint16(n)),
		le.AppendUint64(nil, n), be.AppendUint64(nil, n), strconv.AppendUint(nil, n, 16),
	}
}

// oneNaN maps all values that are not a number to one. The compiler chooses which of two an
// addition returns, so their bits say nothing.
func oneNaN(f float64) float64 {
	if f != f {
		return math.NaN()
	}
	return f
}
