package simd

import "bytes"

// EqualMask sets bit i%64 of mask[i/64] when b[i] is c, and clears it when it
// is not; the bits after the last byte are cleared as well. It writes the first
// (len(b)+63)/64 words and panics when mask is shorter.
func EqualMask(mask []uint64, b []byte, c byte) {
	if len(b) == 0 {
		return
	}
	if len(b) >= equalMaskSmall || len(mask) == 0 {
		longMask(mask, b, c)
		return
	}
	var m uint64
	for j, v := range b {
		if v == c {
			m |= 1 << j
		}
	}
	mask[0] = m
}

// longMask is EqualMask by the kernel, and what refuses. It is not inlined:
// what it spills would slow the short path.
//
//go:noinline
func longMask(mask []uint64, b []byte, c byte) {
	if len(mask) < (len(b)+63)/64 {
		panic("simd: EqualMask: mask is shorter than one bit per byte")
	}
	for len(b) > chunk {
		equalMask(mask[:chunk/64], b[:chunk], c)
		mask, b = mask[chunk/64:], b[chunk:]
	}
	equalMask(mask[:(len(b)+63)/64], b, c)
}

// chunk is how much the kernels that are not cut up by their wrappers get at
// once: they cannot be interrupted.
const chunk = 256 << 10

func equalMaskGo(mask []uint64, b []byte, c byte) {
	for i := 0; i < len(b); i += 64 {
		var m uint64
		for j, v := range b[i:min(i+64, len(b))] {
			if v == c {
				m |= 1 << j
			}
		}
		mask[i/64] = m
	}
}

// Count returns how many bytes of b are c.
func Count(b []byte, c byte) int { return count(b, c) }

// CountString is Count for a string.
func CountString(s string, c byte) int { return countString(s, c) }

func countGo(b []byte, c byte) int { return bytes.Count(b, []byte{c}) }
