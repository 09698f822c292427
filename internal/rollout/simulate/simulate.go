// Package simulate runs rollouts of versions whose truth is known, on a service that exists in
// numbers only. It counts how often package rollout ships a bad version, and how soon it finds a
// good one.
//
// A simulated process answers requests in slices of 20 ms, one for each arm in
// random order, and sends the sums of ten such turns as a block. The cost of a
// request has noise that lasts from slice to slice, so that readings side by
// side are alike. Over pairs of slices the service's processor time spreads by
// about 17 %, as it did in a real process.
package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/beagle-go/beagle/internal/rollout"
)

// A Service is a world in which a version is rolled out.
type Service struct {
	Memory    float64 // AR(1) coefficient of the noise from slice to slice
	Tails     bool    // noise of Student's t with 3 degrees of freedom
	Wave      bool    // load that goes up and down by 60 % over 500 blocks
	Pods      int     // processes; default 1
	SickPod   bool    // the first pod costs three times as much, with ten times the noise and failing requests
	Lost      float64 // share of slices that do not arrive
	LinkLuck  float64 // standard deviation of link order's effect on each copy, as a share of the service
	PodLuck   float64 // the same, of each process by itself: each is linked in another order
	NoSymbols bool    // the profiler does not see the function
	Clock     bool    // the process times calls by the clock, which runs on while they are preempted
	Timed     int     // calls of an arm in a block that it times; default 120
	// Lasting is the standard deviation of an error of each copy, as a share of its cost. It lasts
	// from block to block with the AR(1) coefficient LastingMemory, so blocks are too short for it.
	Lasting, LastingMemory float64

	Unit rollout.Unit
	// Users is, where requests are the unit, how many users each arm has: a user keeps his arm, as
	// requests must not. 0 lets each request draw.
	Users int
}

// A Truth states how the candidate differs from the original.
type Truth struct {
	Function float64 // relative change of the function's time
	Service  float64 // relative change of the service's, beside the function's own effect
	Errors   float64 // added share of failing requests
	Slow     float64 // added share of slow requests
	Alloc    float64 // relative change of allocated bytes
	Leak     float64 // added growth of the heap per slice, as a share of it
	GC       float64 // added share of the collector
	Panics   float64 // chance of a panic per request
	Bursts   bool    // errors and slow requests come in one slice of ten
	Class    float64 // share of the function's calls that take Times as long
	Times    float64
	Waits    bool // the calls wait instead of computing
	// Drift is the standard deviation of an effect on the function's time that drifts from block to
	// block, with the AR(1) coefficient DriftMemory, around Function.
	Drift, DriftMemory float64
}

// onClass returns the extra processor time of the slow class of calls, as a share of the
// function's.
func (t Truth) onClass() float64 {
	if t.Waits {
		return 0
	}
	return (1 + t.Function) * t.Class * max(0, t.Times-1)
}

// These describe the simulated service.
const (
	sliceTime     = 20 * time.Millisecond
	turns         = 10   // of the arms in a block
	functionShare = 0.03 // of the service's processor time
	sampleNanos   = 10e6 // one sample of a profile at 100 Hz
	perSlice      = 100  // requests
	requestNanos  = 200e3
	callsEach     = 5
	errorShare    = 0.001
	slowShare     = 0.01
	gcShare       = 0.10
	sliceNoise    = 0.12
)

// process is the state of one simulated process.
type process struct {
	name   string
	noise  float64
	offset float64
	sick   bool
	luck   map[rollout.Arm]float64
	seq    int64
	now    time.Time
}

// world is a service in motion.
type world struct {
	Service
	truth  Truth
	rng    *rand.Rand
	pods   []*process
	luck   map[rollout.Arm]float64
	users  map[rollout.Arm]float64
	errors map[rollout.Arm]float64 // that last, as a share of the cost
	drift  float64                 // of the candidate's effect on the function
	blocks int
	slices []rollout.Slice
}

var epoch = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

func newWorld(s Service, truth Truth, seed uint64) *world {
	w := &world{Service: s, truth: truth, rng: rand.New(rand.NewPCG(seed, 18)), luck: map[rollout.Arm]float64{},
		errors: map[rollout.Arm]float64{}}
	w.Pods = max(w.Pods, 1)
	for i := range w.Pods {
		w.pods = append(w.pods, &process{name: fmt.Sprintf("pod-%d", i), now: epoch, sick: s.SickPod && i == 0})
	}
	if s.LinkLuck > 0 {
		w.luck = w.drawLuck(s.LinkLuck)
	}
	if s.PodLuck > 0 {
		for _, p := range w.pods {
			p.luck = w.drawLuck(s.PodLuck)
		}
	}
	return w
}

func (w *world) drawLuck(deviation float64) map[rollout.Arm]float64 {
	luck := map[rollout.Arm]float64{}
	for _, arm := range []rollout.Arm{rollout.Original, rollout.Candidate, rollout.Placebo} {
		luck[arm] = w.rng.NormFloat64() * deviation
	}
	return luck
}

// age moves what lasts from block to block on by one block.
func (w *world) age() {
	next := func(x, deviation, memory float64) float64 {
		return memory*x + math.Sqrt(1-memory*memory)*deviation*w.rng.NormFloat64()
	}
	if w.Lasting > 0 {
		for _, arm := range []rollout.Arm{rollout.Original, rollout.Candidate, rollout.Placebo} {
			w.errors[arm] = next(w.errors[arm], w.Lasting, w.LastingMemory)
		}
	}
	if w.truth.Drift > 0 {
		w.drift = next(w.drift, w.truth.Drift, w.truth.DriftMemory)
	}
}

