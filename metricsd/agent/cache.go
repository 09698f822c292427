package agent

import (
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/beagle-go/beagle/metricsd/aggregate"
)

// cache knows metric lines again by the bytes around their value, so that a repeated line is
// neither parsed nor looked up. It keeps only a hash of them: 64 bits, with a key that nobody
// outside sees. The probability that a new line is mistaken for one of 100,000 known ones is 5e-15.
//
// It is in front of the context's key and not in its place: the same tags in another order are
// another place with the same handle. It is bounded. A new line goes to the first of its two sets
// that has room, or else drives out the oldest of the second that was not asked for since.
type cache struct {
	seed   maphash.Seed
	sets   []cachedSet // as many as a power of two
	most   int         // the bound of their number
	filled int         // places that are in use
	salt   uint64      // stands for all other things that a line's context depends on
	rates  []float64   // those that have ever had a line; isSet is the first
}

// cached holds the facts about a known line.
type cached struct {
	handle aggregate.Handle
	rate   float64 // isSet for sets, whose rates it does not hold
}

// isSet marks a line whose value is no number.
const isSet = 0

const placesPerSet = 3

// cachedSet holds the places for one hash of a line, in the 64 bytes that a processor fetches at a
// time. Those that are taken come first.
type cachedSet struct {
	sums    [placesPerSet]uint64
	handles [placesPerSet]aggregate.Handle
	rates   [placesPerSet]uint8 // places in the cache's list
	again   [placesPerSet]bool  // it was found since it came, or since it was last passed over
	hand    uint8               // where the next new line goes
	_       [64 - placesPerSet*(8+8+1+1) - 1]byte
}

// maxRates bounds the known sample rates: clients have one or two.
const maxRates = 256

// newCache makes a cache for at least the given number of lines. Its memory grows as they arrive.
func newCache(lines int) *cache {
	most := 1
	for most*placesPerSet < lines {
		most *= 2
	}
	sets := make([]cachedSet, min(64, most))
	return &cache{seed: maphash.MakeSeed(), sets: sets, most: most, rates: []float64{isSet, 1}}
}

// salted makes lines of different senders differ.
func (c *cache) salted(sender string) {
	c.salt = 0
	if sender != "" {
		c.salt = maphash.String(c.seed, sender)
	}
}

// sum returns the key of a line. It is never 0, which marks a free place.
func (c *cache) sum(head, tail []byte) uint64 {
	return max(1, bits.RotateLeft64(maphash.Bytes(c.seed, head), 1)^maphash.Bytes(c.seed, tail)^c.salt)
}

// find returns the entry of a line; its handle leads nowhere if there is none.
func (c *cache) find(sum uint64) cached {
	first, second := c.homes(sum)
	if i := first.place(sum); i >= 0 {
		return c.ask(first, i)
	}
	if first.room() {
		return cached{}
	}
	if i := second.place(sum); i >= 0 {
		return c.ask(second, i)
	}
	return cached{}
}

// homes returns the sets that may hold a line. It is in the second only if the first was full.
func (c *cache) homes(sum uint64) (first, second *cachedSet) {
	mask := uint64(len(c.sets) - 1)
	return &c.sets[sum&mask], &c.sets[sum>>32&mask]
}

// place returns the index of a line in the set, or -1.
func (s *cachedSet) place(sum uint64) int {
	for i := range s.sums {
		if s.sums[i] == sum {
			return i
		}
	}
	return -1
}

// ask returns the entry at a place, and marks it as used.
func (c *cache) ask(s *cachedSet, i int) cached {
	if !s.again[i] { // memory that is written each time is slower to read
		s.again[i] = true
	}
	return cached{s.handles[i], c.rates[s.rates[i]]}
}

// room reports whether a place is free.
func (s *cachedSet) room() bool { return s.sums[placesPerSet-1] == 0 }

// put enters the facts about a line, in its own place if it has one. A line with one rate too many
// stays unknown.
func (c *cache) put(sum uint64, known cached) {
	rate := slices.Index(c.rates, known.rate)
	if rate < 0 {
		if len(c.rates) == maxRates {
			return
		}
		rate, c.rates = len(c.rates), append(c.rates, known.rate)
	}
	if c.filled > len(c.sets)*placesPerSet*3/4 && len(c.sets) < c.most {
		c.remake(2*len(c.sets), aggregate.Handle.Leads)
	}
	first, second := c.homes(sum)
	for _, set := range []*cachedSet{first, second} {
		if i := set.place(sum); i >= 0 {
			set.handles[i], set.rates[i] = known.handle, uint8(rate)
			return
		}
	}
	c.enter(sum, known.handle, uint8(rate))
}

// enter gives a place to a new line.
func (c *cache) enter(sum uint64, handle aggregate.Handle, rate uint8) {
	home, second := c.homes(sum)
	if !home.room() {
		home = second
	}
	i := home.next()
	if home.sums[i] == 0 {
		c.filled++
	}
	home.sums[i], home.handles[i], home.rates[i] = sum, handle, rate
}

// next returns the place for a new line: a free one, or else the oldest that was not used again. A
// line that is passed over stays only if it is used again before the next time.
func (s *cachedSet) next() (i int) {
	if s.room() {
		return s.place(0)
	}
	for {
		i, s.hand = int(s.hand), (s.hand+1)%placesPerSet
		if !s.again[i] {
			return i
		}
		s.again[i] = false
	}
}

// remake changes the number of sets and keeps the lines whose handles stay.
func (c *cache) remake(sets int, stays func(aggregate.Handle) bool) {
	old := c.sets
	c.sets, c.filled = make([]cachedSet, sets), 0
	for i := range old {
		for j, sum := range old[i].sums {
			if h := old[i].handles[j]; sum != 0 && stays(h) {
				c.enter(sum, h, old[i].rates[j])
			}
		}
	}
}

// clear forgets everything.
func (c *cache) clear() {
	clear(c.sets)
	c.filled = 0
}
