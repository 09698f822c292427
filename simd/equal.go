package simd

import "bytes"

// EqualMask sets bit i%64 of mask[i/64] when b[i] is c, and clears it when it
// is not; the bits after the last byte are cleared as well. It writes the first
// (len(b)+63)/64 words and panics when mask is shorter.
func EqualMask(mask []uint64, b []byte, c byte) {
	words := (len(b) + 63) / 64
	if len(mask) < words {
		panic("simd: EqualMask: mask is shorter than one bit per byte")
	}
	if len(b) < equalMaskSmall {
		if len(b) > 0 {
			mask[0] = smallMask(b, c)
		}
		return
	}
	for len(b) > chunk {
		equalMask(mask[:chunk/64], b[:chunk], c)
		mask, b = mask[chunk/64:], b[chunk:]
	}
	equalMask(mask[:(len(b)+63)/64], b, c)
}

// chunk is how much the kernels that are not cut up by their wrappers get at
// once: they can not be interrupted.
const chunk = 256 << 10

// smallMask is inlined, unlike equalMaskGo.
func smallMask(b []byte, c byte) (m uint64) {
	for j, v := range b {
		if v == c {
			m |= 1 << j
		}
	}
	return m
}

func equalMaskGo(mask []uint64, b []byte, c byte) {
	for i := 0; i < len(b); i += 64 {
		mask[i/64] = smallMask(b[i:min(i+64, len(b))], c)
	}
}

// Count returns how many bytes of b are c.
func Count(b []byte, c byte) int { return count(b, c) }

// CountString is Count for a string.
func CountString(s string, c byte) int { return countString(s, c) }

func countGo(b []byte, c byte) int { return bytes.Count(b, []byte{c}) }
