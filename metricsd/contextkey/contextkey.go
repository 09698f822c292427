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
//   - The table of tags grows with their number: no fixed size, no slower second
//     way above it.
//
// # Limits
//
// Two contexts may share a key: by chance one pair among a million contexts with a probability of
// 3e-8. They become one, under the name and the type of the first: even a set and a gauge can,
// since package aggregate makes the type a part of the key. Murmur3 does not stop an adversary; the
// seed, which is new in every process, makes it harder and keeps keys from being stored.
package contextkey

import "github.com/beagle-go/beagle/metricsd/murmur3"

// Generator makes keys. It keeps its table from call to call and is for one
// goroutine.
type Generator struct {
	seed   uint64
	hashes []uint64 // of the unique tags so far, in their order
	slots  []int32  // open addressing: index into hashes plus one, 0 is free
}

// NewGenerator makes a generator. Keys of two generators with the same seed are
// the same.
func NewGenerator(seed uint64) *Generator { return &Generator{seed: seed} }

// Key returns the context's key and its tags without duplicates. It compacts tags
// in place: the result is the front of it, in the order of first appearance.
func (g *Generator) Key(name, host string, tags []string) (key uint64, unique []string) {
	return g.KeyHashed(name, host, tags, nil)
}

// KeyHashed is [Generator.Key] for tags of which the first are hashed already, with
// [murmur3.Sum64] and the generator's seed; those beyond hashes are hashed here.
func (g *Generator) KeyHashed(name, host string, tags []string, hashes []uint64) (key uint64, unique []string) {
	g.reset(len(tags))
	unique = tags[:0]
	sum := g.seed
	for i, tag := range tags {
		hash := g.hash(i, tag, hashes)
		if g.add(hash, tag, unique) {
			unique = append(unique, tag)
			sum += hash
		}
	}
	key = murmur3.Sum64(name, sum)
	return murmur3.Sum64(host, key), unique
}

func (g *Generator) hash(i int, tag string, known []uint64) uint64 {
	if i < len(known) {
		return known[i]
	}
	return murmur3.Sum64(tag, g.seed)
}

// reset makes room for n tags in a table that is at most half full.
func (g *Generator) reset(n int) {
	g.hashes = g.hashes[:0]
	size := 16
	for size < 2*n {
		size *= 2
	}
	if cap(g.slots) < size {
		g.slots = make([]int32, size)
	}
	g.slots = g.slots[:size]
	clear(g.slots)
}

// add enters a tag and says whether it is new.
func (g *Generator) add(hash uint64, tag string, unique []string) bool {
	mask := uint64(len(g.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		at := g.slots[i] - 1
		if at < 0 {
			g.hashes = append(g.hashes, hash)
			g.slots[i] = int32(len(g.hashes))
			return true
		}
		if g.hashes[at] == hash && unique[at] == tag {
			return false
		}
	}
}
