package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"
)

// A contender runs its work n times and returns something that depends on it,
// so that no compiler can leave it out.
type contender func(n int) int

// settings of a measurement: short batches make neighbours on the machine
// outliers, and medians drop them.
type settings struct {
	batches int
	batch   time.Duration
}

var (
	careful = settings{165, 150 * time.Microsecond}
	quick   = settings{49, 60 * time.Microsecond}
)

// timings are nanoseconds per run of each contender, batch by batch. The
// contenders take turns, so batches with the same number are neighbours in
// time.
type timings [][]float64

func (s settings) measure(cs ...contender) timings {
	size := make([]int, len(cs))
	for i, c := range cs {
		size[i] = s.batchSize(c)
	}
	t := make(timings, len(cs))
	for range s.batches {
		for i, c := range cs {
			start := time.Now()
			runtime.KeepAlive(c(size[i]))
			t[i] = append(t[i], float64(time.Since(start).Nanoseconds())/float64(size[i]))
		}
	}
	return t
}

// batchSize doubles until a batch takes long enough, the shortest of three:
// one interruption must not make all batches tiny.
func (s settings) batchSize(c contender) int {
	for n := 1; ; n *= 2 {
		best := s.batch
		for range 3 {
			start := time.Now()
			runtime.KeepAlive(c(n))
			best = min(best, time.Since(start))
		}
		if best >= s.batch {
			return n
		}
	}
}

// ns is the median of one contender.
func (t timings) ns(i int) float64 { return median(t[i]) }

// ratio returns how many times longer a takes than b: the median over the pairs of neighbouring
// batches. When something else takes half of the core for a while, it takes it from both.
func (t timings) ratio(a, b int) float64 { return median(t.ratios(a, b)) }

// interval holds the true median of the ratio in 95 of 100 runs.
func (t timings) interval(a, b int) string {
	r := t.ratios(a, b)
	slices.Sort(r)
	off := 0.98 * math.Sqrt(float64(len(r)))
	mid := float64(len(r)) / 2
	return fmt.Sprintf("[%.2f %.2f]", r[max(0, int(mid-off))], r[min(len(r)-1, int(mid+off))])
}

func (t timings) ratios(a, b int) []float64 {
	r := make([]float64, len(t[a]))
	for i := range r {
		r[i] = t[a][i] / t[b][i]
	}
	return r
}

func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return s[len(s)/2]
}
