// Package benchmarks has work for benchmarks with and without mistakes.
package benchmarks

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
