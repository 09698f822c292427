package rt

import (
	"math"
	"reflect"
	"slices"
	"sort"
	"unicode/utf8"
)

// A domain knows small sets of telling values for every type: the constants
// of either version and their neighbours, the ends of each type's range, and
// values that the corpus holds. Its choices depend on the request and the
// records alone, so that a case can be found again by its number.
type domain struct {
	home    string // the target's package
	ints    []int64
	letters []string // parts of words
	strings []string // constants of either version
	pool    map[reflect.Type][]reflect.Value

	palettes map[reflect.Type][]reflect.Value
}

// maxPool bounds the values of one type that are kept from the records.
const maxPool = 12

// newDomain takes the numbers of the code and their neighbours, between the smallest ones and the
// limits of the integer types: plain numbers come first in each list.
func newDomain(q *Exhaust, home string) *domain {
	d := &domain{home: home, pool: map[reflect.Type][]reflect.Value{}, strings: q.Strings}
	add := func(n int64) {
		if !slices.Contains(d.ints, n) {
			d.ints = append(d.ints, n)
		}
	}
	// The order is that of the search, which may end early.
	for _, n := range []int64{0, 1, -1, 2, 3} {
		add(n)
	}
	for _, n := range q.Ints {
		add(n)
	}
	for _, n := range q.Ints {
		add(n - 1)
		add(n + 1)
	}
	for _, n := range []int64{0x7f, 0x80, 0xff, 0x100, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64} {
		add(n)
	}
	d.letters = alphabet(q)
	return d
}

