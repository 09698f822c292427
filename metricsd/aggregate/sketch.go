package aggregate

import (
	"math"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/mapping"
	"github.com/DataDog/sketches-go/ddsketch/store"
)

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
	// positive and negative are what the bins of bucket reach over.
	positive, negative span
	lastBytes          int // of the budget, for last
}

func (k *sketch) add(s *Sample, limits *Limits, b *budget) (l lost) {
	if k.bucket == nil {
		k.bucket = newSummary()
	}
	weight := 1 / s.Rate
	for _, v := range s.Values {
		switch {
		case !k.reserve(v, limits, b):
			l.noRoom++
		case !k.bucket.add(v, weight):
			l.untrackable++
		default:
			k.count += weight
			k.sum += v * weight
		}
	}
	return l
}

// reserve asks the budget for the bins that a value needs.
func (k *sketch) reserve(v float64, limits *Limits, b *budget) bool {
	side := &k.positive
	if v < 0 {
		side, v = &k.negative, -v
	}
	wider, grows := side.with(v)
	if !grows {
		return true
	}
	if !b.grow(wider.bytes-side.bytes, limits) {
		return false
	}
	*side = wider
	return true
}

// span is what the bins of one sign reach over: magnitudes, and the bytes that they are
// estimated to take. Bins are an array over all that lies between the least and the
// greatest, so that two values can take as much as a million.
type span struct {
	least, greatest float64
	bytes           int
}

// with returns the span that has a magnitude too, if it has it not yet and it needs a bin.
func (s span) with(magnitude float64) (wider span, grows bool) {
	if magnitude >= s.least && magnitude <= s.greatest ||
		!(magnitude > sketchMapping.MinIndexableValue() && magnitude <= sketchMapping.MaxIndexableValue()) {
		return s, false
	}
	if s.bytes == 0 {
		s.least, s.greatest = magnitude, magnitude
	}
	s.least, s.greatest = min(s.least, magnitude), max(s.greatest, magnitude)
	// The array has room for more at its ends, and append takes up to a quarter over.
	const atEnds, bytesPerBin, store = 128, 10, 256
	n := sketchMapping.Index(s.greatest) - sketchMapping.Index(s.least) + 1
	s.bytes = store + bytesPerBin*min(n+atEnds, maxBins)
	return s, true
}

func (k *sketch) close(p *Point, b *budget) {
	p.Summary = k.bucket
	k.last, k.bucket = k.bucket, nil
	b.shrink(k.lastBytes)
	k.lastBytes = k.positive.bytes + k.negative.bytes
	k.positive, k.negative = span{}, span{}
}

// grown has the last bucket too, which scrapes see until the next one is closed.
func (k *sketch) grown() int { return k.lastBytes + k.positive.bytes + k.negative.bytes }

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
