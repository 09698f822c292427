package beagle

import (
	"fmt"
	"math"
	"strings"
)

// A Score ranks versions. The zero Score is the time of the recorded calls. The weights of time
// and counts add up to 1, and so do those of the benchmarks.
type Score struct {
	Time   float64 `json:"time,omitempty"`   // weight of the time
	Allocs float64 `json:"allocs,omitempty"` // of the allocations a call
	Bytes  float64 `json:"bytes,omitempty"`  // of the bytes that a call allocates
	// the user's benchmarks, in which versions take turns; none: the recorded calls
	Benchmarks []ScoreBenchmark `json:"benchmarks,omitempty"`
}

// A ScoreBenchmark is a benchmark of the user that counts in a score.
type ScoreBenchmark struct {
	Name   string  `json:"name"`   // "BenchmarkParse", or "example.com/m/pkg.BenchmarkParse"
	Weight float64 `json:"weight"` // share of the time that the original spends in all of them
}

// IsZero reports whether the score is the default: the time of the recorded calls.
func (s Score) IsZero() bool { return s.TimeAlone() && len(s.Benchmarks) == 0 }

// TimeAlone reports whether nothing but time counts.
func (s Score) TimeAlone() bool { return s.Allocs == 0 && s.Bytes == 0 }

// Counts reports whether time does not count: a version may not take longer, and that is all.
func (s Score) Counts() bool { return !s.TimeAlone() && s.Time == 0 }

// Added to counts before they are divided, so that a version without an allocation has a ratio,
// too. Bytes get the size of a small object.
const (
	addAllocs = 1
	addBytes  = 16
)

// Memory is the part of the score's logarithm that the counts make: above 0 where the version
// allocates less than the original.
func (s Score) Memory(original, version Resources) float64 {
	log := 0.0
	if s.Allocs > 0 {
		log += s.Allocs * math.Log((original.Allocs+addAllocs)/(version.Allocs+addAllocs))
	}
	if s.Bytes > 0 {
		log += s.Bytes * math.Log((original.Bytes+addBytes)/(version.Bytes+addBytes))
	}
	return log
}

// TimeWeight is the exponent of the time ratio in the score.
func (s Score) TimeWeight() float64 {
	if s.TimeAlone() {
		return 1
	}
	return s.Time
}

// Of is the score of a version: the weighted geometric mean of the ratios of time and counts.
func (s Score) Of(time Ratio, original, version Resources) Ratio {
	factor, w := math.Exp(s.Memory(original, version)), s.TimeWeight()
	of := func(r float64) float64 { return math.Min(factor*math.Pow(r, w), math.MaxFloat64) }
	return Ratio{Point: of(time.Point), Low: of(time.Low), High: of(time.High)}
}

// Quantity names the counted quantity: "time", or "time=0.7,allocs=0.3".
func (s Score) Quantity() string {
	if s.TimeAlone() {
		return "time"
	}
	var parts []string
	for _, p := range []struct {
		name   string
		weight float64
	}{{"time", s.Time}, {"allocs", s.Allocs}, {"bytes", s.Bytes}} {
		switch {
		case p.weight == 1:
			return p.name
		case p.weight > 0:
			parts = append(parts, fmt.Sprintf("%s=%.4g", p.name, p.weight))
		}
	}
	return strings.Join(parts, ",")
}

// Where returns the benchmarks that count, and how much: "" for the recorded calls.
func (s Score) Where() string {
	var parts []string
	for _, b := range s.Benchmarks {
		text := b.Name
		if len(s.Benchmarks) > 1 {
			text += fmt.Sprintf("=%.4g", b.Weight)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ",")
}

// String describes the score to people: "time=0.7,allocs=0.3 in BenchmarkParse".
func (s Score) String() string {
	if len(s.Benchmarks) == 0 {
		return s.Quantity()
	}
	return s.Quantity() + " in " + s.Where()
}
