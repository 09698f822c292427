package agent

import (
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/beagle-go/beagle/metricsd/aggregate"
)

// cache knows metric lines again by the bytes around their value, so that a line of which the like
// was read before is not parsed, and its context not looked up. It keeps no bytes but a hash of
// them, 64 bits of a keyed hash that nobody outside sees: a line that was never seen is mistaken for
// one of 100,000 that were with a probability of 5e-15.
//
// It is in front of the context's key and not in its place: the same tags in another order are
// another place with the same handle. It is bounded. A new line goes to the first of its two sets
// that has room, or else drives out the oldest of the second that was not asked for since.
type cache struct {
	seed   maphash.Seed
	sets   []cachedSet // as many as a power of two
	most   int         // the bound of their number
	filled int         // places that are in use
	salt   uint64      // stands for what else decides on a line's context
}

// cached is what is known of a line.
type cached struct {
	sum    uint64
	handle aggregate.Handle
	rate   float64 // isSet for sets, of which it says nothing
}

// isSet marks a line whose value is no number.
const isSet = 0

// cachedSet are the places that a line's hash leaves it, in two cache lines.
type cachedSet struct {
	places [5]cached
	again  [5]bool // it was asked for since it came, or since it was last passed over
	hand   uint8   // where the next new line goes
}

const placesPerSet = len(cachedSet{}.places)

// fingerprint is what a line is known by: its two sets and its sum.
type fingerprint struct {
	at  [2]uint32
	sum uint64
}

// newCache makes a cache for at least so many lines. It takes their memory as they come.
func newCache(lines int) *cache {
	most := 1
	for most*placesPerSet < lines {
		most *= 2
	}
	return &cache{seed: maphash.MakeSeed(), sets: make([]cachedSet, min(64, most)), most: most}
}

// salted has the next lines told apart by who sent them.
func (c *cache) salted(sender string) {
	c.salt = 0
	if sender != "" {
		c.salt = maphash.String(c.seed, sender)
	}
}

// of returns the fingerprint of a line.
func (c *cache) of(head, tail []byte) fingerprint {
	h, t := maphash.Bytes(c.seed, head), maphash.Bytes(c.seed, tail)
	at := (h ^ bits.RotateLeft64(t, 32)) * 0x9e3779b97f4a7c15
	return fingerprint{
		at:  [2]uint32{uint32(at >> 32), uint32(at)},
		sum: bits.RotateLeft64(h, 1) ^ t ^ c.salt,
	}
}

// find returns what is known of a line, or nil.
func (c *cache) find(f fingerprint) *cached {
	for _, at := range f.at {
		set := c.set(at)
		for i := range set.places {
			if e := &set.places[i]; e.sum == f.sum && e.handle.Leads() {
				if !set.again[i] { // what is written each time is slower to read
					set.again[i] = true
				}
				return e
			}
		}
		if set.room() {
			break
		}
	}
	return nil
}

func (c *cache) set(at uint32) *cachedSet { return &c.sets[at&uint32(len(c.sets)-1)] }

// room reports whether a place is free: those that are taken come first.
func (s *cachedSet) room() bool { return !s.places[placesPerSet-1].handle.Leads() }

// put enters what is known of a line, in its own place if it has one.
func (c *cache) put(f fingerprint, known cached) {
	if c.filled > len(c.sets)*placesPerSet*3/4 && len(c.sets) < c.most {
		c.sets, c.filled = make([]cachedSet, 2*len(c.sets)), 0 // what is known comes again
	}
	e := c.find(f)
	if e == nil {
		e = c.place(f)
	}
	if !e.handle.Leads() {
		c.filled++
	}
	known.sum = f.sum
	*e = known
}

// place returns where a new line goes.
func (c *cache) place(f fingerprint) *cached {
	if set := c.set(f.at[0]); set.room() {
		return set.next()
	}
	return c.set(f.at[1]).next()
}

// next returns the place for a new line: a free one, or else the oldest that was not asked for
// again. What is passed over must be asked for again to stay the next time.
func (s *cachedSet) next() *cached {
	if s.room() {
		free := slices.IndexFunc(s.places[:], func(e cached) bool { return !e.handle.Leads() })
		return &s.places[free]
	}
	for {
		at := s.hand
		s.hand = (s.hand + 1) % uint8(placesPerSet)
		if !s.again[at] {
			return &s.places[at]
		}
		s.again[at] = false
	}
}

// drop forgets the lines that a condition holds for.
func (c *cache) drop(condition func(aggregate.Handle) bool) {
	c.filled = 0
	for i := range c.sets {
		set, old := &c.sets[i], c.sets[i]
		*set = cachedSet{hand: old.hand}
		for _, e := range old.places {
			if e.handle.Leads() && !condition(e.handle) {
				*set.next() = e
				c.filled++
			}
		}
	}
}

// clear forgets everything.
func (c *cache) clear() {
	clear(c.sets)
	c.filled = 0
}
