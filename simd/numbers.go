package simd

import "math"

// SumInt64 returns the sum of s; it wraps around like Go's addition.
func SumInt64(s []int64) int64 { return sumInt64(s) }

func sumInt64Go(s []int64) (t int64) {
	for _, v := range s {
		t += v
	}
	return t
}

// SumFloat64 returns the sum of s in a fixed order that suits processors.
// Below 24 elements, element i is added to lane i%4 as long as four are left;
// the rest is added up one by one, then lanes 0 to 3. From there on, element i
// is added to lane i%16, the lanes are added in halves (0+8, 1+9, ... then
// 0+4, ...), and each block of 32,768 elements is added to the total in turn.
// The result is the same to the last bit on every machine and tier. It differs
// from a plain loop as any other order of additions does, and is usually
// closer to the exact sum.
func SumFloat64(s []float64) (t float64) {
	if len(s) >= sumFloatSmall {
		return sumFloat64(s)
	}
	var a, b, c, d float64
	for ; len(s) >= 4; s = s[4:] {
		a, b, c, d = a+s[0], b+s[1], c+s[2], d+s[3]
	}
	for _, v := range s {
		t += v
	}
	return t + a + b + c + d
}

// sumBlock is the kernel's chunk in elements.
const sumBlock = chunk / 8

func sumFloat64Go(s []float64) (t float64) {
	for len(s) > sumBlock {
		t += sumLanes(s[:sumBlock])
		s = s[sumBlock:]
	}
	return t + sumLanes(s)
}

func sumLanes(s []float64) float64 {
	var l [16]float64
	for ; len(s) >= 16; s = s[16:] {
		for j := range l {
			l[j] += s[j]
		}
	}
	for j, v := range s {
		l[j] += v
	}
	for half := 8; half > 0; half /= 2 {
		for j := range half {
			l[j] += l[j+half]
		}
	}
	return l[0]
}

// MinMaxInt64 returns the smallest and the largest element. It panics when s is
// empty, like slices.Min.
func MinMaxInt64(s []int64) (lo, hi int64) {
	// One comparison for both ends.
	if uint(len(s)-1) < minMaxIntSmall-1 {
		lo, hi = s[0], s[0]
		for _, v := range s[1:] {
			lo, hi = min(lo, v), max(hi, v)
		}
		return lo, hi
	}
	return intExtremes(s)
}

// MinMaxFloat64 returns what slices.Min and slices.Max do: NaN when an element
// is NaN, and -0 before +0. It panics when s is empty.
func MinMaxFloat64(s []float64) (lo, hi float64) {
	if uint(len(s)-1) < minMaxFloatSmall-1 {
		lo, hi = s[0], s[0]
		for _, v := range s[1:] {
			lo, hi = min(lo, v), max(hi, v)
		}
		return lo, hi
	}
	return floatExtremes(s)
}

// intExtremes is the long path, which is not inlined: what it spills would slow the short one.
//
//go:noinline
func intExtremes(s []int64) (lo, hi int64) {
	if len(s) == 0 {
		panic("simd: MinMaxInt64 of an empty slice")
	}
	return extremes(s, minMaxInt64)
}

//go:noinline
func floatExtremes(s []float64) (lo, hi float64) {
	if len(s) == 0 {
		panic("simd: MinMaxFloat64 of an empty slice")
	}
	l, h := extremes(s, minMaxFloat64)
	if l < key(math.Inf(-1)) || h > key(math.Inf(1)) {
		return math.NaN(), math.NaN()
	}
	return unkey(l), unkey(h)
}

// extremes cuts s into chunks.
func extremes[T any](s []T, kernel func([]T) (int64, int64)) (lo, hi int64) {
	lo, hi = math.MaxInt64, math.MinInt64
	for len(s) > 0 {
		n := min(len(s), chunk/8)
		l, h := kernel(s[:n])
		lo, hi = min(lo, l), max(hi, h)
		s = s[n:]
	}
	return lo, hi
}

func minMaxInt64Go(s []int64) (lo, hi int64) {
	lo, hi = math.MaxInt64, math.MinInt64
	for _, v := range s {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

// key maps floats to integers of the same order, NaNs to both ends.
func key(f float64) int64 {
	b := int64(math.Float64bits(f))
	return b ^ int64(uint64(b>>63)>>1)
}

func unkey(k int64) float64 {
	return math.Float64frombits(uint64(k ^ int64(uint64(k>>63)>>1)))
}

func minMaxFloat64Go(s []float64) (lo, hi int64) {
	lo, hi = math.MaxInt64, math.MinInt64
	for _, v := range s {
		lo, hi = min(lo, key(v)), max(hi, key(v))
	}
	return lo, hi
}
