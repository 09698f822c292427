package rt

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Tables, windows and counters of fixed size go wrong at a length or at a
// distance that the code spells: as a constant, as the size of an array, as a
// mask, as a shift, or as a number type that is too narrow. These phases visit
// those lengths, with contents at the ends of what elements can be.

// Limits for a case of these phases.
const (
	largeCase   = 100 * time.Millisecond // the original's time, by extrapolation
	largestText = 1<<20 + 1
	largestList = 4 << 20 // bytes of elements
	briefLength = 1 << 10
)

// The numbers of a pattern that stand for the ends of the elements' range.
const (
	low  = -1
	high = -2
)

// A pattern numbers the elements of a sequence: equal numbers are equal
// elements, and higher ones come later in the elements' order.
type pattern struct {
	mixed bool // bytes of a text are scrambled rather than counted up
	most  int  // the longest sequence that it is worth
	at    func(k, n int) int
}

// patterns fill sequences of every size, the most telling first.
var patterns = []pattern{
	{false, largestText, countingTail},
	{false, largestText, func(k, n int) int { return high }},
	{false, largestText, func(k, n int) int { return k }},
	{false, largestText, func(k, n int) int { return low }},
	{true, 70_001, func(k, n int) int { return k % max(n/2, 1) }},
	{false, 70_001, func(k, n int) int { return n - 1 - k }},
	{false, 70_001, func(k, n int) int { return high + k&1 }},
	{true, 70_001, func(k, n int) int { return k % max(n/4, 1) }},
	{false, 70_001, func(k, n int) int { return k * 256 / n }},
	{false, 70_001, func(k, n int) int { return (n - 1 - k) * 256 / n }},
	{true, largestText, func(k, n int) int { return k % max(n-1, 1) }},
	{false, 1<<17 + 1, func(k, n int) int { return k >> (9 - 8*(k&1)) }}, // all pairs of bytes
}

// countingTail counts up, and ends in up to sixteen elements that were there before: the
// first, some between, and the latest.
func countingTail(k, n int) int {
	last := min(n/2, 16)
	if fresh := n - last; k >= fresh && last > 0 {
		return (k-fresh+1)*fresh/last - 1
	}
	return k
}

// commonSizes are the lengths that need no hint.
var commonSizes = []int{255, 256, 257, 300, 1000, 5000, 5553, 65535, 65536, 65537, 70_000, 1<<17 + 1, 1 << 18, 1 << 20}

// sizesOf lists the lengths to visit, in ascending order.
func (x *exhauster) sizesOf() []int {
	list := slices.Clone(commonSizes)
	for _, c := range x.q.Lens {
		list = append(list, c-1, c, c+1, 2*c, 2*c+1)
	}
	for n := range 64 {
		list = append(list, 4097+n)
	}
	rng := rand.New(rand.NewPCG(x.q.Seed, 8))
	for range 24 {
		list = append(list, 301+rng.IntN(20_000))
	}
	sortInts(list)
	return slices.DeleteFunc(slices.Compact(list), func(n int) bool { return n < 1 || n > largestText })
}

// distances between equal elements: the hints, and both sides of powers of two.
func (x *exhauster) distances() []int {
	list := []int{63, 64, 65, 66}
	for _, c := range x.q.Lens {
		list = append(list, c, c+1)
	}
	for shift := 3; shift <= 16; shift++ {
		list = append(list, 1<<shift-1, 1<<shift, 1<<shift+1)
	}
	sortInts(list)
	return slices.DeleteFunc(slices.Compact(list), func(n int) bool { return n < 2 || n > 1<<17 })
}

// sizes gives each sequence, and all of them together, the telling lengths in
// every pattern, and repeats at the telling distances.
func (x *exhauster) sizes(yield func() bool) {
	x.patience = 2 * largeCase
	sizes, distances := x.sizesOf(), x.distances()
	z := sizer{x: x, yield: yield, spent: map[int][2]sizeCost{}}
	for round, p := range patterns {
		for _, n := range sizes {
			if n <= p.most && !z.fillAll(n, round, p) {
				return
			}
		}
		if round == 0 && !z.repeatFar(distances) {
			return
		}
	}
}

// A sizer makes the cases of one phase and foresees what they cost.
type sizer struct {
	x     *exhauster
	yield func() bool
	spent map[int][2]sizeCost // by slot, -1 for all together: the first and the longest
}

type sizeCost struct {
	n    int
	took time.Duration
}

// repeatFar repeats elements after each distance and nowhere else.
func (z *sizer) repeatFar(distances []int) bool {
	for _, d := range distances {
		for _, more := range []int{1, 3} {
			if !z.fillAll(d+more, d, pattern{true, largestText, func(k, n int) int { return k % d }}) {
				return false
			}
		}
	}
	return true
}

// fillAll fills each sequence, and then all of them.
func (z *sizer) fillAll(n, round int, p pattern) bool {
	x, ok, sequences := z.x, true, 0
	x.args.each(isSequence, func(i int, t reflect.Type) bool {
		sequences++
		ok = z.makeCase(i, n, func() {
			x.args.base((n + round) % x.args.bases)
			x.args.pattern(i, t, n, p)
		})
		return ok
	})
	if !ok || sequences < 2 {
		return ok && sequences > 0
	}
	return z.makeCase(-1, n, func() {
		x.args.base((n + round) % x.args.bases)
		x.args.each(isSequence, func(i int, t reflect.Type) bool {
			x.args.pattern(i, t, min(n, longestOf(t)), p)
			return true
		})
	})
}

