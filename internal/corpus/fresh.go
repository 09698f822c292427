package corpus

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
)

// Fresh draws n new inputs that look like the training records: a record taken by weight, with
// parts of other records in the same places, and texts whose letters are exchanged for others of
// their class that occur there. So lengths, separators, shares of classes, order and uniqueness of
// lists stay, and the values are new. Relations between the arguments of recorded calls hold
// between the drawn ones: they are drawn and mended as whole tuples. Structs with unexported fields
// are taken whole: what holds inside them is not known. Large inputs give fewer than n. The same
// corpus and seed give the same inputs.
func Fresh(c *beagle.Corpus, n int, seed uint64) []beagle.Record {
	f := &fresher{rng: rand.New(rand.NewPCG(seed, 0xbea91e)), pools: map[string]*pool{}}
	f.learn(c.Train)
	if len(f.records) == 0 {
		return nil
	}
	known := map[string]bool{}
	for _, r := range slices.Concat(c.Train, c.Holdout) {
		known[string(r.Args)] = true
	}
	var out []beagle.Record
	room := freshRoom
	for try := 0; len(out) < n && try < 8*n && room > 0; try++ {
		v, ok := f.draw()
		b := v.Append(nil)
		room -= len(b)
		if !ok || known[string(b)] {
			continue
		}
		known[string(b)] = true
		out = append(out, beagle.Record{Args: b, Weight: 1, Source: "generated"})
	}
	return out
}

type fresher struct {
	rng     *rand.Rand
	records []rt.Value
	sums    []float64 // of weights
	pools   map[string]*pool
	rel     *relations
}

// A pool holds the values seen at one place: a parameter, the elements of a list, a field.
type pool struct {
	values []rt.Value
	seen   int
	order  int                // lists: +1 for each sorted one of two or more, -1 for others
	twice  int                // lists: +1 for each with duplicates
	class  [numClasses][]byte // bytes of each class, as often as they occurred
}

const (
	maxPool    = 512
	maxLetters = 4096
	freshRoom  = 64 << 20 // bytes of inputs that are drawn, those that are known already included
)

func (f *fresher) learn(records []beagle.Record) {
	sum := 0.0
	var weights []float64
	for _, r := range records {
		v, err := rt.ParseValue(r.Args)
		if err != nil {
			continue
		}
		sum += r.Weight
		f.records, f.sums, weights = append(f.records, v), append(f.sums, sum), append(weights, r.Weight)
		for i := range v.Elems {
			f.note(place("", i), &v.Elems[i])
		}
	}
	f.rel = mineRelations(f.records, weights, f.rng)
}

func place(path string, i int) string { return fmt.Sprintf("%s.%d", path, i) }

// note remembers a value and its parts.
func (f *fresher) note(path string, v *rt.Value) {
	p := f.pools[path]
	if p == nil {
		p = &pool{}
		f.pools[path] = p
	}
	p.keep(f.rng, v)
	switch v.Kind {
	case rt.KindString, rt.KindBytes:
		p.letters(v.Str)
	case rt.KindList:
		p.judge(v.Elems)
		fallthrough
	case rt.KindArray:
		for i := range v.Elems {
			f.note(path+"[]", &v.Elems[i])
		}
	case rt.KindPointer, rt.KindInterface:
		f.note(path+"*"+v.Str, &v.Elems[0])
	case rt.KindStruct:
		for i := range v.Elems {
			f.note(path+"."+v.Names[i], &v.Elems[i])
		}
	case rt.KindMap:
		for i := range v.Elems {
			f.note(path+[]string{"<k>", "<v>"}[i%2], &v.Elems[i])
		}
	}
}

// keep samples evenly.
func (p *pool) keep(rng *rand.Rand, v *rt.Value) {
	p.seen++
	if refers(v) {
		return // it refers to values of its own record
	}
	if len(p.values) < maxPool {
		p.values = append(p.values, *v)
	} else if i := rng.IntN(p.seen); i < maxPool {
		p.values[i] = *v
	}
}

// refers reports whether a value takes part in sharing.
func refers(v *rt.Value) bool {
	if v.Back != nil || v.Ref != nil {
		return true
	}
	return slices.ContainsFunc(v.Elems, func(e rt.Value) bool { return refers(&e) })
}

// judge counts whether a list is in order, and whether an element occurs twice.
func (p *pool) judge(elems []rt.Value) {
	if len(elems) < 2 {
		return
	}
	sorted, twice := true, false
	for i := 1; i < len(elems); i++ {
		sorted = sorted && compare(&elems[i-1], &elems[i]) <= 0
	}
	seen := map[string]bool{}
	for i := range elems {
		k := string(elems[i].Append(nil))
		twice = twice || seen[k]
		seen[k] = true
	}
	if sorted {
		p.order++
	} else {
		p.order--
	}
	if twice {
		p.twice++
	}
}

// Classes of bytes: exchanging within one leaves the shape of a text.
const (
	lower = iota
	upper
	digit
	numClasses
)

func classOf(c byte) int {
	switch {
	case 'a' <= c && c <= 'z':
		return lower
	case 'A' <= c && c <= 'Z':
		return upper
	case '0' <= c && c <= '9':
		return digit
	}
	return -1
}

func (p *pool) letters(s string) {
	for i := range len(s) {
		if k := classOf(s[i]); k >= 0 && len(p.class[k]) < maxLetters {
			p.class[k] = append(p.class[k], s[i])
		}
	}
}

