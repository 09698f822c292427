package main

import (
	"runtime"
	"slices"
	"time"
)

// A contender runs its work n times and returns something that depends on it,
// so that no compiler can leave it out.
type contender func(n int) int

// settings of a measurement: short batches make neighbours on the machine
// outliers, and medians of medians drop them.
type settings struct {
	rounds, batches int
	batch           time.Duration
}

var (
	careful = settings{11, 15, 150 * time.Microsecond}
	quick   = settings{7, 7, 60 * time.Microsecond}
)

// measure returns nanoseconds per run of each contender. The contenders take
// turns in every round, so what disturbs one disturbs all.
func (s settings) measure(cs ...contender) []float64 {
	size := make([]int, len(cs))
	for i, c := range cs {
		size[i] = s.batchSize(c)
	}
	rounds := make([][]float64, len(cs))
	for range s.rounds {
		for i, c := range cs {
			rounds[i] = append(rounds[i], s.round(c, size[i]))
		}
	}
	out := make([]float64, len(cs))
	for i := range cs {
		out[i] = median(rounds[i])
	}
	return out
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

func (s settings) round(c contender, n int) float64 {
	times := make([]float64, s.batches)
	for i := range times {
		start := time.Now()
		runtime.KeepAlive(c(n))
		times[i] = float64(time.Since(start).Nanoseconds()) / float64(n)
	}
	return median(times)
}

func median(xs []float64) float64 {
	slices.Sort(xs)
	return xs[len(xs)/2]
}
