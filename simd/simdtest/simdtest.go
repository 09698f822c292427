// Package simdtest checks SIMD kernels against their Go references. The tests
// that simdgen writes call it; it is public so that kernels of other modules
// are checked the same way.
//
// A kernel is run on every tier of the machine: all lengths from 0 to 300 at
// all 64 alignments, a few lengths around the chunk size, inputs and outputs
// that end or start at a page that cannot be touched, and whatever the fuzzer
// thinks of. Inputs are mostly valid on purpose: uniformly random bytes would
// stop a validator at the first one.
package simdtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"unsafe"
)

// A Kernel names what to check and to measure. Run draws arguments from an
// Input, calls kernel and reference and compares; Time draws arguments and
// returns a loop over the kernel.
type Kernel struct {
	Name string
	Run  func(*Input)
	Time func(*Input) func(k int)
}

// An Input is one case: a length, an alignment, a seed and, from the fuzzer,
// bytes.
type Input struct {
	t      testing.TB
	kernel string
	level  uint8
	n      int
	align  int
	kind   int
	data   []byte
	rng    *rand.Rand
	guard  *guards
	outs   []canary
	bufs   [][]byte // reused from case to case
}

func (in *Input) String() string {
	return fmt.Sprintf("%s on tier %d, length %d, alignment %d, kind %d", in.kernel, in.level, in.n, in.align, in.kind)
}

// Number lists the types of slices and scalars.
type Number interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64 | ~int8 | ~int16 | ~int32 | ~int64 | ~int | ~float32 | ~float64
}

// Slice draws a slice that the kernel reads.
func Slice[T Number](in *Input) []T {
	s := room[T](in)
	fill(in, s)
	return s
}

// Output draws a slice that the kernel writes and a copy for the reference.
func Output[T Number](in *Input) (got, want []T) {
	got = room[T](in)
	fill(in, got)
	return got, append(make([]T, 0, len(got)), got...)
}

// Scalar draws a number or an array of bytes.
func Scalar[T any](in *Input) T {
	var v T
	b := unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v))
	if len(b) > 8 && in.kind == 1 {
		return v
	}
	for i := range b {
		b[i] = byte(in.rng.Uint32())
		if len(b) > 8 && in.kind > 1 {
			b[i] = 0xff
		}
	}
	return v
}

// Equal compares results; floating-point numbers by their bits, with all NaNs
// the same.
func Equal[T comparable](in *Input, got, want T) {
	in.t.Helper()
	if got != want && !sameFloat(got, want) {
		in.t.Fatalf("%v: got %v, want %v", in, got, want)
	}
}

func sameFloat(a, b any) bool {
	x, ok := a.(float64)
	y, _ := b.(float64)
	return ok && (math.IsNaN(x) && math.IsNaN(y))
}

// EqualSlices compares what kernel and reference wrote, and the bytes around.
func EqualSlices[T Number](in *Input, got, want []T) {
	in.t.Helper()
	for i := range want {
		if got[i] != want[i] && !sameFloat(got[i], want[i]) {
			in.t.Fatalf("%v: element %d is %v, want %v", in, i, got[i], want[i])
		}
	}
	for _, c := range in.outs {
		c.check(in)
	}
}

// A canary is the memory around an output.
type canary struct {
	buf    []byte
	lo, hi int
}

const canaryByte = 0xc5

func (c canary) check(in *Input) {
	in.t.Helper()
	for _, side := range [][2]int{{0, c.lo}, {c.hi, len(c.buf)}} {
		for i := side[0]; i < side[1]; i++ {
			if c.buf[i] != canaryByte {
				in.t.Fatalf("%v: wrote byte %d outside the output [%d,%d)", in, i, c.lo, c.hi)
			}
		}
	}
}

// room returns memory for n elements at the case's place.
func room[T Number](in *Input) []T {
	size := int(unsafe.Sizeof(*new(T)))
	if in.guard != nil {
		b := in.guard.next(in.n*size, in.align%2 == 1)
		return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), in.n)
	}
	buf := in.buffer(in.n*size + 192)
	at := (64 - int(uintptr(unsafe.Pointer(&buf[0]))&63)) + in.align/size*size
	in.outs = append(in.outs, canary{buf, at, at + in.n*size})
	return unsafe.Slice((*T)(unsafe.Pointer(&buf[at])), in.n)
}

// buffer returns memory that is canaries at both ends; the caller fills what
// is between.
func (in *Input) buffer(n int) []byte {
	k := len(in.outs)
	if k == len(in.bufs) {
		in.bufs = append(in.bufs, nil)
	}
	if cap(in.bufs[k]) < n {
		in.bufs[k] = make([]byte, n+8192)
	}
	buf := in.bufs[k][:n]
	for i := range min(n, 192) {
		buf[i], buf[n-1-i] = canaryByte, canaryByte
	}
	return buf
}

var alphabets = []string{"", "\x00", "abcxyz0189_:./-", "abcxyz0189_:./-", "ABCXYZabc @[`{", "\x00\x7f a"}

// fill writes values of the case's kind: from the fuzzer, random, or of one
// alphabet with up to two strangers.
func fill[T Number](in *Input, s []T) {
	if b, ok := any(s).([]uint8); ok {
		fillBytes(in, b)
		return
	}
	for i := range s {
		s[i] = value[T](in)
	}
}

