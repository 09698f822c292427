package datadog

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/deliver"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
)

// asSketch returns which types go out as sketches, by the name in the configuration; the others
// become counts and gauges.
var asSketch = map[string]map[dogstatsd.Type]bool{
	"none":          {},
	"distributions": {dogstatsd.Distribution: true},
	"all":           {dogstatsd.Distribution: true, dogstatsd.Histogram: true, dogstatsd.Timing: true},
}

var sketchForm = deliver.Form{Path: "/api/beta/sketches", ContentType: "application/x-protobuf"}

// A bin of Datadog's sketches has a number of 16 bits and a count of 16 bits. A larger count takes
// several bins of the same number. A sketch holds at most 4,096 full bins, so that a line with a
// sample rate of 1e-15 does not make a body of gigabytes.
const (
	maxKey      = math.MaxInt16
	maxBinCount = math.MaxUint16
	maxCount    = 4096 * maxBinCount
)

// bins are the bins of a sketch in the order of their values.
type bins struct {
	keys   []int32
	counts []uint32
	total  int64
	over   bool // there were more than maxCount values
}

// binsOf reads the bins of a summary. Its counts are fractions where lines had a sample
// rate. Sums over the first bins are rounded, not each bin: so the total is right to the nearest
// number.
func binsOf(s *aggregate.Summary) (b bins) {
	var sum float64
	// Negative bins come in order of their size, not of their value, and the format orders bins by
	// value. So take them backwards, then zero, then the positive ones.
	take := func(key int32, count float64) {
		// The format counts in 32 bits; leave out what exceeds them, and report it.
		if sum += count; sum > maxCount {
			sum, b.over = maxCount, true
		}
		n := int64(math.Round(sum)) - b.total
		b.total += n
		b.add(key, n)
	}
	negative := s.Sketch.GetNegativeValueStore()
	var mirrored []struct {
		key   int32
		count float64
	}
	negative.ForEach(func(index int, count float64) bool {
		mirrored = append(mirrored, struct {
			key   int32
			count float64
		}{-clampKey(index), count})
		return false
	})
	for i := len(mirrored) - 1; i >= 0; i-- {
		take(mirrored[i].key, mirrored[i].count)
	}
	take(0, s.Sketch.GetZeroCount())
	s.Sketch.GetPositiveValueStore().ForEach(func(index int, count float64) bool {
		take(clampKey(index), count)
		return false
	})
	return b
}

// clampKey returns the bin of a magnitude; below 1e-9 that is the bin of zero.
func clampKey(index int) int32 { return int32(min(max(index, 0), maxKey)) }

// add adds n values: to the last bin, if it has the same number.
func (b *bins) add(key int32, n int64) {
	if last := len(b.keys) - 1; last >= 0 && b.keys[last] == key {
		n += int64(b.counts[last])
		b.keys, b.counts = b.keys[:last], b.counts[:last]
	}
	if rest := n % maxBinCount; rest > 0 {
		b.keys, b.counts = append(b.keys, key), append(b.counts, uint32(rest))
	}
	for range n / maxBinCount {
		b.keys, b.counts = append(b.keys, key), append(b.counts, maxBinCount)
	}
}

// The numbers of the fields in the messages SketchPayload, Sketch and Dogsketch.
const (
	fieldSketches = 1

	fieldSketchMetric = 1
	fieldSketchHost   = 2
	fieldSketchTags   = 4
	fieldDogsketches  = 7

	fieldSketchTime  = 1
	fieldSketchCount = 2
	fieldSketchMin   = 3
	fieldSketchMax   = 4
	fieldSketchAvg   = 5
	fieldSketchSum   = 6
	fieldSketchKeys  = 7
	fieldSketchN     = 8
)

// appendSketch adds a point's sketch, if it has values.
func appendSketch(to []byte, p *aggregate.Point, b *bins) []byte {
	if b.total == 0 {
		return to
	}
	d := appendNumber(nil, fieldSketchTime, uint64(p.Time))
	d = appendNumber(d, fieldSketchCount, uint64(b.total))
	for i, v := range [...]float64{p.Summary.Min, p.Summary.Max, p.Summary.Sum / p.Summary.Count, p.Summary.Sum} {
		d = protowire.AppendTag(d, fieldSketchMin+protowire.Number(i), protowire.Fixed64Type)
		d = protowire.AppendFixed64(d, math.Float64bits(v))
	}
	var keys, counts []byte
	for i, k := range b.keys {
		keys = protowire.AppendVarint(keys, protowire.EncodeZigZag(int64(k)))
		counts = protowire.AppendVarint(counts, uint64(b.counts[i]))
	}
	d = appendBytes(appendBytes(d, fieldSketchKeys, keys), fieldSketchN, counts)
	m := appendString(nil, fieldSketchMetric, p.Name)
	m = appendString(m, fieldSketchHost, p.Host)
	for _, tag := range p.Tags {
		m = appendString(m, fieldSketchTags, tag)
	}
	return appendBytes(to, fieldSketches, appendBytes(m, fieldDogsketches, d))
}

// packSketches packs the points that go out as sketches, and returns the others. A sum that is not
// finite cannot be sent.
func (o *Output) packSketches(points []aggregate.Point) (bodies [][]byte, rest []aggregate.Point) {
	if len(o.sketched) == 0 {
		return nil, points
	}
	var body []byte
	for i := range points {
		p := &points[i]
		switch {
		case p.Summary == nil || !o.sketched[p.Type]:
			rest = append(rest, *p)
			continue
		case math.IsInf(p.Summary.Sum, 0) || math.IsNaN(p.Summary.Sum):
			o.unsendable.Add(1)
			continue
		}
		b := binsOf(p.Summary)
		if b.over {
			o.unsendable.Add(1)
		}
		if body = appendSketch(body, p, &b); len(body) >= maxBody {
			bodies, body = append(bodies, body), nil
		}
	}
	if len(body) > 0 {
		bodies = append(bodies, body)
	}
	return bodies, rest
}

func sketched(name string) (map[dogstatsd.Type]bool, error) {
	types, ok := asSketch[name]
	if !ok {
		return nil, fmt.Errorf("datadog.sketches is %q; give none, distributions or all", name)
	}
	return types, nil
}
