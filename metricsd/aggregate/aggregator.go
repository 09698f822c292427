package aggregate

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// Aggregator spreads contexts over shards by key, so that several goroutines may
// add samples at a time.
type Aggregator struct {
	shards  []*shard
	budget  *budget
	expired atomic.Uint64
}

type shard struct {
	mu      sync.Mutex
	sampler *sampler
}

// New makes an aggregator with the given number of shards.
func New(shards int, limits Limits) *Aggregator {
	a := &Aggregator{budget: newBudget()}
	for i := range min(max(1, shards), math.MaxUint16) {
		a.shards = append(a.shards, &shard{sampler: newSampler(i, limits, a.budget)})
	}
	return a
}

// Add takes a sample that arrived at now, in Unix seconds. It returns a handle for the next samples
// of the same context, or none if there was no room for the context.
func (a *Aggregator) Add(s *Sample, now int64) Handle {
	sh := a.shards[s.Key%uint64(len(a.shards))]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return Handle{sh.sampler.add(s, now)}
}

// Flush returns the points of all buckets before now. Call it once a bucket:
// expiry counts its calls.
func (a *Aggregator) Flush(now int64) []Point {
	var closed [][]Point
	a.eachShard(func(s *sampler) {
		before := s.stats.Expired
		closed = append(closed, s.flush(now))
		a.expired.Add(s.stats.Expired - before)
	})
	return slices.Concat(closed...)
}

// Expired returns how many contexts have expired. While it does not change, all handles stay valid.
func (a *Aggregator) Expired() uint64 { return a.expired.Load() }

// Drain returns all points, with those of the open buckets. Call it at the end.
func (a *Aggregator) Drain() []Point {
	var closed [][]Point
	a.eachShard(func(s *sampler) {
		s.closeBucket()
		closed = append(closed, s.flush(s.bucket))
	})
	return slices.Concat(closed...)
}

// States returns all contexts as a scrape shows them, in no order.
func (a *Aggregator) States() (states []State) {
	a.eachShard(func(s *sampler) { states = s.states(states) })
	return states
}

// Stats returns the counters and the fill.
func (a *Aggregator) Stats() (stats Stats) {
	a.eachShard(func(s *sampler) { stats.add(s.stats) })
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	stats.Contexts, stats.Bytes = a.budget.contexts, a.budget.bytes
	return stats
}

// TopOrigins returns the n senders that hold most contexts.
func (a *Aggregator) TopOrigins(n int) []Origin { return a.budget.largest(n) }

// SetLimits changes the bounds. Contexts over a new bound stay until they expire.
func (a *Aggregator) SetLimits(limits Limits) {
	a.eachShard(func(s *sampler) { s.limits = limits })
}

// eachShard runs f on one shard after the other, so that samples for the others are
// not held up.
func (a *Aggregator) eachShard(f func(*sampler)) {
	for _, sh := range a.shards {
		sh.mu.Lock()
		f(sh.sampler)
		sh.mu.Unlock()
	}
}
