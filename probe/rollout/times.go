package rollout

import (
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/beagle-go/beagle/probe/wire"
)

// buckets is the number of sizes of time: two for each power of two. The last one also holds calls
// of more than four seconds.
const buckets = 64

// A histogram holds calls by the size of their time. The clock also runs while the kernel gives the
// processor to others, so that one call in many thousand has taken milliseconds and outweighs the
// rest. A sum alone could not leave such calls out again.
type histogram [buckets]struct{ calls, nanos atomic.Uint64 }

// times is the content of a histogram at one moment.
type times [buckets]struct{ calls, nanos uint64 }

// bucketOf returns the bucket of a time: floor(n) for 0 and 1, and then each power of two in
// halves.
func bucketOf(nanos uint64) int {
	if nanos < 2 {
		return int(nanos)
	}
	length := bits.Len64(nanos)
	return min(buckets-1, 2*(length-1)+int(nanos>>(length-2)&1))
}

// bucketBound returns the least time that is above those of a bucket.
func bucketBound(bucket int) float64 {
	next := uint64(bucket + 1)
	if next < 2 {
		return float64(next)
	}
	return float64((2 + next%2) << (next/2 - 1))
}

// add enters the time of a call.
func (h *histogram) add(nanos uint64) {
	b := &h[bucketOf(nanos)]
	b.calls.Add(1)
	b.nanos.Add(nanos)
}

// timesOf adds up the shards' times of the compared calls of an arm.
func (s *Switch) timesOf(arm Arm) (t times) {
	for i := range s.shards {
		h := &s.shards[i].of[arm].times
		for b := range h {
			t[b].calls += h[b].calls.Load()
			t[b].nanos += h[b].nanos.Load()
		}
	}
	return t
}

// enterTimes adds the times between two readings to a slice: the sums, and the calls by size.
func enterTimes(c *wire.RolloutCounts, before, after *times) {
	for b := range after {
		calls := float64(after[b].calls - before[b].calls)
		if calls == 0 {
			continue
		}
		nanos := float64(after[b].nanos - before[b].nanos)
		c.Calls += calls
		c.FunctionNanos += nanos
		size := sizeIn(c, bucketBound(b))
		size.Calls += calls
		size.Nanos += nanos
	}
}

// sizeIn returns a slice's entry of a size, in order.
func sizeIn(c *wire.RolloutCounts, below float64) *wire.RolloutTimes {
	at := 0
	for at < len(c.Times) && c.Times[at].Below < below {
		at++
	}
	if at == len(c.Times) || c.Times[at].Below != below {
		c.Times = append(c.Times, wire.RolloutTimes{})
		copy(c.Times[at+1:], c.Times[at:])
		c.Times[at] = wire.RolloutTimes{Below: below}
	}
	return &c.Times[at]
}

// At most one call in this number is timed, and one is run on both versions.
const (
	timeEvery         = 128
	timeEveryRequests = 8 // a candidate of a small share has few calls
	checkEvery        = 1024
)

// wantedTimes is the number of calls of an arm that a block should time. Where calls are few, more
// of them are timed.
const wantedTimes = 2000

// spread is 2^64 divided by the golden ratio. Its multiples lie spread over all numbers, whichever
// stretch of them is taken. A fixed stride would meet the same call of a pattern that repeats.
const spread = 0x9e3779b97f4a7c15

// one returns the bound below which one of n multiples of spread lies, for n = in.
func one(in uint64) (below uint64) { return math.MaxUint64 / in }

// chosen reports whether the nth call of a shard is timed, and whether it is run on both versions.
func chosen(n, below uint64) (timed, checked bool) {
	const half = 1 << 63
	at := n * spread
	return at < below, at-half < math.MaxUint64/checkEvery
}

// tune chooses how many calls the next block times, by how many its arms had in this one. All arms
// have the same chance in a block.
func (s *Switch) tune(calls float64) {
	every := uint64(1)
	for every < timeEvery && calls >= 2*wantedTimes*float64(every) {
		every *= 2
	}
	s.timed.Store(one(every))
}

// fewest returns how many calls the arm of fewest calls had since.
func (s *Switch) fewest(kind []Arm, since map[Arm]uint64) float64 {
	fewest := math.Inf(1)
	for _, arm := range kind {
		fewest = min(fewest, float64(s.compared(arm).entered-since[arm]))
	}
	return fewest
}
