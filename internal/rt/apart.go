package rt

import (
	"math/rand/v2"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

// Callers do what corpora seldom show: they pass the same slice twice, or two
// windows of one; and they pass long lists.

// shared lets two slices of one type lie in the same memory: the same one, one
// shifted against the other, one the beginning of the other.
func (x *exhauster) shared(yield func() bool) {
	rng := rand.New(rand.NewPCG(x.q.Seed, 5))
	for i, s := range x.args.slots {
		if s.t.Kind() != reflect.Slice {
			continue
		}
		for k := i + 1; k < len(x.args.slots); k++ {
			if x.args.slots[k].t == s.t && !x.overlap(i, k, rng, yield) {
				return
			}
		}
	}
}

// windows returns pairs of two parts of one piece of memory of n elements: the whole twice,
// shifted, halves, and a short part inside the whole, whichever way round. A version that reads far
// ahead of what it writes differs on the last ones only.
func windows(n int) (list [][4]int) {
	list = [][4]int{{0, n, 0, n}, {0, n - 1, 1, n}, {1, n, 0, n - 1}, {0, n, 0, n / 2}, {0, n / 2, n / 2, n},
		{0, n / 2, n/2 - 1, n}}
	for _, size := range []int{1, 2, 4, 8} {
		for _, from := range []int{0, 1, 3, 7, 8, 9, 15, 16, n / 2, n - size} {
			if from+size <= n && n <= maxSweep {
				list = append(list, [4]int{from, from + size, 0, n}, [4]int{0, n, from, from + size})
			}
		}
	}
	return slices.DeleteFunc(list, func(w [4]int) bool { return w[0] < 0 || w[2] < 0 })
}

// overlap places two slots in one piece of memory, in several ways and lengths.
func (x *exhauster) overlap(i, k int, rng *rand.Rand, yield func() bool) bool {
	for _, n := range []int{1, 2, 3, 8, 17, 32, 33, 64, 300, 1000, 5000} {
		if n > maxSweep && x.brief() {
			break
		}
		for way := range distinct + 1 {
			for _, cut := range windows(n) {
				if n > x.capLen {
					x.pass(1)
					continue
				}
				x.args.base((n + way) % x.args.bases)
				x.args.fill(i, x.args.slots[i].t, n, way, rng)
				// Cut two windows out of one sequence, so that a write through one shows in the
				// other.
				all := x.args.field(i)
				a, b := all.Slice(cut[0], cut[1]), all.Slice(cut[2], cut[3])
				x.args.field(i).Set(a)
				x.args.field(k).Set(b)
				if x.small() && !yield() {
					return false
				}
			}
		}
	}
	return true
}

// These limit the stack of a call on a list of deepLength elements. A version that recurses for
// each element exceeds it. On a list of some millions such a version ends the process, and the
// original does not.
const (
	deepLength = 100_003
	deepStack  = 4 << 20
	deepBudget = 100 * time.Millisecond // of the whole exhaustion; the quick check has no time for this
)

// deep gives each sequence a length at which recursion for each element shows.
// An original that does the same ends here, and the phase is left out.
func (x *exhauster) deep(yield func() bool) {
	rng := rand.New(rand.NewPCG(x.q.Seed, 6))
	if deepLength > x.capLen || x.brief() {
		return
	}
	defer debug.SetMaxStack(debug.SetMaxStack(deepStack))
	for _, way := range []int{0, 1, distinct} {
		x.args.base(way % x.args.bases)
		ok := true
		x.args.each(isSequence, func(i int, t reflect.Type) bool {
			x.args.fill(i, t, deepLength, way, rng)
			ok = false
			return true
		})
		// the original's time must not pay for the candidate's garbage
		runtime.GC()
		if ok || x.small() && !yield() { // there are no sequences
			return
		}
		x.args.each(isSequence, func(i int, t reflect.Type) bool {
			x.args.base(way % x.args.bases)
			x.args.fill(i, t, deepLength, way, rng)
			runtime.GC()
			ok = !x.small() || yield()
			return ok
		})
		if !ok {
			return
		}
	}
}

// solved gives each integer what makes a simple equation with two of the
// constants true: x+p = q, x-p = q, x^p = q, x*p = q, x>>k = q. Numbers that
// only such a test picks out are too rare to meet.
func (x *exhauster) solved(yield func() bool) {
	consts := x.args.ints[:min(len(x.args.ints), 60)]
	x.args.each(isInteger, func(i int, t reflect.Type) bool {
		set := func(n uint64) bool {
			ok := true
			for k := range min(x.args.bases, 2) {
				x.args.base(k)
				if setLow(x.args.field(i), n) && x.small() {
					ok = ok && yield()
				}
			}
			return ok
		}
		// x>>k = q holds for q<<k and all that differs in the low bits.
		for _, q := range consts {
			for shift := 1; shift < t.Bits(); shift++ {
				if n := uint64(q) << shift; n>>shift == uint64(q) && (!set(n) || !set(n+uint64(shift))) {
					return false
				}
			}
			for _, p := range consts {
				// A product has one solution only if the factor is odd.
				if !set(uint64(q-p)) || !set(uint64(q+p)) || !set(uint64(q^p)) ||
					p&1 == 1 && !set(uint64(q)*inverse(uint64(p))) {
					return false
				}
			}
		}
		return true
	})
}

// inverse returns the number that gives 1 when multiplied with an odd number, in 64 bits and so in
// fewer.
func inverse(odd uint64) uint64 {
	n := odd // right in 3 bits; each step doubles them
	for range 5 {
		n *= 2 - odd*n
	}
	return n
}

// setLow stores the low bits of n.
func setLow(f reflect.Value, n uint64) bool {
	switch {
	case f.CanInt():
		shift := 64 - f.Type().Bits()
		f.SetInt(int64(n<<shift) >> shift)
	case f.CanUint():
		shift := 64 - f.Type().Bits()
		f.SetUint(n << shift >> shift)
	default:
		return false
	}
	return true
}
