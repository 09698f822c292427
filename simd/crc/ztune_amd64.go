// Break-even sizes, in elements; below them Go is faster. Written by simdgen tune.

package crc

const (
	pairMin       = 0
	pairIeeeMin   = 0
	updateMin     = 0
	updateIeeeMin = 0
)
