package aggregate

import (
	"github.com/DataDog/sketches-go/ddsketch"

	"github.com/beagle-go/beagle/metricsd/dogstatsd"
)

// BucketSeconds is the length of a bucket.
const BucketSeconds = 10

// A Context identifies a series: two samples with equal contexts add up.
type Context struct {
	Name string
	Host string
	Tags []string
	Type dogstatsd.Type
	// Origin is the sender of the first sample: it pays for the context's place.
	Origin string
}

// Sample is one metric line with its context's key. Tags must be unique. The
// aggregator keeps nothing of the slices.
type Sample struct {
	Key uint64
	Context
	Values    []float64
	SetValue  string
	Rate      float64
	Timestamp int64
}

// Point is the result of one context in one bucket.
type Point struct {
	Context
	// Time is the start of the bucket in Unix seconds, or the sample's own timestamp.
	Time int64
	// Value is the count, the gauge's last value, or the number of different
	// values of a set.
	Value float64
	// Approximate says that a set was too large to be counted exactly.
	Approximate bool
	// Summary is set for timings, histograms and distributions, and for them only.
	Summary *Summary
}

// Summary describes many values.
type Summary struct {
	Count, Sum, Min, Max float64
	Sketch               *ddsketch.DDSketch
}

// A Flush is an output's part of a bucket.
type Flush struct {
	// Time is now, in Unix seconds.
	Time   int64
	Points []Point
	// Events and Checks came since the last flush. Their times and hosts are set.
	Events []dogstatsd.Event
	Checks []dogstatsd.Check
	// States makes the list that a scrape would see; not every output wants it.
	States func() []State
}

// State is a scrape's view of a context.
type State struct {
	Context
	// Value is a count's total since the context was first seen, a gauge's latest
	// value by its own timestamp or its arrival, or a set's size in its last closed bucket.
	Value       float64
	Approximate bool
	// Count and Sum are totals since the context was first seen. Last describes the last closed
	// bucket with a sample. It is nil before there is one, when all values of that bucket were
	// dropped, and when the open bucket needs the room.
	Count, Sum float64
	Last       *Summary
}

// Limits are the bounds of an aggregator; 0 means no bound.
type Limits struct {
	Contexts    int // all contexts
	PerOrigin   int // contexts of one origin
	Bytes       int // estimated size of all contexts and sketches
	Timestamped int // points with timestamps that wait for a flush, per shard
	SetExact    int // values of a set that are counted exactly
	Expiry      int // flushes without a sample until a context expires
}

// DefaultLimits returns the limits for an agent of one machine.
func DefaultLimits() Limits {
	return Limits{
		Contexts: 500_000, PerOrigin: 200_000, Bytes: 512 << 20,
		Timestamped: 100_000, SetExact: 256, Expiry: 30,
	}
}

// Stats are an aggregator's counters since its start, and its current fill.
type Stats struct {
	Samples uint64 // samples taken
	// Samples dropped, in whole or in part, by the bound that dropped them.
	DroppedContexts, DroppedOrigin, DroppedBytes, DroppedTimestamped uint64
	// Untrackable are values beyond what a sketch can hold.
	Untrackable uint64
	Expired     uint64 // expired contexts
	Contexts    int
	Bytes       int
}

func (s *Stats) add(o Stats) {
	s.Samples += o.Samples
	s.DroppedContexts += o.DroppedContexts
	s.DroppedOrigin += o.DroppedOrigin
	s.DroppedBytes += o.DroppedBytes
	s.DroppedTimestamped += o.DroppedTimestamped
	s.Untrackable += o.Untrackable
	s.Expired += o.Expired
}
