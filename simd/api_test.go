package simd

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/simd/simdtest"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		have  Level
		limit string
		want  Level
	}{
		{AVX512, "", AVX512}, {AVX512, "avx2", AVX2}, {AVX512, "vclmul", VCLMUL}, {VCLMUL, "avx512", VCLMUL}, {AVX2, "avx512", AVX2}, {SSE42, "purego", PureGo},
		{NEON, "", NEON}, {NEON, "neon", NEON}, {NEON, "avx2", PureGo}, {AVX2, "neon", PureGo}, {AVX2, "typo", PureGo}, {PureGo, "avx2", PureGo},
	} {
		if got := choose(c.have, c.limit); got != c.want {
			t.Errorf("choose(%v, %q) = %v, want %v", c.have, c.limit, got, c.want)
		}
	}
}

// eachTier runs f on every tier to check.
func eachTier(t *testing.T, f func(t *testing.T)) {
	defer func(l Level) { tier = l }(tier)
	for _, l := range simdtest.Levels(uint8(tier)) {
		tier = Level(l)
		t.Run(tier.String(), f)
	}
}

func TestIndexInvalidTag(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 3))
		for n := range 400 {
			tags := make([]string, n)
			for i := range tags {
				tags[i] = strings.Repeat("ab:c-9_/.", 20)[:r.IntN(130)]
			}
			if n > 0 && n%7 == 0 {
				tags[n/3] = strings.Repeat("x", 400_000)
			}
			want := -1
			if n%3 == 0 && n > 0 {
				want = r.IntN(n)
				tags[want] = "has space"
			}
			if got := IndexInvalidTag(tags); got != want {
				t.Fatalf("%d tags: got %d, want %d", n, got, want)
			}
		}
	})
}

func TestClassAgreesWithItself(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(4, 4))
		for range 50 {
			var members [256]bool
			for i := range members {
				members[i] = r.IntN(3) > 0
			}
			c := NewClassTable(&members)
			for i := range 256 {
				s := string([]byte{byte(i)})
				if c.Contains(byte(i)) != members[i] || c.AllString(s) != members[i] ||
					(c.IndexNot([]byte(s)) == -1) != members[i] {
					t.Fatalf("byte %d: class and table disagree", i)
				}
			}
		}
	})
}

func TestMinMaxFloat64LikeSlices(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		values := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), -math.NaN(),
			math.MaxFloat64}
		r := rand.New(rand.NewPCG(5, 5))
		for n := 1; n < 100; n++ {
			s := make([]float64, n)
			for i := range s {
				s[i] = values[r.IntN(len(values)-2*(n%2))]
			}
			lo, hi := MinMaxFloat64(s)
			if !same(lo, slices.Min(s)) || !same(hi, slices.Max(s)) {
				t.Fatalf("%v: got %v and %v, want %v and %v", s, lo, hi, slices.Min(s), slices.Max(s))
			}
		}
	})
}

func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

func TestLowerAndMaskAnyLength(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 7, 8, 63, 64, 65, 500, 300_000} {
			src := []byte(strings.Repeat("aZ@[A\xc1\x80z`{", n/10+1))[:n]
			want := make([]byte, n)
			lowerGo(want, src)
			dst, mask := make([]byte, n+1), make([]uint64, (n+63)/64)
			if LowerASCII(dst, src) != n || string(dst[:n]) != string(want) || dst[n] != 0 {
				t.Fatalf("LowerASCII of %d bytes", n)
			}
			EqualMask(mask, src, 'A')
			for i, c := range src {
				if mask[i/64]>>(i%64)&1 == 1 != (c == 'A') {
					t.Fatalf("EqualMask of %d bytes: bit %d", n, i)
				}
			}
		}
	})
}
