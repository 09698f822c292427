// Package contextkey gives every metric context (name, host and set of tags) a
// key of 64 bits.
//
// The key does not depend on the order of the tags nor on how often one is
// repeated. The sum of the tags' hashes is the seed with which the name is
// hashed, and the name's hash the seed for the host. That shape answers the
// faults that such keys have had elsewhere:
//
//   - A sum, not an exclusive or: a tag that comes twice, two tags of one hash, or
//     a name that equals a tag cannot cancel.
//   - Duplicates are found by comparing the tags themselves; the hash only says
//     where to look. A hash of zero is a hash like any other.
//   - Name and host are hashed one after the other, not joined, so that
//     "metric"+"host" and "metrich"+"ost" differ.
//   - The table of tags grows with their number: no fixed size that could fill up,
//     no sorting above it.
//
// Up to 16 tags a bitmap proves nearly all of them new; only what it does not is compared with
// those before. More have a table whose places are stamped with the call, so that nothing is
// cleared.
//
// # Limits
//
// Two contexts may share a key: by chance one pair among a million contexts with a probability of
// 3e-8. They become one, under the name and the type of the first: even a set and a gauge can,
// since package aggregate makes the type a part of the key. Murmur3 does not stop an adversary; the
// seed, which is new in every process, makes it harder and keeps keys from being stored.
package contextkey

import (
	"slices"

	"github.com/beagle-go/beagle/metricsd/murmur3"
)

// Generator makes keys. It keeps its table between calls and is for one goroutine.
type Generator struct {
	seed  uint64
	table []place
	stamp uint64 // of the last call
}

// NewGenerator makes a generator. Keys of two generators with the same seed are
// the same.
func NewGenerator(seed uint64) *Generator { return &Generator{seed: seed} }

// Key returns the context's key and its tags without duplicates. It compacts tags
// in place: the result is the front of it, in the order of first appearance.
func (g *Generator) Key(name, host string, tags []string) (key uint64, unique []string) {
	return g.KeyHashed(name, host, tags, nil)
}

// KeyHashed is [Generator.Key] for tags of which the first are hashed already, with [murmur3.Sum64]
// and the generator's seed; it hashes the others.
func (g *Generator) KeyHashed(name, host string, tags []string, hashes []uint64) (key uint64, unique []string) {
	var sum uint64
	var n int
	if len(tags) <= few {
		sum, n = g.few(tags, hashes)
	} else {
		sum, n = g.many(tags, hashes)
	}
	key = murmur3.Sum64(name, g.seed+sum)
	return murmur3.Sum64(host, key), tags[:n]
}

func (g *Generator) hash(i int, tag string, known []uint64) uint64 {
	if i < len(known) { // always, except for tags that no parser has read
		return known[i]
	}
	return murmur3.Sum64(tag, g.seed)
}

// few is the number of tags up to which a bitmap of 1024 bits proves nearly all of them new.
const few = 16

// few moves different tags to the front, and returns their number and the sum of their hashes.
func (g *Generator) few(tags []string, hashes []uint64) (sum uint64, n int) {
	var seen [16]uint64
	for i, tag := range tags {
		hash := g.hash(i, tag, hashes)
		word, bit := &seen[hash>>6%16], uint64(1)<<(hash%64)
		if *word&bit != 0 && slices.Contains(tags[:n], tag) {
			continue
		}
		*word |= bit
		if n < i { // a tag that stays in its place is not written again
			tags[n] = tag
		}
		n++
		sum += hash
	}
	return sum, n
}

// A place of the table holds the stamp of the call that wrote it, a part of a tag's hash, and the
// tag's index.
type place uint64

const (
	indexBits = 24
	partBits  = 20
	stamps    = 1 << (64 - indexBits - partBits)
	mostTags  = 1<<indexBits - 1
)

// many is few for any number of tags. After the first 2^24 different tags, one that repeats counts
// twice.
func (g *Generator) many(tags []string, hashes []uint64) (sum uint64, n int) {
	table := g.fresh(len(tags))
	stamp := place(g.stamp << partBits)
	mask := uint64(len(table) - 1)
	for i, tag := range tags {
		hash := g.hash(i, tag, hashes)
		head := stamp | place(hash>>(64-partBits))
		at := hash & mask
		for table[at]>>indexBits != head || tags[table[at]&mostTags] != tag {
			if table[at]>>(indexBits+partBits) != place(g.stamp) { // it is free
				table[at] = head<<indexBits | place(n)&mostTags
				if n < i {
					tags[n] = tag
				}
				n++
				sum += hash
				break
			}
			at = (at + 1) & mask
		}
	}
	return sum, n
}

// fresh returns a table that n tags fill to a quarter at most, and in which no place has the stamp
// of this call.
func (g *Generator) fresh(n int) []place {
	size := 256
	for size < 4*n {
		size *= 2
	}
	if g.stamp++; len(g.table) < size || g.stamp == stamps {
		g.table, g.stamp = make([]place, max(size, len(g.table))), 1
	}
	return g.table[:size]
}
