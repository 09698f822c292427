package rollout

import (
	"fmt"
	"math"
)

// An effect may drift: a candidate gains more on the traffic of one minute than on that of the
// next. Precise times show such a drift as a correlation of neighbouring blocks, and the variance
// of single blocks then promises too narrow an interval for what will last. White noise may hide a
// slow drift from neighbours, so a track also merges runs of 2, 4, 8, ... blocks of a pod. Merging
// averages the noise away and leaves the drift.
//
// Where a run still resembles the next one, the variance of runs and the factor (1+r)/(1-r) of a
// first-order autoregression with their lag-1 correlation r estimate the long-run variance of a
// block (batch means: Law, Carson, A sequential procedure for determining the length of a
// steady-state simulation, Operations Research 27, 1979). The interval takes the largest of these
// estimates.

// A Merged follows runs of blocks, each merged into its mean.
type Merged struct {
	Moments Moments `json:"moments"`
	Lag     Lag     `json:"lag"`
}

// A Merge holds a pod's run of blocks until it has its length.
type Merge struct {
	Half *float64 `json:"half,omitempty"` // the first half of a run
	Last *float64 `json:"last,omitempty"` // the run before
}

const (
	mostMerges = 16 // runs of 65,536 blocks
	// leastRuns is how many independent runs an interval needs, and how many runs show a
	// correlation at all.
	leastRuns = 20
	// beyondChance times 1/sqrt(n) is the correlation that n independent runs hardly reach.
	beyondChance = 2.5
)

// merge enters a block's difference into the runs.
func (t *Track) merge(r *Reading, x float64) {
	for k := range mostMerges {
		if k == len(r.Merges) {
			r.Merges = append(r.Merges, Merge{})
		}
		m := &r.Merges[k]
		if m.Half == nil {
			m.Half = &x
			return
		}
		mean := (*m.Half + x) / 2
		m.Half = nil
		if k == len(t.Merged) {
			t.Merged = append(t.Merged, Merged{})
		}
		t.Merged[k].Moments.add(mean)
		if m.Last != nil {
			t.Merged[k].Lag.add(*m.Last, mean)
		}
		m.Last = &mean
		x = mean
	}
}

// A Drift widens an interval for the correlation of blocks.
type Drift struct {
	Variance float64 // times that of independent blocks; at least 1
	Run      int     // length in blocks of the runs that show it
	Lag      float64 // correlation of such a run with the next
	Runs     float64 // independent runs that tell as much as all blocks
}

// remembers reports whether the lag-1 correlation of n runs is above the limit, and above what
// chance shows.
func remembers(lag float64, n int, limit float64) bool {
	return lag > max(limit, beyondChance/math.Sqrt(float64(n)))
}

// drift returns the widest estimate of all lengths of runs.
func (t *Track) drift(limit float64) Drift {
	d := Drift{Variance: 1, Run: 1, Runs: float64(t.Moments.N)}
	single := t.Scaled.variance()
	if single <= 0 || t.Scaled.N < t.Moments.N { // the latter is a state of an earlier version
		return d
	}
	run := Merged{t.Scaled, t.Lag}
	for k := 0; run.Moments.N >= leastRuns; k++ {
		n, length := run.Moments.N, 1<<k
		if r := min(run.Lag.correlation(run.Moments), 0.99); remembers(r, n, limit) {
			v := float64(length) * run.Moments.variance() / single * (1 + r) / (1 - r)
			if v > d.Variance {
				d = Drift{Variance: v, Run: length, Lag: r, Runs: float64(n) * (1 - r) / (1 + r)}
			}
		}
		if k == len(t.Merged) {
			break
		}
		run = t.Merged[k]
	}
	return d
}

// unsettled says why a metric drifts too slowly for any interval, or "".
func (d Drift) unsettled(m Metric) string {
	if d.Runs >= leastRuns || d.Variance == 1 {
		return ""
	}
	return fmt.Sprintf("not valid: the effect in %s drifts too slowly: runs of %d blocks have a lag-1 correlation of "+
		"%.2f, so all blocks tell as much as %.1f independent runs, and %d are needed", m, d.Run, d.Lag,
		d.Runs, leastRuns)
}
