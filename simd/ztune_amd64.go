// Break-even sizes, in elements; below them Go is faster. Written by simdgen tune.

package simd

const (
	asciiIndexMin = 0
	classIndexMin = 0
	tagIndexMin   = 0
)
