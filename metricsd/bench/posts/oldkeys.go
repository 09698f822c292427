package main

import (
	"slices"

	"github.com/beagle-go/beagle/metricsd/murmur3"
)

// sortedKey makes the key in the first way of the second post: it sorts the tags, takes each once,
// and hashes one after the other into the key. It also returns these tags.
func sortedKey(name, host string, tags []string) (uint64, []string) {
	slices.Sort(tags)
	tags = slices.Compact(tags)
	h1, h2 := murmur3.Sum128(name, 0)
	h1, h2 = murmur3.Sum128(host, h1^h2)
	for _, t := range tags {
		h1, h2 = murmur3.Sum128(t, h1^h2)
	}
	return h1, tags
}

// agentSlots is the size of the Agent's set: it never grows.
const agentSlots = 512

// An agentKeys is the way that the post arrives at, and the Agent has: the exclusive or of the
// tags' hashes, each once. A set of 512 places with the hashes tells which were there; more tags
// than places are sorted after all. It follows the post and is not the Agent's code.
type agentKeys struct {
	seen   [agentSlots]uint64
	hashes []uint64
}

// few is the number of tags up to which they are compared with one another.
const few = 4

func (g *agentKeys) key(name, host string, tags []string) uint64 {
	var key uint64
	switch n := len(tags); {
	case n > agentSlots:
		slices.Sort(tags)
		for _, t := range slices.Compact(tags) {
			key ^= murmur3.Sum64(t, 0)
		}
	case n > few:
		key = g.bySet(tags)
	default:
		key = g.byComparing(tags)
	}
	return murmur3.Sum64(host, murmur3.Sum64(name, key))
}

func (g *agentKeys) byComparing(tags []string) (key uint64) {
	g.hashes = g.hashes[:0]
	for _, t := range tags {
		if h := murmur3.Sum64(t, 0); !slices.Contains(g.hashes, h) {
			g.hashes = append(g.hashes, h)
			key ^= h
		}
	}
	return key
}

// bySet uses twice as many places as there are tags, up to the set's size. In the set 0 marks a
// free place; the post's sketch does not mention that.
func (g *agentKeys) bySet(tags []string) (key uint64) {
	size := 8
	for size < 2*len(tags) && size < agentSlots {
		size *= 2
	}
	seen := g.seen[:size]
	clear(seen)
	for _, t := range tags {
		h := murmur3.Sum64(t, 0)
		at := h & uint64(size-1)
		for seen[at] != 0 && seen[at] != h {
			at = (at + 1) & uint64(size-1)
		}
		if seen[at] == 0 {
			seen[at] = h
			key ^= h
		}
	}
	return key
}
