package corpus

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
)

// relations hold between the parameters of a call: an index lies below a length, a buffer is as
// long as the data that goes into it, a key is one of a list. Parameters that are drawn one by one
// make calls that no caller makes. relations mines the relations between the arguments of the
// recorded calls, and restores them in drawn ones. The idea of keeping only properties that hold
// over all observed values is Daikon's.
type relations struct {
	rng *rand.Rand
	// orders are relations between numbers and lengths that hold in nearly all
	// recorded calls.
	orders []order
	places int
}

// An order is a relation between two places of an argument tuple.
type order struct {
	a, b int
	comparison
}

// A comparison compares the measure of one place with that of another: the value of
// a number, the length of anything else.
type comparison int

const (
	same   comparison = iota // a == b
	less                     // a < b
	atMost                   // a <= b
)

// oftenShare is the share of the recorded calls in which an order must hold.
const (
	oftenShare  = 0.95
	minEvidence = 8
	maxPlaces   = 12
)

// mineRelations finds the order relations between parts of a record that hold in nearly all
// records.
func mineRelations(records []rt.Value, weights []float64, rng *rand.Rand) *relations {
	r := &relations{rng: rng}
	if len(records) < minEvidence {
		return r
	}
	r.places = len(placesOf(&records[0]))
	counts := map[order]float64{}
	total := 0.0
	differ := map[[2]int]bool{} // pairs whose measures are not always the same
	for i := range records {
		places := placesOf(&records[i])
		if len(places) != r.places {
			return &relations{rng: rng} // a shape of its own for each call: nothing to compare
		}
		total += weights[i]
		for a := range places {
			for b := range places {
				if a == b || refers(places[a]) || refers(places[b]) {
					continue
				}
				x, y := measure(places[a]), measure(places[b])
				for _, c := range []comparison{same, less, atMost} {
					if c.holds(x, y) {
						counts[order{a, b, c}] += weights[i]
					}
				}
				if x != y {
					differ[[2]int{a, b}] = true
				}
			}
		}
	}
	for o, n := range counts {
		if n < oftenShare*total || o.comparison == same && o.a > o.b || o.comparison == atMost && !differ[[2]int{o.a,
			o.b}] {
			continue
		}
		if o.comparison == atMost && counts[order{o.a, o.b, less}] >= oftenShare*total {
			continue // the stricter one holds
		}
		r.orders = append(r.orders, o)
	}
	inorder.By(r.orders, func(x, y order) int {
		return (x.a-y.a)*100 + (x.b-y.b)*10 + int(x.comparison-y.comparison)
	})
	return r
}

func (c comparison) holds(x, y int64) bool {
	switch c {
	case same:
		return x == y
	case less:
		return x < y
	}
	return x <= y
}

// placesOf lists the numbers, texts and lists of an argument tuple, nil ones
// among them: its parameters, and the fields of open structs.
func placesOf(v *rt.Value) (out []*rt.Value) {
	var walk func(v *rt.Value, depth int)
	walk = func(v *rt.Value, depth int) {
		if len(out) == maxPlaces {
			return
		}
		switch v.Kind {
		case rt.KindInt, rt.KindUint, rt.KindString, rt.KindBytes, rt.KindList, rt.KindMap, rt.KindNil:
			out = append(out, v)
		case rt.KindStruct:
			if depth < 2 && !hasHiddenFields(v) {
				for i := range v.Elems {
					walk(&v.Elems[i], depth+1)
				}
			}
		case rt.KindPointer:
			if depth < 2 && len(v.Elems) == 1 {
				walk(&v.Elems[0], depth+1)
			}
		}
	}
	for i := range v.Elems {
		walk(&v.Elems[i], 0)
	}
	return out
}

func isNumber(v *rt.Value) bool { return v.Kind == rt.KindInt || v.Kind == rt.KindUint }
func isText(v *rt.Value) bool   { return v.Kind == rt.KindString || v.Kind == rt.KindBytes }

func measure(v *rt.Value) int64 {
	switch {
	case isNumber(v):
		return v.Int()
	case isText(v):
		return int64(len(v.Str))
	case v.Kind == rt.KindMap:
		return int64(len(v.Elems) / 2)
	}
	return int64(len(v.Elems))
}

// A tie is a relation between the contents of two places of one call: the
// second is the first, or a part of it.
type tie struct {
	a, b int
	part // of a, that b is
	at   int
}

type part int

const (
	partWhole part = iota
	partHead
	partTail
	partInside
	partElement
)

