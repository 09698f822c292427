package hotspots

import (
	"github.com/beagle-go/beagle/internal/special"
)

// A portion is the part of a stack's weight that is of one profile.
type portion struct {
	profile int // in the order in which profiles were added
	weight  float64
}

// An origin says what one profile adds to the sum.
type origin struct {
	group   int // of like instances
	total   float64
	squares float64 // of its samples' weights
	collect float64 // the collector's part of total
}

// leastFreedom is how many more profiles there must be than groups before their spread tells
// anything: the spread of two says next to nothing.
const leastFreedom = 4

// freedom returns the number of deviations between profiles of the same group that are free.
func (m *merged) freedom() (n int) {
	groups := map[int]bool{}
	for _, o := range m.origins {
		groups[o.group] = true
	}
	return len(m.origins) - len(groups)
}

// collections notes how much of each profile is garbage collection, and returns the whole of it.
func (m *merged) collections() (whole float64) {
	for _, s := range m.stacks {
		if !s.collects() {
			continue
		}
		for _, p := range s.by {
			m.origins[p.profile].collect += p.weight
			whole += p.weight
		}
	}
	return whole
}

// weights returns the weight of stacks in each profile. Garbage collection that a stack causes is
// divided as all of it: no profile of allocations has the same times.
func (m *merged) weights(stacks []*stack, collected float64) []float64 {
	x := make([]float64, len(m.origins))
	gc := 0.0
	for _, s := range stacks {
		for _, p := range s.by {
			x[p.profile] += p.weight
		}
		gc += s.gc
	}
	if collected > 0 {
		for i, o := range m.origins {
			x[i] += gc * o.collect / collected
		}
	}
	return x
}

// effectiveOf returns the number of samples of equal weight that would tell a share as well as the
// profiles do. x is its weight in each profile.
//
// The number of samples says how well a share of one time is known. Shares drift with the load, so
// those of two profiles of a service differ by more. The variance is that of a ratio of sums over
// clusters: each profile is one, and groups are strata. It is never less than counting alone makes
// it. Few profiles know their own spread badly, which Student's t with Satterthwaite's degrees of
// freedom allows for.
func (m *merged) effectiveOf(share float64, x []float64) float64 {
	counted := m.effective()
	spread := share * (1 - share)
	if spread <= 0 || m.freedom() < leastFreedom {
		return counted
	}
	// Collect how far each profile is from the share.
	type group struct {
		off     []float64
		squares float64
	}
	var groups []group
	for i, o := range m.origins {
		for len(groups) <= o.group {
			groups = append(groups, group{})
		}
		g := &groups[o.group]
		g.off, g.squares = append(g.off, x[i]-share*o.total), g.squares+o.squares
	}
	// Add the variances of the groups. That of a single profile is the counting error.
	variance, uncertain := 0.0, 0.0
	for _, g := range groups {
		v := spread * g.squares
		if n := float64(len(g.off)); n > 1 {
			v = n * sampleVariance(g.off)
			uncertain += v * v / (n - 1)
		}
		variance += v
	}
	if variance <= 0 || uncertain <= 0 {
		return counted
	}
	wide := special.Student95(variance*variance/uncertain) / special.Normal95
	return min(counted, spread*m.total*m.total/(variance*wide*wide))
}

// sampleVariance returns the variance of a population by a sample of it.
func sampleVariance(list []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, v := range list {
		mean += v / float64(len(list))
	}
	for _, v := range list {
		sum += (v - mean) * (v - mean)
	}
	return sum / float64(len(list)-1)
}