// block lets a process run the arms in some turns, each in random order.
func (w *world) block(e *rollout.Experiment) rollout.Block {
	w.age()
	kinds := e.Arms()
	p := w.pods[w.blocks%len(w.pods)]
	arms := kinds[w.blocks/len(w.pods)%len(kinds)]
	w.blocks++
	p.seq++
	factors := w.turns(p, len(arms))
	w.slices = w.slices[:0]
	for i, arm := range arms {
		s := w.slice(p, arm, factors[i]/turns, turns)
		if w.rng.Float64() >= w.Lost {
			w.slices = append(w.slices, s)
		}
	}
	return rollout.Block{ID: p.name, Seq: p.seq, Planned: arms, Slices: w.slices, Received: p.now}
}

// turns lets the arms take turns in random order, and returns the sums of the
// cost factors that each met.
func (w *world) turns(p *process, arms int) (sums [3]float64) {
	order := [3]int{0, 1, 2}
	for range turns {
		w.rng.Shuffle(arms, func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, arm := range order[:arms] {
			sums[arm] += w.step(p)
		}
	}
	return sums
}

// load returns the traffic at this time, 1 on average.
func (w *world) load() float64 {
	if !w.Wave {
		return 1
	}
	return 1 + 0.6*math.Sin(2*math.Pi*float64(w.blocks)/500)
}

// step moves a process's noise on by one slice and returns the cost factor.
func (w *world) step(p *process) float64 {
	z := w.rng.NormFloat64()
	if w.Tails {
		chi := 0.0
		for range 3 {
			n := w.rng.NormFloat64()
			chi += n * n
		}
		z /= math.Sqrt(chi) // t3, scaled to variance 1
	}
	p.noise = w.Memory*p.noise + math.Sqrt(1-w.Memory*w.Memory)*z
	factor := 1 + sliceNoise*p.noise
	if p.sick {
		factor = 3 * (1 + 4*sliceNoise*math.Abs(p.noise))
	}
	return max(0.2, factor) * (1 + p.offset)
}

// slice sums up what an arm did in n turns at a cost factor.
func (w *world) slice(p *process, arm rollout.Arm, factor, n float64) rollout.Slice {
	var truth Truth
	if arm == rollout.Candidate {
		truth = w.truth
		truth.Function += w.drift
	}
	// Draw the requests, and what they cost.
	load := w.load()
	factor *= (0.7 + 0.3*load) * max(0.1, 1+w.errors[arm])
	requests := max(1, w.poisson(n*perSlice*load))
	ofTruth := functionShare*(truth.Function+truth.onClass()) + truth.Service
	cpu := requests * requestNanos * factor * (1 + ofTruth + w.luck[arm] + p.luck[arm])
	c := rollout.Counts{Requests: requests, CPUNanos: cpu, Calls: requests * callsEach}
	// Measure the function by a clock or by samples, if it can be measured.
	switch {
	case w.Clock:
		w.clock(&c, arm, truth, factor)
	case !w.NoSymbols:
		ofFunction := requests * requestNanos * factor * functionShare * (1 + truth.Function)
		c.FunctionNanos = w.poisson(ofFunction/sampleNanos) * sampleNanos
	}
	// Add errors and slow requests, collection, and memory.
	w.drawFailures(p, &c, truth, load)
	c.GCNanos = cpu * clamp(gcShare+truth.GC+0.03/math.Sqrt(n)*w.rng.NormFloat64())
	c.AllocBytes = requests * 4000 * (1 + truth.Alloc) * (1 + 0.05/math.Sqrt(n)*w.rng.NormFloat64())
	c.HeapBytes = 100e6 * (1 + 0.02*p.noise)
	c.HeapGrowth = c.HeapBytes * (truth.Leak + 0.01/math.Sqrt(n)*w.rng.NormFloat64())
	// Let the time pass, and draw whether a request panics.
	start := p.now
	p.now = p.now.Add(time.Duration(n) * sliceTime)
	s := rollout.Slice{Arm: arm, Pod: p.name, Build: "b1", Start: start, End: p.now, Counts: c}
	if truth.Panics > 0 && w.rng.Float64() < 1-math.Pow(1-truth.Panics, requests) {
		s.Panics = 1
	}
	return s
}

// drawFailures draws errors and slow requests.
func (w *world) drawFailures(p *process, c *rollout.Counts, truth Truth, load float64) {
	burst := 1.0
	if truth.Bursts {
		burst = 0
		if w.rng.Float64() < 0.1 {
			burst = 10
		}
	}
	errs, slow := errorShare+truth.Errors*burst, slowShare*load*load+truth.Slow*burst
	if p.sick {
		errs, slow = errs+0.05, slow+0.1
	}
	c.Errors = min(c.Requests, w.poisson(c.Requests*errs))
	c.Slow = min(c.Requests, w.poisson(c.Requests*slow))
}

func clamp(x float64) float64 { return min(0.9, max(0, x)) }

// poisson draws by Knuth's product, or from the normal law where that is slow.
func (w *world) poisson(mean float64) float64 {
	if mean > 30 {
		return math.Round(max(0, mean+math.Sqrt(mean)*w.rng.NormFloat64()))
	}
	limit, product, k := math.Exp(-mean), w.rng.Float64(), 0.0
	for product > limit {
		product *= w.rng.Float64()
		k++
	}
	return k
}
