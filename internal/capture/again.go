package capture

import (
	"cmp"
	"hash/maphash"
	"math"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/probe/wire"
)

// lags are the distances, in captured calls, at which calls are compared.
var lags = [...]int{1, 2, 4, 8, 16, 32}

// A repetition counts how often a call has the arguments of an earlier one. A gate lets one call in
// many through. So each lag shows one distance: the lag times the calls between two captured ones,
// and nothing nearer.
type repetition struct {
	seed   maphash.Seed
	same   [len(lags)]int
	pairs  [len(lags)]int
	calls  [len(lags)]float64 // sum of the distances
	counts map[uint64]float64 // captured calls by their arguments
	all    float64
}

// see adds the calls of one site in one process. Each stands for stride calls.
func (c *repetition) see(p Pulled, site int, stride float64) {
	if c.counts == nil {
		c.seed, c.counts = maphash.MakeSeed(), map[uint64]float64{}
	}
	// Put the site's calls in the order of time.
	var list []wire.Event
	for _, e := range p.Events {
		if e.Site == site {
			list = append(list, e)
		}
	}
	inorder.By(list, func(a, b wire.Event) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Seq, b.Seq))
	})
	// Count each call, and compare it with those that came a few calls before.
	keys := make([]uint64, len(list))
	for i, e := range list {
		keys[i] = maphash.Bytes(c.seed, e.Args)
		c.counts[keys[i]]++
		c.all++
		for k, lag := range lags {
			if i < lag {
				break
			}
			c.pairs[k]++
			c.calls[k] += float64(lag) * stride
			if keys[i] == keys[i-lag] {
				c.same[k]++
			}
		}
	}
}

// leastPairs bounds from below the comparisons behind a figure.
const leastPairs = 100

// facets sum up. Chance is how often two captured calls at any distance have the same arguments.
func (c *repetition) facets() []beagle.Repetition {
	equal := 0.0
	for _, n := range c.counts {
		equal += n * (n - 1)
	}
	chance := equal / math.Max(c.all*(c.all-1), 1)
	var out []beagle.Repetition
	for k := range lags {
		if c.pairs[k] < leastPairs {
			continue
		}
		s := shareOf(uint64(c.same[k]), uint64(c.pairs[k]))
		out = append(out, beagle.Repetition{Calls: c.calls[k] / float64(c.pairs[k]), Share: s.Share, Low: s.Low,
			High: s.High, Chance: chance, Pairs: c.pairs[k]})
	}
	return out
}
