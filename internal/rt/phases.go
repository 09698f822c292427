package rt

import (
	"math"
	"math/rand/v2"
	"reflect"
)

// grow yields and notes the number at which the original gets slow. Phases
// that do not count up stay below it.
func (x *exhauster) grow(n int64, yield func() bool) bool {
	if n > x.cap {
		x.pass(1)
		return true
	}
	ok := yield()
	if !ok && (x.check.took > slowCase || phaseNames[x.phase] == "bounds") {
		x.cap = n // too slow, or no time to find out
	}
	return ok
}

// numbers counts every integer field up from 0: 300 values, or all of a small
// type.
func (x *exhauster) numbers(yield func() bool) {
	x.args.each(isInteger, func(i int, t reflect.Type) bool {
		last := int64(300)
		if t.Bits() == 16 {
			last = math.MaxUint16
		}
		for n := int64(0); n <= last; n++ {
			ok := x.args.everyBase(func() bool { return !x.args.setInt(i, n) || x.grow(n, yield) })
			if !ok {
				return false
			}
		}
		return true
	})
}

func (x *exhauster) negative(yield func() bool) {
	x.args.each(isInteger, func(i int, t reflect.Type) bool {
		for n := int64(-1); n >= -300; n-- {
			if !x.args.everyBase(func() bool { return !x.args.setInt(i, n) || x.grow(-n, yield) }) {
				return false
			}
		}
		return true
	})
}

// bounds visits the neighbours of powers of two and of the constants.
func (x *exhauster) bounds(yield func() bool) {
	x.args.each(isInteger, func(i int, t reflect.Type) bool {
		// Where bits run out, and where numbers change their width or their sign.
		for shift := range 64 {
			for _, n := range []int64{1<<shift - 1, 1 << shift, 1<<shift + 1, -(1 << shift), -(1 << shift) - 1,
				-(1 << shift) + 1} {
				if !x.args.everyBase(func() bool { return !x.args.setInt(i, n) || x.grow(max(n, -n, 0), yield) }) {
					return false
				}
			}
		}
		// And where the versions themselves compare.
		for _, n := range x.args.ints {
			if !x.args.everyBase(func() bool { return !x.args.setInt(i, n) || x.grow(max(n, -n, 0), yield) }) {
				return false
			}
		}
		return true
	})
}

// small reports whether the numbers among the arguments stay below what the
// original is too slow for. Otherwise it counts the case as left out.
func (x *exhauster) small() bool {
	for i, s := range x.args.slots {
		if !isInteger(s.t) {
			continue
		}
		f, ok := x.args.peek(i)
		switch {
		// A number may be a size that the original is too slow for.
		case !ok:
		case f.CanInt() && max(f.Int(), -f.Int()) > x.cap, f.CanUint() && f.Uint() > uint64(x.cap):
			x.pass(1)
			return false
		}
	}
	return true
}

// ownValues lists telling values that share no memory with those of other fields.
func (a *arguments) ownValues(t reflect.Type, n int) []reflect.Value {
	list := a.values(t, n, 0)
	for i, v := range list {
		src, dst := reflect.New(t), reflect.New(t)
		src.Elem().Set(v)
		clonePart(coderOf(t), src.UnsafePointer(), dst.UnsafePointer())
		list[i] = dst.Elem()
	}
	return list
}

// fields gives each field each of its telling values, in every surrounding.
func (x *exhauster) fields(yield func() bool) {
	x.args.each(func(reflect.Type) bool { return true }, func(i int, t reflect.Type) bool {
		for _, val := range x.args.ownValues(t, 200) {
			ok := x.args.everyBase(func() bool {
				x.args.field(i).Set(val)
				return !x.small() || yield()
			})
			if !ok {
				return false
			}
		}
		return true
	})
}

// pairs gives all parameters telling values together. They are the first slots.
func (x *exhauster) pairs(yield func() bool) {
	n := x.args.v.NumField()
	if n < 2 {
		return
	}
	// Each parameter gets as many values as make 200,000 combinations in all.
	per := int(math.Pow(200000, 1/float64(n)))
	lists := make([][]reflect.Value, n)
	for i := range n {
		lists[i] = x.args.ownValues(x.args.v.Type().Field(i).Type, min(max(per, 2), 60))
	}
	// walk sets the parameters from i on to values whose places in their lists add up to sum.
	var walk func(i, sum int) bool
	walk = func(i, sum int) bool {
		if i == n {
			return sum != 0 || !x.small() || yield()
		}
		for k := 0; k < len(lists[i]) && k <= sum; k++ {
			x.args.field(i).Set(lists[i][k])
			if !walk(i+1, sum-k) {
				return false
			}
		}
		return true
	}
	most := 0
	for _, l := range lists {
		most += len(l)
	}
	for sum := 0; sum <= most; sum++ { // breadth first: the plainest values come first in each list
		x.args.v.SetZero()
		if !walk(0, sum) {
			return
		}
	}
}

// random fills all slots at once: from the records, and with words.
func (x *exhauster) random(yield func() bool) {
	rng := rand.New(rand.NewPCG(x.q.Seed, 7))
	lists := make([][]reflect.Value, len(x.args.slots))
	for i, s := range x.args.slots {
		lists[i] = x.args.ownValues(s.t, 100)
	}
	for {
		if x.late() { // cases that are left out do not ask
			x.cut = true
			return
		}
		x.args.base(rng.IntN(x.args.bases))
		long := false
		for i, s := range x.args.slots {
			switch {
			case isSequence(s.t):
				if rng.IntN(8) > 0 {
					n := rng.IntN(1 + rng.IntN(40))
					x.args.fill(i, s.t, n, 3+rng.IntN(3), rng)
					long = long || n > x.capLen
				}
			case s.t.Kind() == reflect.Struct || s.t.Kind() == reflect.Pointer:
				// their contents have slots of their own
			case rng.IntN(3) > 0:
				x.args.field(i).Set(lists[i][rng.IntN(len(lists[i]))])
			}
		}
		if x.small() && !x.unless(long, yield) {
			return
		}
	}
}
