// Package contextkey gives each metric context (a name, a host and a set of
// tags) a key.
package contextkey

import (
	"encoding/binary"
	"math/bits"
	"sort"
)

// Key returns the key of a context. Neither the order of the tags nor how often
// one is repeated counts.
func Key(name, host string, tags []string) uint64 {
	unique := append([]string(nil), tags...)
	sort.Strings(unique)
	key := uint64(0)
	for i, tag := range unique {
		if i > 0 && tag == unique[i-1] {
			continue
		}
		key ^= hash(tag, 0)
	}
	return hash(host, hash(name, key))
}

// hash is the first half of MurmurHash3 for 128 bits.
func hash(text string, seed uint64) uint64 {
	h1, h2 := seed, seed
	rest := text
	for len(rest) >= 16 {
		h1 ^= mix1(word(rest))
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= mix2(word(rest[8:]))
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
		rest = rest[16:]
	}
	if len(rest) > 8 {
		h2 ^= mix2(partial(rest[8:]))
		rest = rest[:8]
	}
	h1 ^= mix1(partial(rest))
	h1 ^= uint64(len(text))
	h2 ^= uint64(len(text))
	h1 += h2
	h2 += h1
	return avalanche(h1) + avalanche(h2)
}

func mix1(k uint64) uint64 { return bits.RotateLeft64(k*0x87c37b91114253d5, 31) * 0x4cf5ad432745937f }

func mix2(k uint64) uint64 { return bits.RotateLeft64(k*0x4cf5ad432745937f, 33) * 0x87c37b91114253d5 }

func word(s string) uint64 { return binary.LittleEndian.Uint64([]byte(s[:8])) }

// partial reads at most eight bytes, the lowest first.
func partial(s string) uint64 {
	k := uint64(0)
	for i := len(s) - 1; i >= 0; i-- {
		k = k<<8 | uint64(s[i])
	}
	return k
}

func avalanche(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
