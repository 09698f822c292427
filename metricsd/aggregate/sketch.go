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

// maxMagnitude is the greatest that a sketch can hold.
var maxMagnitude = sketchMapping.MaxIndexableValue()

// sketch describes many values. Values go to the bins in groups: the bins of many sketches are far
// away in memory, so a sketch with a few values a bucket is visited once for all of them.
type sketch struct {
	count, sum float64
	waiting    []weighted
	// positive and negative are the spans of the bins of bucket, with the values that wait.
	positive, negative span
	bucket, last       *Summary
	// bytes and lastBytes count in the budget: for bucket and for last.
	bytes, lastBytes int
}

// weighted is a value that stands for several: for ten with a sample rate of 0.1.
type weighted struct{ value, weight float64 }

// handful bounds the waiting values.
const handful = 16

func (k *sketch) add(s *Sample, _ int64, limits *Limits, b *budget) (l droppedValues) {
	weight := 1 / s.Rate
	for _, v := range s.Values {
		switch {
		case !(math.Abs(v) <= maxMagnitude): // and NaN
			l.untrackable++
		case !k.reserve(v, limits, b) && !(k.forget(b) && k.reserve(v, limits, b)):
			l.noRoom++
		default:
			k.count += weight
			k.sum += v * weight
			k.wait(weighted{v, weight})
		}
	}
	return l
}

// forget gives back the room of the last bucket, if there is one. A sketch that lacks room does so
// itself. Otherwise sketches whose last buckets fill the budget would lock themselves out.
func (k *sketch) forget(b *budget) bool {
	if k.last == nil {
		return false
	}
	b.shrink(k.lastBytes)
	k.last, k.lastBytes = nil, 0
	return true
}

func (k *sketch) wait(w weighted) {
	if len(k.waiting) == handful {
		k.pour()
	}
	k.waiting = append(k.waiting, w)
}

// pour puts the waiting values into the bins.
func (k *sketch) pour() {
	if len(k.waiting) == 0 {
		return
	}
	if k.bucket == nil {
		k.bucket = newSummary()
	}
	for _, w := range k.waiting {
		k.bucket.add(w)
	}
	k.waiting = k.waiting[:0]
}

// reserve asks the budget for a value's room: the bins, and the sketch if it is the bucket's
// first.
func (k *sketch) reserve(v float64, limits *Limits, b *budget) bool {
	side := &k.positive
	if v < 0 {
		side, v = &k.negative, -v
	}
	wider, grows := side.widened(v)
	if !grows && k.bytes > 0 {
		return true
	}
	need := wider.bytes - side.bytes
	if k.bytes == 0 {
		need += summaryBytes
	}
	if need > 0 && !b.grow(need, limits) {
		return false
	}
	k.bytes += need
	*side = wider
	return true
}

// span is the range of the bins of one sign: the magnitudes, and the estimated bytes. Bins are an
// array from the least to the greatest magnitude, so two values can take as much memory as a
// million.
type span struct {
	least, greatest float64
	bytes           int
}

// widened returns the span extended by a magnitude that it lacks and that needs a bin.
func (s span) widened(magnitude float64) (wider span, grows bool) {
	if magnitude >= s.least && magnitude <= s.greatest ||
		!(magnitude > sketchMapping.MinIndexableValue() && magnitude <= sketchMapping.MaxIndexableValue()) {
		return s, false
	}
	if s.bytes == 0 {
		s.least, s.greatest = magnitude, magnitude
	}
	s.least, s.greatest = min(s.least, magnitude), max(s.greatest, magnitude)
	s.bytes = binBytes(sketchMapping.Index(s.greatest) - sketchMapping.Index(s.least) + 1)
	return s, true
}

// binBytes estimates the array of n bins. It has spare room at its ends. Append adds up to as much
// again, or a quarter and 192 bins if that is less.
func binBytes(n int) int {
	const atEnds, bin = 64, 8
	length := min(n+atEnds, maxBins)
	return min(2*bin*length, bin*length*5/4+bin*192)
}

func (k *sketch) close(p *Point, b *budget) bool {
	k.pour()
	p.Summary = k.bucket
	k.last, k.bucket = k.bucket, nil
	b.shrink(k.lastBytes)
	k.lastBytes, k.bytes = k.bytes, 0
	k.positive, k.negative = span{}, span{}
	return p.Summary != nil
}

// heldBytes includes the last bucket, which scrapes show until the next one closes.
func (k *sketch) heldBytes() int { return k.lastBytes + k.bytes }

func (k *sketch) show(s *State) { s.Count, s.Sum, s.Last = k.count, k.sum, k.last }

func newSummary() *Summary {
	bins := func() store.Store { return store.NewCollapsingLowestDenseStore(maxBins) }
	return &Summary{
		Min:    math.Inf(1),
		Max:    math.Inf(-1),
		Sketch: ddsketch.NewDDSketchFromStoreProvider(sketchMapping, bins),
	}
}

// add takes a value that the sketch can hold.
func (s *Summary) add(w weighted) {
	if err := s.Sketch.AddWithCount(w.value, w.weight); err != nil {
		panic(err) // the magnitude was looked at before
	}
	s.Count += w.weight
	s.Sum += w.value * w.weight
	s.Min, s.Max = min(s.Min, w.value), max(s.Max, w.value)
}
