package rollout

import (
	"math"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/special"
)

// Processes may differ in the effect of a candidate: they are linked in another order, run on other
// machines, or get other traffic. Blocks bound the error of the mean over these very processes.
// Their number bounds how well other processes would repeat it.
//
// So each process is a study of its own, and the mean is that of a meta-analysis with random
// effects. The processes' own means tell how far the mean of all may be off, by Student's t with
// one degree of freedom less than there are processes (Hartung, Knapp, A refined method for the
// meta-analysis of controlled clinical trials with binary outcome, Statistics in Medicine 20,
// 2001). No test of whether they differ comes first: of two processes it would miss most of what
// matters. Processes are a fixed sample: to look again adds none. So an interval is as wide as
// blocks ask or as processes ask, whichever is more.

// alike is the level of the test that says that processes differ: Cochran's Q (The combination of
// estimates from different experiments, Biometrics 10, 1954). A gain does not wait for it.
const alike = 0.05

// A ProcessSpread says how the effect differs between processes.
type ProcessSpread struct {
	Processes int
	Deviation float64 // standard deviation of their true effects; 0 where chance explains what is seen
	Error     float64 // standard error of the mean, as the means of processes alone tell it
}

// halfWidth returns the half-width of the interval that the means of processes ask for.
func (b ProcessSpread) halfWidth(alpha float64) float64 {
	if b.Error == 0 {
		return 0
	}
	return studentBeyond(alpha/2, float64(b.Processes-1)) * b.Error
}

// pValue returns the p-value of a mean for no difference, by the means of processes alone.
func (b ProcessSpread) pValue(mean float64) float64 {
	if b.Error == 0 {
		return 0
	}
	return 2 * studentBelow(-math.Abs(mean)/b.Error, float64(b.Processes-1))
}

// A study is the result of one process: its share of all blocks, its mean, and the variance of
// that.
type study struct{ part, mean, variance float64 }

// compareProcesses compares processes, whose blocks have this many times the variance of
// independent ones.
func (t *Track) compareProcesses(m Metric, times float64) ProcessSpread {
	all := t.studies(m, times)
	b := ProcessSpread{Processes: len(all)}
	if len(all) < 2 || all[0].variance == 0 { // without any noise and any difference
		return b
	}
	freedom := float64(len(all) - 1)
	mean, parts, off := 0.0, 0.0, 0.0
	for _, s := range all {
		mean += s.part * s.mean
		parts += s.part * s.part
	}
	for _, s := range all {
		off += s.part * (s.mean - mean) * (s.mean - mean)
	}
	// Where blocks set the means apart, the first is the variance of the mean of all. Where
	// processes do, the second is, however unequal their numbers of blocks.
	variance := betweenStudies(all)
	b.Error = math.Sqrt(max(off/freedom, variance*parts))
	if special.UpperGamma(freedom/2, cochran(all, 0)/2) <= alike {
		b.Deviation = math.Sqrt(variance)
	}
	return b
}

// studies lists the processes of a track. The variance of few blocks is no estimate: they take that
// of all processes.
func (t *Track) studies(m Metric, times float64) (all []study) {
	names := inorder.Keys(t.Pods) // sums do not depend on the order of a map
	squares, freedom, blocks := 0.0, 0, 0
	for _, name := range names {
		if e := t.Pods[name].Effect; e.N > 0 {
			squares, freedom, blocks = squares+e.M2, freedom+e.N-1, blocks+e.N
		}
	}
	pooled := t.Moments.variance()
	if freedom > 0 {
		pooled = squares / float64(freedom)
	}
	// A counter that did not move in one process is not without noise where it moves between them.
	least := max(t.leastVariance(m), t.Moments.variance()/1e6)
	for _, name := range names {
		e := t.Pods[name].Effect
		if e.N == 0 {
			continue
		}
		variance := pooled
		if e.N >= minRuns {
			variance = e.variance()
		}
		n := float64(e.N)
		all = append(all, study{n / float64(blocks), e.Mean, times * max(variance, least) / n})
	}
	return all
}

// betweenStudies returns the variance of the true means of studies for which they spread as they do
// (Paule, Mandel, Consensus values and weighting factors, Journal of Research of the National
// Bureau of Standards 87, 1982).
func betweenStudies(all []study) float64 {
	freedom := float64(len(all) - 1)
	if cochran(all, 0) <= freedom {
		return 0
	}
	low, high := 0.0, all[0].variance
	for cochran(all, high) > freedom {
		high *= 2
	}
	for range 60 {
		if middle := (low + high) / 2; cochran(all, middle) > freedom {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// cochran returns Cochran's Q: how far the means of studies are off their mean, in squares of the
// deviation that their own variance and one between them explain.
func cochran(all []study, between float64) (q float64) {
	weights, mean := 0.0, 0.0
	for _, s := range all {
		weights += 1 / (s.variance + between)
		mean += s.mean / (s.variance + between)
	}
	mean /= weights
	for _, s := range all {
		q += (s.mean - mean) * (s.mean - mean) / (s.variance + between)
	}
	return q
}

// studentBeyond returns the value that Student's t exceeds with a chance of p below 1/2.
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
