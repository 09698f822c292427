// Package murmur3 is MurmurHash3 for 128 bits, as the reference describes it.
package murmur3

const (
	c1 = 0x87c37b91114253d5
	c2 = 0x4cf5ad432745937f
)

// Sum128 returns the hash of data, with seed 0.
func Sum128(data []byte) (h1, h2 uint64) {
	blocks := len(data) / 16
	for i := 0; i < blocks; i++ {
		k1 := uint64(data[i*16]) | uint64(data[i*16+1])<<8 | uint64(data[i*16+2])<<16 | uint64(data[i*16+3])<<24 |
			uint64(data[i*16+4])<<32 | uint64(data[i*16+5])<<40 | uint64(data[i*16+6])<<48 | uint64(data[i*16+7])<<56
		k2 := uint64(data[i*16+8]) | uint64(data[i*16+9])<<8 | uint64(data[i*16+10])<<16 | uint64(data[i*16+11])<<24 |
			uint64(data[i*16+12])<<32 | uint64(data[i*16+13])<<40 | uint64(data[i*16+14])<<48 | uint64(data[i*16+15])<<56

		k1 *= c1
		k1 = rotate(k1, 31)
		k1 *= c2
		h1 ^= k1
		h1 = rotate(h1, 27)
		h1 += h2
		h1 = h1*5 + 0x52dce729

		k2 *= c2
		k2 = rotate(k2, 33)
		k2 *= c1
		h2 ^= k2
		h2 = rotate(h2, 31)
		h2 += h1
		h2 = h2*5 + 0x38495ab5
	}

	tail := data[blocks*16:]
	var k1, k2 uint64
	for i := len(tail) - 1; i >= 8; i-- {
		k2 ^= uint64(tail[i]) << (8 * (i - 8))
	}
	k2 *= c2
	k2 = rotate(k2, 33)
	k2 *= c1
	h2 ^= k2
	for i := min(len(tail), 8) - 1; i >= 0; i-- {
		k1 ^= uint64(tail[i]) << (8 * i)
	}
	k1 *= c1
	k1 = rotate(k1, 31)
	k1 *= c2
	h1 ^= k1

	h1 ^= uint64(len(data))
	h2 ^= uint64(len(data))
	h1 += h2
	h2 += h1
	h1 = mix(h1)
	h2 = mix(h2)
	h1 += h2
	h2 += h1
	return h1, h2
}

func rotate(x uint64, n uint) uint64 { return x<<n | x>>(64-n) }

func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	return h
}
