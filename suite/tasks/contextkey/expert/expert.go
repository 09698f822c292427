package contextkey

import (
	"encoding/binary"
	"math/bits"
)

// Key does not sort: the order of what is joined by exclusive or makes no
// difference. A tag's hash, which is needed anyway, finds it in a table on the
// stack when it was there before. The table is larger than the number of tags by
// a factor of two at least.
func Key(name, host string, tags []string) uint64 {
	if len(tags) > 128 {
		return large(name, host, tags)
	}
	var slots [256]uint8 // number of the tag plus one, 0 is free
	var hashes [128]uint64
	key := uint64(0)
	for i, tag := range tags {
		h := hash(tag, 0)
		if isNew(&slots, &hashes, tags, i, h) {
			key ^= h
		}
	}
	return hash(host, hash(name, key))
}

// isNew enters tag i unless the same tag is there.
func isNew(slots *[256]uint8, hashes *[128]uint64, tags []string, i int, h uint64) bool {
	for at := uint8(h); ; at++ {
		n := slots[at]
		if n == 0 {
			hashes[i&127] = h
			slots[at] = uint8(i) + 1
			return true
		}
		if hashes[(n-1)&127] == h && tags[n-1] == tags[i] {
			return false
		}
	}
}

// large does the same for any number of tags, with tables on the heap.
func large(name, host string, tags []string) uint64 {
	size := 1 << bits.Len(uint(2*len(tags)))
	slots := make([]int32, size)
	hashes := make([]uint64, len(tags))
	key := uint64(0)
next:
	for i, tag := range tags {
		h := hash(tag, 0)
		at := int(h) & (size - 1)
		for ; slots[at] != 0; at = (at + 1) & (size - 1) {
			if n := slots[at] - 1; hashes[n] == h && tags[n] == tag {
				continue next
			}
		}
		slots[at], hashes[i] = int32(i)+1, h
		key ^= h
	}
	return hash(host, hash(name, key))
}

// hash reads the tail with loads that overlap what is hashed already.
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
	switch n := uint(len(rest)); {
	case n > 8:
		h2 ^= mix2(word(rest[n-8:]) >> (8 * (16 - n) & 63))
		h1 ^= mix1(word(rest))
	case n > 0 && len(text) >= 8:
		h1 ^= mix1(word(text[len(text)-8:]) >> (8 * (8 - n) & 63))
	case n > 0:
		h1 ^= mix1(partial(rest))
	}
	h1 ^= uint64(len(text))
	h2 ^= uint64(len(text))
	h1 += h2
	h2 += h1
	return avalanche(h1) + avalanche(h2)
}

func mix1(k uint64) uint64 { return bits.RotateLeft64(k*0x87c37b91114253d5, 31) * 0x4cf5ad432745937f }

func mix2(k uint64) uint64 { return bits.RotateLeft64(k*0x4cf5ad432745937f, 33) * 0x87c37b91114253d5 }

func word(s string) uint64 { return binary.LittleEndian.Uint64([]byte(s[:8])) }

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
