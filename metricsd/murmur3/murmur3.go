// Package murmur3 is MurmurHash3, the variant of 128 bits for 64-bit machines,
// of which [Sum64] is the first half. It is quick and spreads well, and Datadog's
// Agent uses it for its context keys.
//
// It is no cryptographic hash: an attacker who knows the seed can make inputs that collide, and
// some inputs collide for every seed.
package murmur3

import "math/bits"

const (
	c1 = 0x87c37b91114253d5
	c2 = 0x4cf5ad432745937f
)

// Sum64 returns the first half of [Sum128].
func Sum64[T string | []byte](data T, seed uint64) uint64 {
	h1, _ := Sum128(data, seed)
	return h1
}

// Sum128 returns the hash. Seeds of more than 32 bits are an extension of the
// reference, which has only those.
func Sum128[T string | []byte](data T, seed uint64) (h1, h2 uint64) {
	h1, h2 = seed, seed
	rest := data
	for len(rest) >= 16 {
		h1, h2 = block(h1, h2, word(rest), word(rest[8:]))
		rest = rest[16:]
	}
	if len(rest) > 8 {
		h2 ^= mix2(partial(rest[8:]))
		rest = rest[:8]
	}
	if len(rest) > 0 {
		h1 ^= mix1(partial(rest))
	}
	return finish(h1, h2, uint64(len(data)))
}

func block(h1, h2, k1, k2 uint64) (uint64, uint64) {
	h1 ^= mix1(k1)
	h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
	h2 ^= mix2(k2)
	h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	return h1, h2
}

func mix1(k uint64) uint64 { return bits.RotateLeft64(k*c1, 31) * c2 }

func mix2(k uint64) uint64 { return bits.RotateLeft64(k*c2, 33) * c1 }

// word reads 8 bytes, little end first; the compiler makes one load of it.
func word[T string | []byte](s T) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// partial reads at most 8 bytes, little end first.
func partial[T string | []byte](s T) (k uint64) {
	for i := len(s) - 1; i >= 0; i-- {
		k = k<<8 | uint64(s[i])
	}
	return k
}

func finish(h1, h2, length uint64) (uint64, uint64) {
	h1 ^= length
	h2 ^= length
	h1 += h2
	h2 += h1
	h1 = avalanche(h1)
	h2 = avalanche(h2)
	h1 += h2
	return h1, h2 + h1
}

func avalanche(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
