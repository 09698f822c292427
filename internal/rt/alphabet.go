package rt

import (
	"math"
	"slices"
)

// An Alphabet holds the parts of inputs when every short input is tried: the constants of the
// compared versions, their neighbours, and values where code tends to break.
type Alphabet struct {
	Bytes  []byte   `json:"bytes"` // letters of strings and byte slices, most interesting first
	Texts  []string `json:"texts"` // whole strings and pieces of them
	Ints   []int64  `json:"ints"`
	Floats []uint64 `json:"floats"` // as IEEE bits: JSON has no NaN
	Lens   []int    `json:"lens"`   // lengths to reach
}

// DefaultAlphabet knows nothing of the target.
func DefaultAlphabet() Alphabet {
	a := Alphabet{
		// The first bytes are the most telling: an ordinary letter, zero, and the ends of the ASCII
		// range.
		Bytes: []byte{'a', 0, 'b', 0x7f, 0x80, 0xff, ' ', 'A', '0', '_', 'z', 0xc3, 0xa9, '.'},
		Texts: []string{"é", "€", "\xed\xa0\x80", "\U0001f600", "K", "ſ"},
		Ints: []int64{0, 1, -1, 2, 3, -2, 7, 8, 10, 63, 64, 100, 127, 128, 255, 256, -128, -129, 1000, 65535, 65536,
			math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64},
	}
	for _, f := range []float64{0, 1, -1, math.Copysign(0, -1), 0.5, 2, 1e-9, math.NaN(), math.Inf(1), math.Inf(-1),
		1 << 53, math.MaxFloat64, math.SmallestNonzeroFloat64, -2.5} {
		a.Floats = append(a.Floats, math.Float64bits(f))
	}
	// All short lengths: loops that are unrolled have their remainders there.
	for n := 0; n <= 20; n++ {
		a.Lens = append(a.Lens, n)
	}
	a.Lens = append(a.Lens, 31, 32, 33, 63, 64, 65)
	return a
}

func unique[T comparable](list []T) []T {
	seen := make(map[T]bool, len(list))
	return slices.DeleteFunc(slices.Clone(list), func(x T) bool {
		was := seen[x]
		seen[x] = true
		return was
	})
}
