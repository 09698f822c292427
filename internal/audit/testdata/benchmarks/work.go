// Package benchmarks has work for benchmarks with and without mistakes.
package benchmarks

import (
	"bytes"
	"slices"
)

// ones counts the bits of x: small enough to be inlined.
func ones(x uint64) uint64 {
	x -= x >> 1 & 0x5555555555555555
	x = x>>2&0x3333333333333333 + x&0x3333333333333333
	return (x>>4 + x) & 0x0f0f0f0f0f0f0f0f * 0x0101010101010101 >> 56
}

// fib is too deep to be inlined.
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

// times does something n times.
func times(n int) (sum int) {
	for i := range n {
		sum += fib(i % 3)
	}
	return sum
}

// insert sorts a by insertion.
func insert(a []int) {
	for i := range a {
		for j := i; j > 0 && a[j] < a[j-1]; j-- {
			a[j], a[j-1] = a[j-1], a[j]
		}
	}
}

// arrange sorts a by a function of the library.
func arrange(a []int) []int {
	slices.Sort(a)
	return a
}

// arranged sorts a copy of a.
func arranged(a []int) []int {
	a = slices.Clone(a)
	slices.Sort(a)
	return a
}

// reverse exchanges the ends of a, and needs no order.
func reverse(a []int) {
	for i, j := 0, len(a)-1; i < j; i, j = i+1, j-1 {
		a[i], a[j] = a[j], a[i]
	}
}

// drain reads r to its end.
func drain(r *bytes.Reader) (n int) {
	for {
		if _, err := r.ReadByte(); err != nil {
			return n
		}
		n++
	}
}
