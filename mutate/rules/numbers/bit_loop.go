package numbers

import (
	_ "embed"
	"math/bits"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/kit"
)

//go:embed bit_loop.go
var bitLoopSource string

// bitLoop (catalogue N2) matches a loop that counts the ones of an unsigned variable, or its length
// in bits, until the variable is zero. It calls math/bits and sets the variable to zero.
var bitLoop = example.Rule{
	Name: "bit-loop",
	Doc: "Count bits with math/bits, which is one instruction, instead of a loop over them. Legal because the loop " +
		"only counts, and x ends at zero either way.",
	Class:  beagle.E0,
	Gain:   4,
	Source: bitLoopSource,
	Pairs: []example.Pair{
		{Before: clearLowest[uint64, int], After: onesCount[uint64, int]},
		{Before: countThenClear[uint8, int], After: onesCount[uint8, int]},
		{Before: addLowest[uint32, int], After: onesCount[uint32, int]},
		{Before: testLowest[uint, uint8], After: onesCount[uint, uint8]},
		{Before: testLowestSet[uint, int], After: onesCount[uint, int]},
		{Before: shiftThenCount[uint16, int], After: bitLength[uint16, int]},
		{Before: countThenShift[uint64, int], After: bitLength[uint64, int]},
		{Before: halveThenCount[uint64, int], After: bitLength[uint64, int]},
		{Before: countThenHalve[uint64, int], After: bitLength[uint64, int]},
	},
	Label: func(m *example.Match) string { return "loop over the bits of " + m.Var("x").Name() },
}.Mutator()

func clearLowest[T kit.Unsigned, N kit.Integer](x T, n N) (T, N) {
	for x != 0 {
		x &= x - 1
		n++
	}
	return x, n
}

func countThenClear[T kit.Unsigned, N kit.Integer](x T, n N) (T, N) {
	for x != 0 {
		n++
		x &= x - 1
	}
	return x, n
}

func addLowest[T kit.Unsigned, N kit.Integer](x T, n N) (T, N) {
	for x != 0 {
		n += N(x & 1)
		x >>= 1
	}
	return x, n
}

func testLowest[T kit.Unsigned, N kit.Integer](x T, n N) (T, N) {
	for x != 0 {
		if x&1 == 1 {
			n++
		}
		x >>= 1
	}
	return x, n
}

func testLowestSet[T kit.Unsigned, N kit.Integer](x T, n N) (T, N) {
	for x != 0 {
		if x&1 != 0 {
			n++
		}
		x >>= 1
	}
	return x, n
}

func onesCount[T kit.Unsigned, N kit.Integer](x T, n N) (T, N) {
	n += N(bits.OnesCount64(uint64(x)))
	x = 0
	return x, n
}

func shiftThenCount[T kit.Unsigned, N kit.Integer](x T, n N) (T, N) {
	for x != 0 {
		x >>= 1
		n++
	}
	return x, n
}

func countThenShift[T kit.Unsigned, N kit.Integer](x T, n N) (T, N) {
	for x != 0 {
		n++
		x >>= 1
	}
	return x, n
}

func halveThenCount[T kit.Unsigned, N kit.Integer](x T, n N) (T, N) {
	for x != 0 {
		x /= 2
		n++
	}
	return x, n
}

func countThenHalve[T kit.Unsigned, N kit.Integer](x T, n N) (T, N) {
	for x != 0 {
		n++
		x /= 2
	}
	return x, n
}

func bitLength[T kit.Unsigned, N kit.Integer](x T, n N) (T, N) {
	n += N(bits.Len64(uint64(x)))
	x = 0
	return x, n
}
