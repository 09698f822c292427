// Break-even sizes, in elements; below them Go is faster. Written by simdgen tune.

package main

const (
	noopMin = 0
)
