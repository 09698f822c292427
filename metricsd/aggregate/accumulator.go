package aggregate

import (
	"math"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/mapping"
	"github.com/DataDog/sketches-go/ddsketch/store"

	"github.com/beagle-go/beagle/metricsd/dogstatsd"
)

// accumulator gathers the samples of one context.
type accumulator interface {
	// add takes a sample and returns how many of its values it could not hold.
	add(s *Sample, limits *Limits) (untrackable int)
	// close writes the bucket's result to the point and starts the next bucket.
	close(*Point)
	// show writes what a scrape sees.
	show(*State)
}

func newAccumulator(t dogstatsd.Type) accumulator {
	switch t {
	case dogstatsd.Count:
		return new(counter)
	case dogstatsd.Gauge:
		return new(gauge)
	case dogstatsd.Set:
		return new(set)
	}
	return new(sketch)
}

type counter struct{ bucket, total float64 }

func (c *counter) add(s *Sample, _ *Limits) int {
	for _, v := range s.Values {
		c.bucket += v / s.Rate
		c.total += v / s.Rate
	}
	return 0
}

func (c *counter) close(p *Point) { p.Value, c.bucket = c.bucket, 0 }

func (c *counter) show(s *State) { s.Value = c.total }

type gauge struct{ last float64 }

func (g *gauge) add(s *Sample, _ *Limits) int {
	g.last = s.Values[len(s.Values)-1]
	return 0
}

func (g *gauge) close(p *Point) { p.Value = g.last }

func (g *gauge) show(s *State) { s.Value = g.last }

// set counts different strings, exactly as long as there are few.
type set struct {
	exact map[string]struct{}
	bytes int // of the strings in exact
	large *hyperLogLog
	last  float64
	// lastLarge says that last is an estimate.
	lastLarge bool
}

func (t *set) add(s *Sample, limits *Limits) int {
	if t.large != nil {
		t.large.add(s.SetValue)
		return 0
	}
	if t.exact == nil {
		t.exact = make(map[string]struct{})
	}
	if _, known := t.exact[s.SetValue]; !known {
		t.exact[s.SetValue] = struct{}{}
		t.bytes += len(s.SetValue)
	}
	if n := limits.SetExact; n > 0 && (len(t.exact) > n || t.bytes > n*setValueBytes) {
		t.estimate()
	}
	return 0
}

// setValueBytes is how long the values of a full exact set may be on average.
const setValueBytes = 64

// estimate goes from counting to estimating.
func (t *set) estimate() {
	t.large = new(hyperLogLog)
	for v := range t.exact {
		t.large.add(v)
	}
	t.exact, t.bytes = nil, 0
}

func (t *set) close(p *Point) {
	t.last, t.lastLarge = float64(len(t.exact)), t.large != nil
	if t.lastLarge {
		t.last = t.large.estimate()
	}
	p.Value, p.Approximate = t.last, t.lastLarge
	t.exact, t.bytes, t.large = nil, 0, nil
}

func (t *set) show(s *State) { s.Value, s.Approximate = t.last, t.lastLarge }

// Sketches have the bins of Datadog's own, so that they can be sent as they are: a bin
// is 1/64 wider than the one below, and values below 1e-9 count as zero. A quantile is at most
// 0.8 % off.
const (
	SketchGamma = 1 + 1.0/64
	// SketchBias is the number of the bin around 1.
	SketchBias = 1338
	maxBins    = 4096
)

var sketchMapping = func() mapping.IndexMapping {
	// A bin's number is the nearest to the logarithm, hence the half.
	m, err := mapping.NewLogarithmicMappingWithGamma(SketchGamma, SketchBias+0.5)
	if err != nil {
		panic(err) // only for a gamma of 1 and less
	}
	return m
}()

// sketch describes many values.
type sketch struct {
	bucket, last *Summary
	count, sum   float64
}

func (k *sketch) add(s *Sample, _ *Limits) (untrackable int) {
	if k.bucket == nil {
		k.bucket = newSummary()
	}
	weight := 1 / s.Rate
	for _, v := range s.Values {
		if k.bucket.add(v, weight) {
			k.count += weight
			k.sum += v * weight
		} else {
			untrackable++
		}
	}
	return untrackable
}

func (k *sketch) close(p *Point) {
	p.Summary = k.bucket
	k.last, k.bucket = k.bucket, nil
}

func (k *sketch) show(s *State) { s.Count, s.Sum, s.Last = k.count, k.sum, k.last }

func newSummary() *Summary {
	bins := func() store.Store { return store.NewCollapsingLowestDenseStore(maxBins) }
	return &Summary{Min: math.Inf(1), Max: math.Inf(-1), Sketch: ddsketch.NewDDSketchFromStoreProvider(sketchMapping, bins)}
}

// add says whether the sketch could hold the value: magnitudes near the ends of
// float64 it can't.
func (s *Summary) add(v, weight float64) bool {
	if s.Sketch.AddWithCount(v, weight) != nil {
		return false
	}
	s.Count += weight
	s.Sum += v * weight
	s.Min, s.Max = min(s.Min, v), max(s.Max, v)
	return true
}
