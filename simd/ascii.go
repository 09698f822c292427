package simd

import "encoding/binary"

// ASCII reports whether every byte of b is below 0x80.
func ASCII(b []byte) bool { return len(b) == 0 || asciiIndex(b) == len(b) }

// ASCIIString is ASCII for a string.
func ASCIIString(s string) bool { return len(s) == 0 || asciiIndexString(s) == len(s) }

// IndexNonASCII returns the index of the first byte of b from 0x80 on, or -1.
func IndexNonASCII(b []byte) int { return orMinusOne(asciiIndex(b), len(b)) }

// IndexNonASCIIString is IndexNonASCII for a string.
func IndexNonASCIIString(s string) int { return orMinusOne(asciiIndexString(s), len(s)) }

// orMinusOne turns the kernels' "length means none" into Go's convention.
func orMinusOne(i, n int) int {
	if i == n {
		return -1
	}
	return i
}

// asciiIndexGo reads words; the last one overlaps.
func asciiIndexGo(b []byte) int {
	const high = 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if binary.LittleEndian.Uint64(b[i:])&high != 0 {
			break
		}
	}
	for ; i < len(b); i++ {
		if b[i] >= 0x80 {
			return i
		}
	}
	return len(b)
}
