package agent

import (
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/beagle-go/beagle/metricsd/aggregate"
)

// cache knows metric lines again by the bytes around their value, so that a line of which the like
// was read before is not parsed, and its context not looked up. It keeps no bytes but a hash of
// them, 64 bits of a keyed hash that nobody outside sees: a line that was never seen is mistaken
// for one of 100,000 that were with a probability of 5e-15.
//
// It is in front of the context's key and not in its place: the same tags in another order are
// another place with the same handle. It is bounded. A new line goes to the first of its two sets
// that has room, or else drives out the oldest of the second that was not asked for since.
type cache struct {
	seed   maphash.Seed
	sets   []cachedSet // as many as a power of two
	most   int         // the bound of their number
	filled int         // places that are in use
	salt   uint64      // stands for everything else that decides on a line's context
	rates  []float64   // those that lines have had; isSet is the first
}

// cached holds the facts about a line.
type cached struct {
	handle aggregate.Handle
	rate   float64 // isSet for sets, of which it says nothing
}

// isSet marks a line whose value is no number.
const isSet = 0

const placesPerSet = 3

// cachedSet are the places that a line's hash leaves it, in the 64 bytes that a processor fetches
// at a time. Those that are taken come first.
type cachedSet struct {
	sums    [placesPerSet]uint64
	handles [placesPerSet]aggregate.Handle
	rates   [placesPerSet]uint8 // places in the cache's list
	again   [placesPerSet]bool  // it was asked for since it came, or since it was last passed over
	hand    uint8               // where the next new line goes
	_       [64 - placesPerSet*(8+8+1+1) - 1]byte
}

// maxRates bounds the sample rates that are known: clients have one or two.
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

// salted makes the next lines distinct by their sender.
func (c *cache) salted(sender string) {
	c.salt = 0
	if sender != "" {
		c.salt = maphash.String(c.seed, sender)
	}
}

// sum returns what a line is known by, which is not 0: that is a free place.
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

// homes returns the sets where a line can be. It is in the second only if the first was full.
func (c *cache) homes(sum uint64) (first, second *cachedSet) {
	mask := uint64(len(c.sets) - 1)
	return &c.sets[sum&mask], &c.sets[sum>>32&mask]
}

// place returns where in the set a line is, or -1.
func (s *cachedSet) place(sum uint64) int {
	for i := range s.sums {
		if s.sums[i] == sum {
			return i
		}
	}
	return -1
}

// ask returns what is at a place.
func (c *cache) ask(s *cachedSet, i int) cached {
	if !s.again[i] { // memory that is written each time is slower to read
		s.again[i] = true
	}
	return cached{s.handles[i], c.rates[s.rates[i]]}
}

// room reports whether a place is free.
func (s *cachedSet) room() bool { return s.sums[placesPerSet-1] == 0 }

// put enters what is known of a line, in its own place if it has one. One whose rate is a rate too
// many stays unknown.
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

// enter gives a place to a line that has none.
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

// next returns the place for a new line: a free one, or else the oldest that was not asked for
// again. A line that it passes over must be asked for again to stay the next time.
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

// remake goes to another number of sets with the lines whose handles are to stay.
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
