package simd

// Lengths below which the exported functions stay in Go. A kernel call costs
// about as much as a loop over this many elements; simdgen tune measures the
// kernels' own break-even sizes, these are about the whole function, loop and
// call, and come from bench -only small.
const (
	lowerSmall       = 12
	equalMaskSmall   = 16
	minMaxIntSmall   = 28
	minMaxFloatSmall = 9
	sumFloatSmall    = 24 // part of what SumFloat64 promises: the order changes here
)