// makeCase makes a case unless it is too expensive.
func (z *sizer) makeCase(slot, n int, fill func()) bool {
	// Long sequences are worth a look at the clock.
	x := z.x
	if n > 512 && x.late() {
		x.cut = true
		return false
	}
	// Leave out what is longer than the type can need, than the verifier allows, or than the budget
	// would bear by what shorter ones have cost.
	if slot >= 0 && n > longestOf(x.args.slots[slot].t) {
		return true
	}
	if n > x.capLen || x.brief() && n > briefLength || z.foreseen(slot, n) > largeCase {
		x.pass(1)
		return true
	}
	fill()
	if !x.small() {
		return true
	}
	if !z.yield() {
		return false
	}
	// Remember the costs of a short and a long case, from which foreseen extends a line.
	if now := (sizeCost{n, x.check.took}); n >= 250 {
		seen := z.spent[slot]
		if seen[0].n == 0 {
			seen[0] = now
		}
		if n > seen[1].n {
			seen[1] = now
		}
		z.spent[slot] = seen
	}
	return true
}

// foreseen estimates the original's time, from the first length and the longest. Neighbours would
// show the noise rather than the growth.
func (z *sizer) foreseen(slot, n int) time.Duration {
	a, b := z.spent[slot][0], z.spent[slot][1]
	if b.n == 0 || n <= b.n {
		return 0
	}
	power := 1.0
	if b.n >= 4*a.n {
		power = math.Log(float64(b.took)/float64(max(a.took, time.Microsecond))) / math.Log(float64(b.n)/float64(a.n))
	}
	return time.Duration(float64(b.took) * math.Pow(float64(n)/float64(b.n), min(max(power, 1), 2.5)))
}

// longestOf returns the largest length of sequences of a type.
func longestOf(t reflect.Type) int {
	if isText(t) {
		return largestText
	}
	return largestList / int(max(t.Elem().Size(), 8))
}

// pattern fills a sequence.
func (a *arguments) pattern(i int, t reflect.Type, n int, p pattern) {
	if isText(t) {
		setText(a.field(i), patternText(n, p))
		return
	}
	s := reflect.MakeSlice(t, n, n)
	a.elems(s, p)
	a.field(i).Set(s)
}

// elems fills a list or an array.
func (a *arguments) elems(s reflect.Value, p pattern) {
	from := a.palette(s.Type().Elem())
	for k := range s.Len() {
		a.element(s.Index(k), p.at(k, s.Len()), from)
	}
}

// element sets an element to the value that its number stands for.
func (a *arguments) element(e reflect.Value, number int, from []reflect.Value) {
	switch {
	case number == low:
		e.Set(from[0])
		extreme(e, false)
	case number == high:
		e.Set(from[len(from)-1])
		extreme(e, true)
	case !a.counted(e, number, 0):
		e.Set(from[number%len(from)])
	}
}

// patternText makes a text of n bytes by a pattern. A mixed pattern gives letters that hardly
// repeat.
func patternText(n int, p pattern) []byte {
	b := make([]byte, n)
	for k := range b {
		switch number := p.at(k, n); {
		case number == low:
		case number == high:
			b[k] = 0xff
		case p.mixed:
			b[k] = 'a' + byte(uint32(number)*2654435761>>16)%26
		default:
			b[k] = byte(number)
		}
	}
	return b
}

// extreme sets a number to the end of its range.
func extreme(v reflect.Value, top bool) {
	bits := 0
	if v.CanInt() || v.CanUint() {
		bits = v.Type().Bits()
	}
	switch {
	case v.CanInt() && top:
		v.SetInt(math.MaxInt64 >> (64 - bits))
	case v.CanInt():
		v.SetInt(math.MinInt64 >> (64 - bits))
	case v.CanUint() && top:
		v.SetUint(math.MaxUint64 >> (64 - bits))
	case v.CanUint():
		v.SetUint(0)
	}
}

// counted sets all that can be counted in a value to a number, and reports
// whether there was anything.
func (d *domain) counted(v reflect.Value, n, depth int) bool {
	if depth > 3 {
		return false
	}
	v = reachable(v)
	switch v.Kind() {
	case reflect.Pointer:
		if closed(d.home, v.Type().Elem()) {
			return false
		}
		p := reflect.New(v.Type().Elem())
		if !d.counted(p.Elem(), n, depth+1) {
			return false
		}
		v.Set(p)
		return true
	case reflect.Struct:
		if closed(d.home, v.Type()) {
			return false
		}
		any := false
		for i := range v.NumField() {
			any = d.counted(v.Field(i), n, depth+1) || any
		}
		return any
	case reflect.Array:
		return v.Len() > 0 && d.counted(v.Index(v.Len()-1), n, depth+1)
	// A list gets one element with the number, and bytes its digits.
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(strconv.AppendInt([]byte{'k'}, int64(n), 10))
			return true
		}
		s := reflect.MakeSlice(v.Type(), 1, 1)
		if !d.counted(s.Index(0), n, depth+1) {
			return false
		}
		v.Set(s)
		return true
	}
	if (v.CanInt() || v.CanUint()) && v.Type().Bits() <= 16 {
		return setLow(v, uint64(n))
	}
	return numbered(v, n*stride)
}
