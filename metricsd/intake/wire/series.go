package wire

// Kind is what a series' values are.
type Kind uint8

// The numbers are those of MetricPayload.MetricType; Sketch is ours.
const (
	Unspecified Kind = iota
	Count
	Rate
	Gauge
	Sketch
)

var kindNames = [...]string{"", "count", "rate", "gauge", "sketch"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return ""
}

// kindNamed returns the kind of a name in JSON. An unknown one is a gauge, as at Datadog.
func kindNamed(name string) Kind {
	for k, n := range kindNames[:Sketch] {
		if n == name && name != "" {
			return Kind(k)
		}
	}
	return Gauge
}

// A Series is one metric of one host with one set of tags, and its latest points.
type Series struct {
	Metric, Host string
	Tags         []string
	Kind         Kind
	Interval     int64 // seconds that a count or a rate covers; 0 if unknown
	Points       []Point
	Sketches     []Distribution // instead of points, when Kind is Sketch
}

// A Point is a value at a time, in seconds since 1970.
type Point struct {
	Time  int64
	Value float64
}

// A Distribution is a DDSketch of Datadog's form: Keys[i] is a bin and Counts[i]
// how many values fell into it.
type Distribution struct {
	Time         int64
	Count        int64
	Min, Max     float64
	Average, Sum float64
	Keys         []int32
	Counts       []uint32
}

// Len returns how many points the series holds, sketches included.
func (s *Series) Len() int { return len(s.Points) + len(s.Sketches) }

// Last returns the time of the latest point, 0 without any.
func (s *Series) Last() int64 {
	last := int64(0)
	for _, p := range s.Points {
		last = max(last, p.Time)
	}
	for _, d := range s.Sketches {
		last = max(last, d.Time)
	}
	return last
}

// MaxSeries bounds one series in a batch, so that any series fits into a message of the queue.
const MaxSeries = 2 << 20

// Size estimates the bytes that the series takes in a batch, before compression.
func (s *Series) Size() int {
	n := len(s.Metric) + len(s.Host) + 16 + 14*len(s.Points)
	for _, t := range s.Tags {
		n += len(t) + 2
	}
	for i := range s.Sketches {
		n += 60 + 8*len(s.Sketches[i].Keys)
	}
	return n
}
