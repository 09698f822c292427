package murmur3

import (
	"encoding/binary"
	"math/bits"
)

// Sum128 reads words instead of bytes, cuts each block off the front, which
// needs no further bounds checks, and reads the tail with loads that overlap
// what is hashed already.
func Sum128(data []byte) (h1, h2 uint64) {
	rest := data
	for len(rest) >= 16 {
		h1 ^= mix1(binary.LittleEndian.Uint64(rest))
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= mix2(binary.LittleEndian.Uint64(rest[8:16]))
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
		rest = rest[16:]
	}
	switch n := len(rest); {
	case n > 8:
		end := binary.LittleEndian.Uint64(rest[n-8:])
		h2 ^= mix2(end >> (8 * (16 - uint(n)) & 63))
		h1 ^= mix1(binary.LittleEndian.Uint64(rest))
	case n > 0:
		h1 ^= mix1(partial(data, rest))
	}
	h1 ^= uint64(len(data))
	h2 ^= uint64(len(data))
	h1 += h2
	h2 += h1
	h1 = avalanche(h1)
	h2 = avalanche(h2)
	h1 += h2
	return h1, h2 + h1
}

// partial reads the last one to eight bytes of data.
func partial(data, rest []byte) uint64 {
	n := len(rest)
	if len(data) >= 8 {
		return binary.LittleEndian.Uint64(data[len(data)-8:]) >> (8 * (8 - uint(n)) & 63)
	}
	if n >= 4 {
		low := uint64(binary.LittleEndian.Uint32(rest))
		high := uint64(binary.LittleEndian.Uint32(rest[n-4:]))
		return low | high>>(8*(8-uint(n))&63)<<32
	}
	return uint64(rest[0]) | uint64(rest[n/2])<<(8*uint(n/2)) | uint64(rest[n-1])<<(8*uint(n-1))
}

func mix1(k uint64) uint64 {
	return bits.RotateLeft64(k*0x87c37b91114253d5, 31) * 0x4cf5ad432745937f
}

func mix2(k uint64) uint64 {
	return bits.RotateLeft64(k*0x4cf5ad432745937f, 33) * 0x87c37b91114253d5
}

func avalanche(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
