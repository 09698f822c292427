package rollout

import (
	"fmt"
	"math"

	"github.com/beagle-go/beagle/internal/inorder"
)

// An effect may drift: a candidate gains more on the traffic of one minute than on that of the
// next. Precise times show such a drift as a correlation of neighbouring blocks, and then the
// variance of single blocks promises too narrow an interval. White noise may hide a slow drift from
// neighbours, so a track also merges runs of 2, 4, 8, ... blocks of a pod. Merging averages the
// noise away and leaves the drift. Each pod's blocks are compared with that pod's mean: differences
// between pods are no drift (see between.go).
//
// Where a run still resembles the next one, the variance of runs and the factor (1+r)/(1-r) of a
// first-order autoregression with their lag-1 correlation r estimate the long-run variance of a
// block (batch means: Law, Carson, A sequential procedure for determining the length of a
// steady-state simulation, Operations Research 27, 1979). The interval takes the largest of these
// estimates.

// A Run follows a pod's runs of one length, each the mean of its blocks.
type Run struct {
	Moments Moments  `json:"moments"`
	Lag     Lag      `json:"lag"`
	Last    *float64 `json:"last,omitempty"` // the run before
	Half    *float64 `json:"half,omitempty"` // one that waits for the next to make a longer run
}

const (
	maxRuns = 17 // lengths, the longest of 65,536 blocks
	// minRuns is the number of independent runs that an interval needs, and that show a
	// correlation at all.
	minRuns = 20
	// beyondChance times 1/sqrt(n) is the correlation that n independent runs hardly reach.
	beyondChance = 2.5
)

// merge enters a block's difference into the runs.
func (r *PodMemory) merge(x float64) {
	for k := range maxRuns {
		if k == len(r.Runs) {
			r.Runs = append(r.Runs, Run{})
		}
		run, now := &r.Runs[k], x
		run.Moments.add(now)
		if run.Last != nil {
			run.Lag.add(*run.Last, now)
		}
		run.Last = &now
		if run.Half == nil {
			run.Half = &now
			return
		}
		x = (*run.Half + now) / 2
		run.Half = nil
	}
}

// A spread is the variance of pods' means that runs of one length show.
type spread struct {
	n             int // runs, less one for each pod's mean but one
	variance, lag float64
}

// poolRuns pools the runs of 2^k blocks of all pods.
func (t *Track) poolRuns(k int) spread {
	runs, pods, pairs, squares, products := 0, 0, 0, 0.0, 0.0
	for _, name := range inorder.Keys(t.Pods) { // sums do not depend on the order of a map
		if k >= len(t.Pods[name].Runs) {
			continue
		}
		r := &t.Pods[name].Runs[k]
		if r.Moments.N == 0 {
			continue
		}
		runs, pods, pairs = runs+r.Moments.N, pods+1, pairs+r.Lag.Pairs
		squares += r.Moments.M2
		products += r.Lag.sumAbout(r.Moments.Mean)
	}
	out := spread{n: runs - pods + 1}
	if out.n < 2 {
		return out
	}
	out.variance = squares / float64(out.n-1)
	if pairs >= 2 && squares > 0 {
		out.lag = products / float64(pairs) / (squares / float64(runs))
	}
	return out
}

// followed returns the number of blocks that the runs hold. It is less than all in a state of an
// earlier version.
func (t *Track) followed() (n int) {
	for _, r := range t.Pods {
		n += r.Effect.N
	}
	return n
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
	single := t.poolRuns(0).variance
	if single <= 0 {
		return d
	}
	for k := range maxRuns {
		run, length := t.poolRuns(k), 1<<k
		if run.n < minRuns {
			break
		}
		if r := min(run.lag, 0.99); remembers(r, run.n, limit) {
			v := float64(length) * run.variance / single * (1 + r) / (1 - r)
			if v > d.Variance {
				d = Drift{Variance: v, Run: length, Lag: r, Runs: float64(run.n) * (1 - r) / (1 + r)}
			}
		}
	}
	return d
}

// unsettled returns why a metric drifts too slowly for any interval, or "".
func (d Drift) unsettled(m Metric) string {
	if d.Runs >= minRuns || d.Variance == 1 {
		return ""
	}
	return fmt.Sprintf("not valid: the effect in %s drifts too slowly: runs of %d blocks have a lag-1 correlation of "+
		"%.2f, so all blocks count as %.1f independent runs, and %d are needed", m, d.Run, d.Lag,
		d.Runs, minRuns)
}
