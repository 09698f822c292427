// Break-even sizes, in elements; below them Go is faster. Written by simdgen tune.

package simd

const (
	asciiIndexMin    = 0
	classIndexMin    = 0
	countMin         = 0
	equalMaskMin     = 0
	lowerMin         = 0
	minMaxFloat64Min = 0
	minMaxInt64Min   = 0
	sumFloat64Min    = 0
	sumInt64Min      = 0
	tagIndexMin      = 0
	tagsIndexMin     = 0
)
