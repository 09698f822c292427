package simulate

import (
	"math"
	"time"

	"github.com/beagle-go/beagle/internal/rollout"
)

// These describe the requests of a process.
const (
	requestsEach  = 1500  // a second
	leastEach     = 100   // of an arm in a block, which lasts until then
	functionNanos = 1200. // of a call
	callSpread    = 0.8   // standard deviation of a call's time, as a share of it
	timedEach     = 1. / 3
	userSpread    = 0.3
)

// requests lets each request draw its arm, and sums up the arms' requests over some seconds.
func (w *world) requests(e *rollout.Experiment) rollout.Block {
	w.age()
	arms := e.Arms()[0]
	p := w.pods[w.blocks%len(w.pods)]
	w.blocks++
	p.seq++
	factor, load := w.step(p), w.load()
	share := e.Share()
	// As in package probe/rollout: every arm counts as many requests as the smallest one gets.
	counted := min(share, (1-share)/float64(len(arms)-1))
	seconds := math.Ceil(leastEach / (counted * requestsEach * load))
	start := p.now
	p.now = p.now.Add(time.Duration(seconds) * time.Second)
	w.slices = w.slices[:0]
	for _, arm := range arms {
		s := rollout.Slice{Arm: arm, Pod: p.name, Build: "b1", Start: start, End: p.now,
			Counts: w.drawRequests(p, arm, seconds*counted, factor, load)}
		if w.rng.Float64() >= w.Lost {
			w.slices = append(w.slices, s)
		}
	}
	return rollout.Block{ID: p.name, Seq: p.seq, Planned: arms, Slices: w.slices, Received: p.now}
}

// drawRequests sums up the requests of an arm. The factor is that of the process at this time, so
// it hits all arms; only chance sets the arms apart.
func (w *world) drawRequests(p *process, arm rollout.Arm, share, factor, load float64) rollout.Counts {
	var truth Truth
	if arm == rollout.Candidate {
		truth = w.truth
		truth.Function += w.drift
	}
	factor *= max(0.1, 1+w.errors[arm])
	n := max(10, w.poisson(share*requestsEach*load))
	if w.Users > 0 {
		factor *= w.ofUsers(arm)
	}
	calls := math.Ceil(n * callsEach * timedEach)
	mean := functionNanos * factor * (1 + truth.Function + w.luck[arm])
	c := rollout.Counts{Requests: n, Calls: calls}
	c.FunctionNanos = max(0, calls*mean*(1+callSpread/math.Sqrt(calls)*w.rng.NormFloat64()))
	c.RequestNanos = max(0, n*requestNanos*factor*(1+functionShare*truth.Function+truth.Service)*
		(1+callSpread/math.Sqrt(n)*w.rng.NormFloat64()))
	w.drawFailures(p, &c, truth, load)
	return c
}

// ofUsers returns the mean cost of an arm's users, who keep their arm for good.
func (w *world) ofUsers(arm rollout.Arm) float64 {
	if w.users == nil {
		w.users = map[rollout.Arm]float64{}
	}
	if w.users[arm] == 0 {
		w.users[arm] = math.Exp(userSpread / math.Sqrt(float64(w.Users)) * w.rng.NormFloat64())
	}
	return w.users[arm]
}