// ties lists how contents belong together in one call. A value that is the same
// by accident (an empty text, a small number) ties nothing.
func ties(v *rt.Value) (out []tie) {
	places := placesOf(v)
	for a, x := range places {
		for b, y := range places {
			if a == b || refers(x) || refers(y) {
				continue
			}
			switch {
			// One text equals the other, or is a part of it.
			case isText(x) && isText(y) && len(y.Str) > 0:
				switch at := strings.Index(x.Str, y.Str); {
				case x.Str == y.Str:
					if a < b {
						out = append(out, tie{a, b, partWhole, 0})
					}
				case at == 0:
					out = append(out, tie{a, b, partHead, 0})
				case strings.HasSuffix(x.Str, y.Str):
					out = append(out, tie{a, b, partTail, 0})
				case at > 0:
					out = append(out, tie{a, b, partInside, at})
				}
			// Two lists are equal.
			case x.Kind == rt.KindList && y.Kind == rt.KindList && len(x.Elems) > 0 &&
				len(x.Elems) == len(y.Elems) && a < b:
				if string(x.Append(nil)) == string(y.Append(nil)) {
					out = append(out, tie{a, b, partWhole, 0})
				}
			// A text is an element of a list.
			case x.Kind == rt.KindList && isText(y):
				if i := slices.IndexFunc(x.Elems, func(e rt.Value) bool {
					return e.Kind == y.Kind && e.Str == y.Str
				}); i >= 0 {
					out = append(out, tie{a, b, partElement, i})
				}
			}
		}
	}
	return out
}

// restore makes a drawn tuple keep the ties of the call that it was drawn from,
// and the orders of all. It reports whether it could.
func (r *relations) restore(v *rt.Value, ties []tie) bool {
	places := placesOf(v)
	if r.places > 0 && len(places) != r.places {
		return false
	}
	for _, t := range ties {
		if t.a < len(places) && t.b < len(places) {
			t.restore(places[t.a], places[t.b])
		}
	}
	for range 2 { // one repair may undo another
		for _, o := range r.orders {
			r.enforce(o, places[o.a], places[o.b])
		}
	}
	return r.keeps(places)
}

func (r *relations) keeps(places []*rt.Value) bool {
	for _, o := range r.orders {
		if !o.holds(measure(places[o.a]), measure(places[o.b])) {
			return false
		}
	}
	return true
}

func (t tie) restore(a, b *rt.Value) {
	n := len(b.Str)
	switch t.part {
	case partWhole:
		kind, spare := b.Kind, b.Spare
		*b = a.Clone()
		b.Kind, b.Spare = kind, spare
	case partHead:
		b.Str = a.Str[:min(n, len(a.Str))]
	case partTail:
		b.Str = a.Str[max(len(a.Str)-n, 0):]
	case partInside:
		at := min(t.at, len(a.Str))
		b.Str = a.Str[at:min(at+n, len(a.Str))]
	case partElement:
		if t.at < len(a.Elems) && a.Elems[t.at].Kind == b.Kind {
			b.Str = a.Elems[t.at].Str
		}
	}
}

// enforce repairs one order: it changes a number before a length, and shortens
// rather than lengthens.
func (r *relations) enforce(o order, a, b *rt.Value) {
	x, y := measure(a), measure(b)
	if o.holds(x, y) {
		return
	}
	most := y // that a may measure
	if o.comparison == less {
		most--
	}
	switch {
	case isNumber(a) && o.comparison == same:
		setNumber(a, y)
	case isNumber(b) && o.comparison == same:
		setNumber(b, x)
	case isNumber(a) && most >= 0 && !isNumber(b):
		setNumber(a, r.rng.Int64N(most+1))
	case isNumber(a):
		setNumber(a, most)
	case isNumber(b):
		setNumber(b, x+y-most)
	case o.comparison == same && x < y:
		shorten(b, x)
	case most >= 0:
		shorten(a, most)
	}
}

// setNumber stores a number, unless the type has no room for it. The encoding does not tell how
// wide a number is, so only observed values are safe.
func setNumber(v *rt.Value, n int64) {
	if n >= 0 || v.Kind == rt.KindInt {
		v.Bits = uint64(n)
	}
}

func shorten(v *rt.Value, n int64) {
	switch {
	case n < 0:
	case isText(v) && int(n) < len(v.Str):
		v.Str = v.Str[:n]
	case v.Kind == rt.KindList && int(n) < len(v.Elems):
		v.Elems = v.Elems[:n]
	}
}