func fillBytes(in *Input, b []byte) {
	if in.data != nil {
		copy(b, in.data)
		return
	}
	a := alphabets[in.kind%len(alphabets)]
	for i := range b {
		r := in.rng.Uint32()
		if a == "" {
			b[i] = byte(r)
		} else {
			b[i] = a[r%uint32(len(a))]
		}
	}
	for range in.rng.IntN(3) {
		if len(b) > 0 && a != "" {
			b[in.rng.IntN(len(b))] = byte(in.rng.Uint32())
		}
	}
}

var specials = []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64,
	math.SmallestNonzeroFloat64, 1, -1}

func value[T Number](in *Input) T {
	var v T
	switch p := any(&v).(type) {
	case *float64:
		*p = math.Float64frombits(in.rng.Uint64()>>12 | uint64(1000+in.rng.Uint32()&31)<<52)
		if in.kind == 1 || in.kind > 3 && in.rng.IntN(8) == 0 {
			*p = specials[in.rng.IntN(len(specials)-in.kind%2*5)]
		}
	case *int64:
		*p = int64(in.rng.Uint64()) >> (in.rng.IntN(4) * 16)
	default:
		b := unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v))
		for i := range b {
			b[i] = byte(in.rng.Uint32())
		}
	}
	return v
}

// Levels are the tiers to check: all up to the one in use, or that one alone
// when the environment has SIMDTEST_TIERS=top, for an emulator that is slow.
func Levels(top uint8) []uint8 {
	var all []uint8
	for l := range top + 1 {
		all = append(all, l)
	}
	if os.Getenv("SIMDTEST_TIERS") == "top" {
		return all[top:]
	}
	return all
}

// levels calls f on each tier to check.
func levels(set func(uint8) uint8, f func(level uint8)) {
	top := set(0)
	defer set(top)
	for _, l := range Levels(top) {
		set(l)
		f(l)
	}
}

// Check runs all lengths and alignments, and lengths around the chunk sizes. Under the race
// detector the comparisons in Go take ten times as long. It learns of a slice as a whole, before
// its chunks, so the lengths around the longer chunks would show it nothing. With -short one of
// these is enough, unless SIMDTEST_LENGTHS=all asks for every one, as simd/ci.sh does at night.
func Check(t *testing.T, set func(uint8) uint8, kernels []Kernel) {
	long := []int{1023, 4096, 1<<15 - 1, 1 << 15, 1<<15 + 1, 1<<18 - 1, 1 << 18, 1<<18 + 1, 1<<18 + 77, 600_001}
	switch {
	case raceEnabled:
		long = long[:5]
	case testing.Short() && os.Getenv("SIMDTEST_LENGTHS") != "all": // emulators take most of their time for these
		long = append(long[:5], 1<<18+77)
	}
	levels(set, func(level uint8) {
		step := 1
		if testing.Short() || raceEnabled || level == 0 {
			step = 13
		}
		for _, k := range kernels {
			in := &Input{t: t, kernel: k.Name, level: level, rng: rand.New(rand.NewPCG(1, uint64(level)))}
			for n := 0; n <= 300; n++ {
				for align := n % step; align < 64; align += step {
					in.run(k, n, align)
				}
			}
			for _, n := range long {
				in.run(k, n, n%64)
				if !testing.Short() {
					in.run(k, n, 2)
				}
			}
		}
	})
}

func (in *Input) run(k Kernel, n, align int) {
	in.n, in.align, in.outs = n, align, in.outs[:0]
	in.kind = in.rng.IntN(len(alphabets))
	k.Run(in)
}

// CheckGuarded runs all lengths with each slice at the end, then at the start,
// of memory whose neighbours cannot be touched. Where the system offers no
// such memory it skips.
func CheckGuarded(t *testing.T, set func(uint8) uint8, kernels []Kernel) {
	g, err := newGuards(16 << 10)
	if err != nil {
		t.Skip(err)
	}
	defer g.close()
	levels(set, func(level uint8) {
		for _, k := range kernels {
			in := &Input{t: t, kernel: k.Name, level: level, guard: g, rng: rand.New(rand.NewPCG(2, uint64(level)))}
			for n := 0; n <= 300; n++ {
				for side := range 2 {
					g.used = 0
					in.run(k, n, side)
				}
			}
		}
	})
}

// Fuzz lets the fuzzer choose the bytes of the slices, the tier and a seed for
// everything else.
func Fuzz(f *testing.F, set func(uint8) uint8, kernels []Kernel, name string) {
	f.Add([]byte(nil), uint64(0), uint8(3))
	f.Add([]byte("env:prod,service:web-1.2/x"), uint64(1), uint8(2))
	f.Add(make([]byte, 300), uint64(2), uint8(1))
	f.Add([]byte("ENV:prod,service:web-1.2/x, and more than sixty-four bytes of it all"), uint64(3), uint8(4))
	top := set(0)
	set(top)
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, level uint8) {
		set(level % (top + 1))
		defer set(top)
		for _, k := range kernels {
			if k.Name == name {
				in := &Input{t: t, kernel: name, level: level % (top + 1), n: len(data), align: int(seed % 64),
					data: data, rng: rand.New(rand.NewPCG(seed, 0))}
				k.Run(in)
			}
		}
	})
}
