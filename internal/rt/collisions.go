package rt

import (
	"bytes"
	"reflect"
)

// Code that compares hashes instead of strings is right on all strings but those with equal
// hashes. Some of these are known.

// collided puts each pair of strings with one hash into the texts and lists.
func (x *exhauster) collided(yield func() bool) {
	for _, pair := range collisions {
		if !x.pairInLists(pair, yield) || !x.pairInTexts(pair, yield) || !x.pairInParameters(pair, yield) {
			return
		}
	}
}

// pairInLists makes lists with both, near each other and far apart.
func (x *exhauster) pairInLists(pair [2]string, yield func() bool) bool {
	ok := true
	x.args.each(isSeries, func(i int, t reflect.Type) bool {
		if t.Kind() != reflect.Slice {
			return true
		}
		// Places 0 and 1 hold the two texts, and all others different ones: neighbours, repeated,
		// and with others in between.
		for _, places := range [][]int{{0, 1}, {1, 0}, {0, 1, 0, 1}, {2, 0, 2, 1}, {0, 2, 3, 4, 5, 6, 7, 8, 1, 9}} {
			x.args.base(0)
			s := reflect.MakeSlice(t, len(places), len(places))
			for k, place := range places {
				if place < 2 && !worded(s.Index(k), x.args.home, pair[place], 0) {
					return true // there is no text in its elements
				}
				if place >= 2 {
					worded(s.Index(k), x.args.home, "other"+string(rune('0'+place)), 0)
				}
			}
			x.args.field(i).Set(s)
			if ok = yield(); !ok {
				return false
			}
		}
		return true
	})
	return ok
}

// worded sets all texts in a value to one, and reports whether there was any.
func worded(v reflect.Value, home, text string, depth int) bool {
	v = reachable(v)
	t := v.Type()
	switch {
	case isText(t):
		setText(v, []byte(text))
		return true
	// A type that only its package can make, and one that nests too deep, keeps its value.
	case depth > 3 || closed(home, t):
	case t.Kind() == reflect.Struct:
		any := false
		for i := range v.NumField() {
			any = worded(v.Field(i), home, text, depth+1) || any
		}
		return any
	case t.Kind() == reflect.Array && t.Len() > 0:
		return worded(v.Index(0), home, text, depth+1)
	case t.Kind() == reflect.Pointer:
		p := reflect.New(t.Elem())
		if !worded(p.Elem(), home, text, depth+1) {
			return false
		}
		v.Set(p)
		return true
	}
	return false
}

// pairInTexts joins both with characters that may divide words, and puts the texts into the
// records in place of the first two words.
func (x *exhauster) pairInTexts(pair [2]string, yield func() bool) bool {
	// First texts of only the two words, then the records' texts with these words in place of their
	// own.
	for _, s := range x.args.spots(0) {
		x.args.ground(0, s)
		for _, between := range []string{" ", ",", "\n", "=", ";", ":", "/", "", "\t", "&"} {
			for _, last := range []string{"", between, between + pair[0]} {
				x.args.put(s, []byte(pair[0]+between+pair[1]+last))
				if !yield() {
					return false
				}
			}
		}
	}
	return x.args.everySpot(1, func(s spot, text []byte) bool {
		changed, n := rewordAll(text, pair)
		if n < 2 {
			return true
		}
		x.args.put(s, changed)
		return yield()
	})
}

// rewordAll replaces the words of a text by the two in turn.
func rewordAll(text []byte, pair [2]string) (out []byte, words int) {
	for i := 0; i < len(text); {
		to := i
		// A word is a run of letters or digits; what stands between words stays.
		for to < len(text) && kindOfByte(text[to]) != 0 {
			to++
		}
		if to == i {
			out = append(out, text[i])
			i++
			continue
		}
		out = append(out, pair[words%2]...)
		words++
		i = to
	}
	return bytes.Clone(out), words
}

// pairInParameters gives two texts one each, and maps both as keys.
func (x *exhauster) pairInParameters(pair [2]string, yield func() bool) bool {
	x.args.base(0)
	// With a map, both words are its keys, and a second parameter is not needed.
	n, maps := 0, 0
	for i, s := range x.args.slots {
		switch {
		case isText(s.t):
			setText(x.args.field(i), []byte(pair[n%2]))
			n++
		case s.t.Kind() == reflect.Map && s.t.Key().Kind() == reflect.String:
			m := reflect.MakeMap(s.t)
			for k, name := range pair {
				list := x.args.values(s.t.Elem(), 4, 1)
				m.SetMapIndex(reflect.ValueOf(name).Convert(s.t.Key()), list[k%len(list)])
			}
			x.args.field(i).Set(m)
			maps++
		}
	}
	return n+2*maps < 2 || yield()
}
