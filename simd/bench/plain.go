package main

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// The best plain Go that we know for each kernel.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

//go:noinline
func plainNoop(p *byte, n int) int { return n }

//go:noinline
func plainASCII(b []byte) int {
	const high = 0x8080808080808080
	for i := 0; i+8 <= len(b); i += 8 {
		if m := binary.LittleEndian.Uint64(b[i:]) & high; m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i := len(b) &^ 7; i < len(b); i++ {
		if b[i] >= 0x80 {
			return i
		}
	}
	return len(b)
}

var tagTable = classTable("abcdefghijklmnopqrstuvwxyz0123456789_:./-")

func classTable(members string) *[256]uint8 {
	t := new([256]uint8)
	for i := range len(members) {
		t[members[i]] = 1
	}
	return t
}

// naiveTag is the loop that everybody writes first.
//
//go:noinline
func naiveTag(b []byte) int {
	for i, c := range b {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == ':' || c == '.' || c == '/' || c == '-') {
			return i
		}
	}
	return len(b)
}

// plainTag reads a table and branches once per eight bytes.
//
//go:noinline
func plainTag(b []byte) int { return plainClass(b, tagTable) }

func plainClass(b []byte, t *[256]uint8) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := b[i : i+8 : i+8]
		if t[w[0]]&t[w[1]]&t[w[2]]&t[w[3]]&t[w[4]]&t[w[5]]&t[w[6]]&t[w[7]] == 0 {
			break
		}
	}
	for ; i < len(b); i++ {
		if t[b[i]] == 0 {
			return i
		}
	}
	return len(b)
}

//go:noinline
func plainLower(dst, src []byte) {
	dst = dst[:len(src)]
	for i, c := range src {
		if c-'A' < 26 {
			c |= 0x20
		}
		dst[i] = c
	}
}

//go:noinline
func plainMask(mask []uint64, b []byte, c byte) {
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

//go:noinline
func plainSum(s []int64) (t int64) {
	var a, b, c, d int64
	for ; len(s) >= 4; s = s[4:] {
		a, b, c, d = a+s[0], b+s[1], c+s[2], d+s[3]
	}
	for _, v := range s {
		t += v
	}
	return t + a + b + c + d
}

//go:noinline
func plainSumFloat(s []float64) (t float64) {
	var a, b, c, d float64
	for ; len(s) >= 4; s = s[4:] {
		a, b, c, d = a+s[0], b+s[1], c+s[2], d+s[3]
	}
	for _, v := range s {
		t += v
	}
	return t + a + b + c + d
}

//go:noinline
func plainExtremes(s []int64) (lo, hi int64) {
	lo, hi = s[0], s[0]
	for _, v := range s[1:] {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

//go:noinline
func plainFloatExtremes(s []float64) (lo, hi float64) {
	lo, hi = s[0], s[0]
	for _, v := range s[1:] {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}
