package rollout

import (
	"maps"
	"math"
	"slices"

	"github.com/beagle-go/beagle/internal/special"
)

// Processes may differ in what a candidate brings: they are linked in another order, run on other
// machines, or get other traffic. Blocks say how sure the mean of these very processes is. Whether
// other processes would show it is a matter of their number.
//
// So each process is a study of its own, and the mean is that of a meta-analysis with random
// effects (DerSimonian, Laird, Meta-analysis in clinical trials, Controlled Clinical Trials 7,
// 1986). Where processes differ by more than their blocks do by chance, the variance between them
// widens the interval, by Student's t with one degree of freedom less than there are processes
// (Hartung, Knapp, A refined method for the meta-analysis of controlled clinical trials with binary
// outcome, Statistics in Medicine 20, 2001). Processes are a fixed sample: to look again adds none.

// alike is the level of the test that processes differ: Cochran's Q (The combination of estimates
// from different experiments, Biometrics 10, 1954).
const alike = 0.05

// A Between says how the effect differs between processes.
type Between struct {
	Processes int
	Deviation float64 // standard deviation of their true effects; 0 where chance explains what is seen
	Half      float64 // that it adds to the half-width of an interval, in squares
}

// between compares processes, whose blocks have so many times the variance of independent ones.
func (t *Track) between(m Metric, alpha, times float64) Between {
	b := Between{Processes: len(t.Pods)}
	var weights, weighted, squared, blocks float64
	names := slices.Sorted(maps.Keys(t.Pods)) // sums do not depend on the order of a map
	weight := func(name string) float64 {
		e := t.Pods[name].Effect
		return float64(e.N) / (times * max(e.variance(), t.leastVariance(m)))
	}
	for _, name := range names {
		e, w := t.Pods[name].Effect, weight(name)
		if e.N < leastRuns || math.IsInf(w, 0) || math.IsNaN(w) {
			return b // too early to tell, or without any noise
		}
		weights, weighted, squared, blocks = weights+w, weighted+w*e.Mean, squared+w*w, blocks+float64(e.N)
	}
	if len(names) < 2 {
		return b
	}
	q, mean := 0.0, weighted/weights
	for _, name := range names {
		off := t.Pods[name].Effect.Mean - mean
		q += weight(name) * off * off
	}
	freedom := float64(len(names) - 1)
	if special.UpperGamma(freedom/2, q/2) > alike {
		return b
	}
	variance := (q - freedom) / (weights - squared/weights)
	b.Deviation = math.Sqrt(variance)
	parts := 0.0
	for _, name := range names {
		part := float64(t.Pods[name].Effect.N) / blocks
		parts += part * part
	}
	b.Half = studentBeyond(alpha/2, freedom) * math.Sqrt(variance*parts)
	return b
}

// studentBeyond is the value that Student's t exceeds with a chance of p below 1/2.
func studentBeyond(p, freedom float64) float64 {
	low, high := 0.0, 1.0
	for 1-studentBelow(high, freedom) > p {
		high *= 2
	}
	for range 60 {
		if middle := (low + high) / 2; 1-studentBelow(middle, freedom) > p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
