package aggregate

import (
	"slices"

	"github.com/beagle-go/beagle/metricsd/dogstatsd"
)

// sampler aggregates the contexts of one shard. It is for one goroutine at a time.
type sampler struct {
	shard   uint16 // its index among the aggregator's shards
	limits  Limits
	budget  *budget
	entries map[uint64]*entry // by entryKey
	// dirty are the entries with samples in the open bucket.
	dirty  []*entry
	bucket int64
	// closed are the points that wait for a flush, timestamped how many of them
	// came with a timestamp.
	closed      []Point
	timestamped int
	flushes     int32
	stats       Stats
	known       Sample // the sample of a Known, for the accumulators
}

// entryKey returns the context's key for one type: a name may come with two types. One word is
// looked up faster than a struct. The key is a hash already, so adding a multiple of an odd number
// makes keys collide no more often than chance does.
func entryKey(sample *Sample) uint64 { return sample.Key + uint64(sample.Type)*0x9e3779b97f4a7c15 }

// An entry is the state of a context. The fields that every sample touches are at its end, and
// the accumulator follows in the same object (see newEntry): with many contexts, waiting for
// memory is most of a sample's cost.
type entry struct {
	Context
	accumulator accumulator
	seen        int32  // the number of flushes before the last sample
	shard       uint16 // the sampler's, which never changes
	dirty       bool
	gone        bool // it has expired: only handles still lead here
}

// newEntry makes entry and accumulator one object. It has no tags yet: see budget.share.
func newEntry(c Context) *entry {
	c.Tags = nil
	switch c.Type {
	case dogstatsd.Count:
		return newEntryOf[counter](c)
	case dogstatsd.Gauge:
		return newEntryOf[gauge](c)
	case dogstatsd.Set:
		return newEntryOf[set](c)
	}
	return newEntryOf[sketch](c)
}

// object is an entry with its accumulator.
type object[A any] struct {
	entry
	gathered A
}

func newEntryOf[A any, P interface {
	*A
	accumulator
}](c Context) *entry {
	o := &object[A]{entry: entry{Context: c}}
	o.accumulator = P(&o.gathered)
	return &o.entry
}

func newSampler(shard int, limits Limits, b *budget) *sampler {
	return &sampler{shard: uint16(shard), limits: limits, budget: b, entries: make(map[uint64]*entry)}
}

// add takes a sample that arrived at now, in Unix seconds. It returns the context's entry, or nil
// if there was no room for it.
func (s *sampler) add(sample *Sample, now int64) *entry {
	s.turn(now)
	e := s.entry(sample)
	switch {
	case e == nil:
	case sample.Timestamp != 0 && (e.Type == dogstatsd.Count || e.Type == dogstatsd.Gauge):
		s.pass(e, sample)
	default:
		s.gather(e, sample, now)
	}
	return e
}

// addKnown takes the samples of the given turns, which arrived at now, up to the first whose
// context has expired. It returns how many it took.
func (s *sampler) addKnown(known []KnownSample, turns []int32, now int64) int {
	s.turn(now)
	for i, turn := range turns {
		k := &known[turn]
		e := k.Handle.entry
		if e.gone {
			return i
		}
		e.seen = s.flushes
		s.known.Values, s.known.SetValue, s.known.Rate = k.Values, k.SetValue, k.Rate
		s.gather(e, &s.known, now)
	}
	return len(turns)
}

// gather adds a sample to the open bucket.
func (s *sampler) gather(e *entry, sample *Sample, now int64) {
	lost := e.accumulator.add(sample, now, &s.limits, s.budget)
	s.stats.Untrackable += uint64(lost.untrackable)
	if lost.noRoom > 0 {
		s.stats.DroppedBytes++
	}
	if lost.noRoom < max(1, len(sample.Values)) {
		s.stats.Samples++
	}
	// Do so even if all values were dropped: the last bucket's values must go with the next point.
	if !e.dirty {
		e.dirty = true
		s.dirty = append(s.dirty, e)
	}
}

// turn opens the bucket of now, if it is another one. A sample of the bucket just before is late:
// its socket was read a moment earlier, or the clock was set back a little. It belongs to the open
// bucket, so that no context has two points at one time. A sample from further back means that the
// clock was set.
func (s *sampler) turn(now int64) {
	bucket := now - now%BucketSeconds
	if bucket == s.bucket || bucket == s.bucket-BucketSeconds {
		return
	}
	s.closeBucket()
	s.bucket = bucket
}

// entry returns the context's entry, or a new one if there is room, else nil.
func (s *sampler) entry(sample *Sample) *entry {
	key := entryKey(sample)
	e := s.entries[key]
	if e == nil {
		switch s.budget.take(&sample.Context, &s.limits) {
		case overContexts:
			s.stats.DroppedContexts++
			return nil
		case overOrigin:
			s.stats.DroppedOrigin++
			return nil
		case overBytes:
			s.stats.DroppedBytes++
			return nil
		}
		e = newEntry(sample.Context)
		e.shard = s.shard
		s.budget.share(e, sample.Tags)
		s.entries[key] = e
	}
	e.seen = s.flushes
	return e
}

// pass sends a sample with a timestamp past the aggregation. It adds to the totals of scrapes, and
// becomes the last value if it is newer.
func (s *sampler) pass(e *entry, sample *Sample) {
	if s.limits.Timestamped > 0 && s.timestamped+len(sample.Values) > s.limits.Timestamped {
		s.stats.DroppedTimestamped++
		return
	}
	s.stats.Samples++
	s.timestamped += len(sample.Values)
	for _, v := range sample.Values {
		s.closed = append(s.closed, Point{Context: e.Context, Time: sample.Timestamp, Value: v})
		switch a := e.accumulator.(type) {
		case *counter:
			a.total += v
		case *gauge:
			a.addPast(v, sample.Timestamp)
		}
	}
}

// closeBucket turns the open bucket into points.
func (s *sampler) closeBucket() {
	s.closed = slices.Grow(s.closed, len(s.dirty))
	for _, e := range s.dirty {
		p := Point{Context: e.Context, Time: s.bucket}
		e.dirty = false
		if e.accumulator.close(&p, s.budget) {
			s.closed = append(s.closed, p)
		}
	}
	clear(s.dirty)
	s.dirty = s.dirty[:0]
}

// flush returns the points of the buckets before now, and drops the contexts that have not been
// seen for a number of flushes.
func (s *sampler) flush(now int64) []Point {
	s.turn(now)
	s.flushes++
	s.expire()
	points := s.closed
	s.closed, s.timestamped = nil, 0
	return points
}

func (s *sampler) expire() {
	if s.limits.Expiry <= 0 {
		return
	}
	for key, e := range s.entries {
		if !e.dirty && int(s.flushes-e.seen) > s.limits.Expiry {
			delete(s.entries, key)
			e.gone = true
			s.budget.give(e)
			s.stats.Expired++
		}
	}
}

func (s *sampler) states(to []State) []State {
	for _, e := range s.entries {
		state := State{Context: e.Context}
		e.accumulator.show(&state)
		to = append(to, state)
	}
	return to
}