// draw makes one input, and reports whether its arguments belong together as
// those of the recorded calls do.
func (f *fresher) draw() (rt.Value, bool) {
	base := f.pick()
	v := base.Clone()
	for i := range v.Elems {
		switch f.rng.IntN(10) {
		case 0: // as it is
		case 1, 2: // from another record
			f.swap(place("", i), &v.Elems[i])
		default:
			f.vary(place("", i), &v.Elems[i])
		}
	}
	return v, f.rel.restore(&v, ties(base))
}

// pick takes a record by weight.
func (f *fresher) pick() *rt.Value {
	x := f.rng.Float64() * f.sums[len(f.sums)-1]
	i := sort.SearchFloat64s(f.sums, x)
	return &f.records[min(i, len(f.records)-1)]
}

// swap puts another value of the same place in.
func (f *fresher) swap(path string, v *rt.Value) {
	if p := f.pools[path]; p != nil && len(p.values) > 0 && !refers(v) {
		*v = p.values[f.rng.IntN(len(p.values))].Clone()
	}
}

// vary changes a value in place, by the values that were seen at the same path.
func (f *fresher) vary(path string, v *rt.Value) {
	if refers(v) {
		return
	}
	switch v.Kind {
	case rt.KindString, rt.KindBytes:
		f.text(path, v)
	case rt.KindInt, rt.KindUint, rt.KindFloat32, rt.KindFloat64:
		f.number(path, v)
	case rt.KindList:
		f.list(path, v)
	case rt.KindArray:
		for i := range v.Elems {
			f.vary(path+"[]", &v.Elems[i])
		}
	case rt.KindPointer, rt.KindInterface:
		f.vary(path+"*"+v.Str, &v.Elems[0])
	case rt.KindStruct:
		if hasHiddenFields(v) {
			f.swap(path, v)
			return
		}
		for i := range v.Elems {
			f.vary(path+"."+v.Names[i], &v.Elems[i])
		}
	case rt.KindMap:
		for i := 1; i < len(v.Elems); i += 2 {
			f.vary(path+"<v>", &v.Elems[i])
		}
	}
}

// hasHiddenFields reports whether a struct has unexported fields.
func hasHiddenFields(v *rt.Value) bool {
	return slices.ContainsFunc(v.Names, func(n string) bool {
		r, _ := utf8.DecodeRuneInString(n)
		return r == '_' || 'a' <= r && r <= 'z'
	})
}

// text exchanges letters, or joins the beginning of one text with the end of
// another.
func (f *fresher) text(path string, v *rt.Value) {
	p := f.pools[path]
	if f.rng.IntN(4) == 0 {
		other := p.values[f.rng.IntN(len(p.values))].Str
		if i, j := cut(f.rng, v.Str), cut(f.rng, other); i >= 0 && j >= 0 {
			v.Str = v.Str[:i] + other[j:]
			return
		}
	}
	b := []byte(v.Str)
	for i, c := range b {
		if k := classOf(c); k >= 0 && len(p.class[k]) > 0 && f.rng.IntN(4) > 0 {
			b[i] = p.class[k][f.rng.IntN(len(p.class[k]))]
		}
	}
	v.Str = string(b)
}

// cut finds a place after a separator, or -1.
func cut(rng *rand.Rand, s string) int {
	if len(s) < 2 {
		return -1
	}
	from := rng.IntN(len(s))
	i := bytes.IndexFunc([]byte(s[from:]), func(r rune) bool { return r < 0x80 && classOf(byte(r)) < 0 })
	if i < 0 {
		return -1
	}
	return from + i + 1
}

// number takes another number that was seen, or one between two of them.
func (f *fresher) number(path string, v *rt.Value) {
	values := f.pools[path].values
	a, b := &values[f.rng.IntN(len(values))], &values[f.rng.IntN(len(values))]
	if a.Kind != v.Kind || b.Kind != v.Kind {
		return
	}
	*v = *a
	if f.rng.IntN(2) == 0 {
		return
	}
	switch lo, hi := a.Int(), b.Int(); {
	case v.Kind == rt.KindInt && lo < hi && hi-lo > 0:
		v.Bits = uint64(lo + f.rng.Int64N(hi-lo))
	case v.Kind == rt.KindUint && a.Bits < b.Bits:
		v.Bits = a.Bits + f.rng.Uint64N(b.Bits-a.Bits)
	}
}

// list exchanges elements for varied ones of other lists, and keeps the order
// and the uniqueness that are usual at this place.
func (f *fresher) list(path string, v *rt.Value) {
	p, elems := f.pools[path], f.pools[path+"[]"]
	if elems == nil || len(elems.values) == 0 {
		return
	}
	wasSorted := isSorted(v.Elems)
	for i := range v.Elems {
		if f.rng.IntN(3) > 0 {
			f.swap(path+"[]", &v.Elems[i])
		}
		f.vary(path+"[]", &v.Elems[i])
	}
	if p.order > 0 && wasSorted {
		inorder.By(v.Elems, func(a, b rt.Value) int { return compare(&a, &b) })
	}
	if p.twice == 0 && len(v.Elems) > 1 {
		seen := map[string]bool{}
		v.Elems = slices.DeleteFunc(v.Elems, func(e rt.Value) bool {
			k := string(e.Append(nil))
			was := seen[k]
			seen[k] = true
			return was
		})
	}
}

func isSorted(elems []rt.Value) bool {
	for i := 1; i < len(elems); i++ {
		if compare(&elems[i-1], &elems[i]) > 0 {
			return false
		}
	}
	return true
}
