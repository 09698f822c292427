package crc

import (
	"fmt"
	"hash/crc32"
	"sync/atomic"
)

// Combine returns the Castagnoli checksum of a followed by b, given the
// checksum of each and the length of b. It panics when lenB is negative.
//
// The cost is one table lookup per byte of the checksum and non-zero hex digit
// of lenB, so 12 ns at worst for lengths below 64 KiB. A table takes 4 KiB and
// is made when its digit is first used.
func Combine(crcA, crcB uint32, lenB int64) uint32 { return castagnoliShift.shift(crcA, lenB) ^ crcB }

// CombineIEEE is Combine for the IEEE polynomial.
func CombineIEEE(crcA, crcB uint32, lenB int64) uint32 { return ieeeShift.shift(crcA, lenB) ^ crcB }

// An operator multiplies by a fixed power of x: one table per byte.
type operator [4][256]uint32

// shifter multiplies by x^(8n): entry [i][d] is the operator for n = d·16^i.
type shifter struct {
	poly uint32
	ops  [16][16]atomic.Pointer[operator]
}

var (
	castagnoliShift = shifter{poly: crc32.Castagnoli}
	ieeeShift       = shifter{poly: crc32.IEEE}
)

func (s *shifter) shift(crc uint32, n int64) uint32 {
	if n < 0 {
		panic(fmt.Sprintf("crc: Combine with negative length %d", n))
	}
	for i := 0; n != 0; i++ {
		if d := n & 15; d != 0 {
			op := s.ops[i&15][d].Load()
			if op == nil {
				op = s.make(i, int(d))
			}
			crc = op[0][crc&255] ^ op[1][crc>>8&255] ^ op[2][crc>>16&255] ^ op[3][crc>>24]
		}
		n >>= 4
	}
	return crc
}

// make fills the operator for d·16^i. Two goroutines may both do it; the
// results are the same.
func (s *shifter) make(i, d int) *operator {
	step := s.power(8)
	for range 4 * i {
		step = s.times(step, step)
	}
	factor := uint32(1 << 31)
	for range d {
		factor = s.times(factor, step)
	}
	op := new(operator)
	for b := range op {
		for v := range op[b] {
			op[b][v] = s.times(uint32(v)<<(8*b), factor)
		}
	}
	s.ops[i][d].Store(op)
	return op
}

// power returns x^n; bit 31 is the constant term.
func (s *shifter) power(n int) uint32 {
	v := uint32(1 << 31)
	for range n {
		v = s.timesX(v)
	}
	return v
}

func (s *shifter) timesX(v uint32) uint32 { return v>>1 ^ s.poly&-(v&1) }

// times returns a·b modulo the polynomial.
func (s *shifter) times(a, b uint32) (r uint32) {
	for ; a != 0; a <<= 1 {
		r ^= b & -(a >> 31)
		b = s.timesX(b)
	}
	return r
}