// alphabet returns the letters of words in small scopes: the bytes among the constants, their
// neighbours, the ends of ASCII, one rune of two bytes and one of three, and a letter and a digit
// for ordinary text.
func alphabet(q *Exhaust) []string {
	var list []string
	add := func(s string) {
		if s != "" && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	// Letters come in the order of their worth, since the list is cut at its end: plain ones, those
	// of the code's texts and numbers, and then the neighbours.
	add("a")
	add("0")
	for _, s := range q.Strings {
		for _, r := range s {
			add(string(r))
		}
	}
	for _, n := range q.Ints {
		addLetter(n, add)
	}
	for _, s := range []string{"\x00", "\x7f", "\x80", "\xff", "é", "€"} {
		add(s)
	}
	for _, n := range q.Ints {
		addLetter(n-1, add)
		addLetter(n+1, add)
	}
	return list[:min(len(list), 96)]
}

// addLetter adds a number as the byte and as the rune that it may stand for.
func addLetter(n int64, add func(string)) {
	switch {
	case 0 <= n && n <= 0xff:
		add(string([]byte{byte(n)}))
		if n >= 0x80 {
			add(string(rune(n)))
		}
	case n <= utf8.MaxRune && n > 0xff:
		add(string(rune(n)))
	}
}

// learn keeps values of a record, by type.
func (d *domain) learn(v reflect.Value, depth int) {
	// Fields of other packages' types are read-only, and deep values are rare: both are left out.
	v = reachable(v)
	if !v.CanInterface() || depth > 6 {
		return
	}
	t := v.Type()
	// Keep each value of a type once, up to a limit.
	if list := d.pool[t]; len(list) < maxPool &&
		!slices.ContainsFunc(list, func(o reflect.Value) bool { return sameSimple(o, v) }) {
		c := reflect.New(t).Elem()
		c.Set(v)
		d.pool[t] = append(list, c)
	}
	// Then go on into the value. A closed type is one that other packages may not take apart, and a
	// few elements of a list stand for all.
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() && special(t) == nil {
			d.learn(v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && special(t) == nil && !closed(d.home, t); i++ {
			d.learn(v.Field(i), depth+1)
		}
	case reflect.Slice, reflect.Array:
		for i := 0; i < min(v.Len(), 4); i++ {
			d.learn(v.Index(i), depth+1)
		}
	case reflect.Map:
		for i, k := range v.MapKeys() {
			if i < 2 {
				d.learn(k, depth+1)
				d.learn(v.MapIndex(k), depth+1)
			}
		}
	}
}

func sameSimple(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr, reflect.Float32,
		reflect.Float64:
		return a.Equal(b)
	}
	return false
}

// values lists up to n values of a type, plain ones first.
func (d *domain) values(t reflect.Type, n, depth int) []reflect.Value {
	// The zero value is always there.
	list := []reflect.Value{reflect.Zero(t)}
	add := func(v reflect.Value) {
		if !slices.ContainsFunc(list, func(o reflect.Value) bool { return sameSimple(o, v) }) {
			list = append(list, v)
		}
	}
	switch {
	case closed(d.home, t):
		for _, v := range d.constructed(t) {
			add(v)
		}
	case depth < 4 && special(t) == nil:
		d.build(t, n, depth, add)
	}
	// Values of the records take half of the room, because the program is called with them.
	if room := n / 2; len(list) > room { // leave room for real values
		list = append(list[:min(len(list), max(room, n-len(d.pool[t])))], d.pool[t]...)
	} else {
		list = append(list, d.pool[t]...)
	}
	return list[:min(len(list), n)]
}

// build adds the plain values of a type. n bounds how many there should be; depth bounds the
// nesting.
func (d *domain) build(t reflect.Type, n, depth int, add func(reflect.Value)) {
	// Values are made of the underlying type.
	of := func(x any) { add(reflect.ValueOf(x).Convert(t)) }
	switch t.Kind() {
	case reflect.Bool:
		of(true)
	case reflect.String:
		d.words(n, of)
	case reflect.Float32, reflect.Float64:
		d.floats(of)
	case reflect.Complex64, reflect.Complex128:
		of(complex(1, 0))
		of(complex(0, math.NaN()))
	case reflect.Slice:
		d.slices(t, n, depth, add)
	// An array has one value throughout, for each of the element's.
	case reflect.Array:
		for _, e := range d.values(t.Elem(), 4, depth+1) {
			v := reflect.New(t).Elem()
			for i := 0; i < t.Len(); i++ {
				v.Index(i).Set(e)
			}
			add(v)
		}
	// A struct differs from its zero value in one field at a time: combinations are covered
	// elsewhere.
	case reflect.Struct:
		for i := 0; i < t.NumField(); i++ {
			for _, e := range d.values(t.Field(i).Type, 5, depth+1)[1:] {
				v := reflect.New(t).Elem()
				reachable(v.Field(i)).Set(e)
				add(v)
			}
		}
	case reflect.Pointer:
		for _, e := range d.values(t.Elem(), n, depth+1) {
			v := reflect.New(t.Elem())
			v.Elem().Set(e)
			add(v)
		}
	case reflect.Map:
		d.maps(t, depth, add)
	case reflect.Interface:
		d.faulty(t, add)
	default:
		d.integers(t, add)
	}
}

func (d *domain) words(n int, of func(any)) {
	for _, l := range d.letters[:min(len(d.letters), n/2)] {
		of(l)
	}
	for _, s := range d.strings {
		of(s)
	}
	for i, l := range d.letters {
		of(l + d.letters[(i*7+1)%len(d.letters)])
	}
}

func (d *domain) floats(of func(any)) {
	for _, f := range []float64{1, math.Copysign(0, -1), -1, 0.5, math.NaN(), math.Inf(1), math.Inf(-1),
		math.MaxFloat64,
		math.SmallestNonzeroFloat64, 1e-9, 1 << 53, 1<<53 + 2} {
		of(f)
	}
	for _, n := range d.ints {
		of(float64(n))
	}
}

// integers adds the numbers that fit the type.
func (d *domain) integers(t reflect.Type, add func(reflect.Value)) {
	zero := reflect.New(t).Elem()
	for _, n := range d.ints {
		v := reflect.New(t).Elem()
		switch {
		case zero.CanInt() && !zero.OverflowInt(n):
			v.SetInt(n)
		case zero.CanUint() && !zero.OverflowUint(uint64(n)):
			v.SetUint(uint64(n))
		default:
			continue
		}
		add(v)
	}
}

// slices adds the empty list, lists of one element and lists of two. Pairs of early values are more
// than those of late ones, because early ones are plainer.
func (d *domain) slices(t reflect.Type, n, depth int, add func(reflect.Value)) {
	add(reflect.MakeSlice(t, 0, 0))
	if t.Elem().Kind() == reflect.Uint8 {
		d.words(n, func(s any) { add(reflect.ValueOf([]byte(s.(string))).Convert(t)) })
		return
	}
	elems := d.values(t.Elem(), max(4, n/4), depth+1)
	for _, e := range elems {
		add(reflect.Append(reflect.MakeSlice(t, 0, 1), e))
	}
	for i, e := range elems {
		for _, f := range elems[:min(len(elems), 4+i)] {
			add(reflect.Append(reflect.MakeSlice(t, 0, 2), e, f))
		}
	}
}

// maps adds the empty map, maps of one entry, and one of all.
func (d *domain) maps(t reflect.Type, depth int, add func(reflect.Value)) {
	add(reflect.MakeMap(t))
	keys, elems := d.values(t.Key(), 4, depth+1), d.values(t.Elem(), 4, depth+1)
	all := reflect.MakeMap(t)
	for i, k := range keys {
		if !k.Comparable() {
			continue
		}
		m := reflect.MakeMap(t)
		m.SetMapIndex(k, elems[i%len(elems)])
		all.SetMapIndex(k, elems[i%len(elems)])
		add(m)
	}
	add(all)
}

// palette returns elements, made once: for cases that do not write into them.
func (d *domain) palette(t reflect.Type) []reflect.Value {
	if d.palettes == nil {
		d.palettes = map[reflect.Type][]reflect.Value{}
	}
	if d.palettes[t] == nil {
		d.palettes[t] = d.elements(t)
	}
	return d.palettes[t]
}

// elements returns the values that slices of t are filled with, in order where t has one.
func (d *domain) elements(t reflect.Type) []reflect.Value {
	list := d.values(t, 16, 1)
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		switch {
		case a.Kind() == reflect.String:
			return a.String() < b.String()
		case a.CanInt():
			return a.Int() < b.Int()
		case a.CanUint():
			return a.Uint() < b.Uint()
		case a.CanFloat():
			return a.Float() < b.Float()
		}
		return false
	})
	return list
}
