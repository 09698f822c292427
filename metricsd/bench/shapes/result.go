package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// result is the measurement of one server.
type result struct {
	kind    kind
	server  *server
	samples []sample
	memory  int
}

// perMessage returns the microseconds of processor time a message in each round.
func (r *result) perMessage() (us []float64) {
	for _, s := range r.samples {
		us = append(us, float64(s.cpu.Nanoseconds())/1000/s.messages)
	}
	return us
}

// show writes the rows of a table.
func show(r row, results []*result) {
	fmt.Printf("\n%s: %s over %s", r.name, r.shape, r.network)
	if r.messagesPerSecond > 0 {
		fmt.Printf(", %d messages a second", r.messagesPerSecond)
	}
	fmt.Print("\n\n| server | pgo | us a message | k messages / CPU-s | times as fast as | | dropped | MB |\n" +
		"|---|---|---|---|---|---|---|---|\n")
	for _, x := range results {
		us := x.perMessage()
		var ratios []float64
		base := baseline(results, x).perMessage()
		for i := range us {
			ratios = append(ratios, base[i]/us[i])
		}
		least, greatest := interval(ratios)
		var dropped float64
		for _, s := range x.samples {
			dropped += s.dropped / float64(len(x.samples))
		}
		fmt.Printf("| %s | %s | %.3f | %.0f | %s | %.2f [%.2f to %.2f] | %.1f %% | %d |\n", x.kind.name, x.kind.pgo,
			median(us), 1000/median(us), x.kind.baseline, median(ratios), least, greatest, 100*dropped, x.memory)
	}
}

// baseline returns the server that a server is compared with: one of the same build.
func baseline(results []*result, x *result) *result {
	i := slices.IndexFunc(results, func(o *result) bool {
		return o.kind.name == x.kind.baseline && o.kind.pgo == x.kind.pgo
	})
	return results[i]
}

func median(of []float64) float64 {
	s := slices.Sorted(slices.Values(of))
	if len(s) == 0 {
		return math.NaN()
	}
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// interval returns the 95 % interval of the median, by drawing rounds anew.
func interval(of []float64) (least, greatest float64) {
	const draws = 4000
	rng := rand.New(rand.NewPCG(3, 4))
	medians, drawn := make([]float64, draws), make([]float64, len(of))
	for i := range medians {
		for j := range drawn {
			drawn[j] = of[rng.IntN(len(of))]
		}
		medians[i] = median(drawn)
	}
	slices.Sort(medians)
	return medians[draws/40], medians[draws-draws/40]
}
