// Break-even sizes, in elements; below them Go is faster. Written by simdgen tune.

package commas

const (
	commasMin = 0
)
