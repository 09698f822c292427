package bench

import (
	"math"
	"math/rand/v2"

	"github.com/beagle-go/beagle/internal/rt"
)

// noise is the noise of a simulated machine, as measured on a loaded host. Times are log-normal
// around the truth; slices are preempted now and then, for times with a heavy tail; some
// preemptions escape the thread's clock (a hypervisor's, or a cache that another process emptied).
type noise struct {
	jitter    float64 // standard deviation of the log time of a slice
	preempted float64 // share of slices
	hidden    float64 // share of slices that are slowed without the clocks showing it
}

var (
	quiet  = noise{jitter: 0.003, preempted: 0.02, hidden: 0.01}
	loaded = noise{jitter: 0.01, preempted: 0.2, hidden: 0.05}
	awful  = noise{jitter: 0.03, preempted: 0.8, hidden: 0.2}
	// crowded makes slices err as much as neighbours on one machine did in stored measurements
	crowded = noise{jitter: 0.15, preempted: 0.5, hidden: 0.2}
)

// simulate makes the timing of variants whose log time a call is given, over
// windows of different cost.
func simulate(rng *rand.Rand, n noise, windows, rounds int, logs ...float64) *rt.Timing {
	t := &rt.Timing{Calls: 100, Windows: windows, Wall: make([][]int64, len(logs)), CPU: make([][]int64, len(logs))}
	for range logs {
		t.Passes = append(t.Passes, 1)
		t.Allocs, t.Bytes = append(t.Allocs, 0), append(t.Bytes, 0)
	}
	for r := range rounds {
		w := r % windows
		t.Window = append(t.Window, w)
		for v, l := range logs {
			cpu := 1e5 * math.Exp(l+0.3*float64(w%3)+n.jitter*rng.NormFloat64())
			if rng.Float64() < n.hidden {
				cpu += 2000 * pareto(rng)
			}
			wall := cpu
			if rng.Float64() < n.preempted {
				wall += 10000 * pareto(rng)
				cpu += 500 * pareto(rng) // the cache comes back cold
			}
			t.Wall[v], t.CPU[v] = append(t.Wall[v], int64(wall)), append(t.CPU[v], int64(cpu)+700)
		}
	}
	t.Empty = [2]int64{0, 700}
	return t
}

// pareto has no variance: the tail that makes means useless.
func pareto(rng *rand.Rand) float64 { return math.Pow(1-rng.Float64(), -1/1.3) }

// A code is a function as the layouts see it: how much the entry's alignment
// and the rest of the layout matter to it.
type code struct {
	gain    float64 // true ratio of the original's time to the candidate's
	classes float64 // log time that an entry at 32 modulo 64 costs
	rest    float64 // standard deviation of what else the layout does
	rare    float64 // share of places that are bad, by rest; 0: all places differ
}

var (
	tight    = code{classes: 0.30, rest: 0.015} // a loop of a few instructions
	ordinary = code{classes: 0.04, rest: 0.01}
	floating = code{classes: 0, rest: 0.05}           // the layout matters, the entry does not: the worst case
	trapped  = code{classes: 0, rest: 0.2, rare: 0.1} // a few places are very bad
)

// layouts simulates n layouts of c against its original, with several copies of both in each
// binary, and the slice noise folded into se.
func (c code) layouts(rng *rand.Rand, n int, se float64) []layoutResult {
	const copies = 4
	var out []layoutResult
	for len(out) < n {
		align, logs := [2 * copies]int{}, [2 * copies]float64{}
		for i := range align {
			align[i] = 32 * rng.IntN(2)
			logs[i] = c.classes*float64(align[i]/32) + c.rest*c.luck(rng) + se*rng.NormFloat64()
			if i >= copies {
				logs[i] -= math.Log(c.gain)
			}
		}
		var pairs []copyPair
		for i := range copies {
			for j := copies; j < 2*copies; j++ {
				e := Estimate{Log: logs[i] - logs[j], SE: math.Sqrt2 * se}
				pairs = append(pairs, copyPair{[2]int{i, j}, [2]int{align[i], align[j]}, e})
			}
		}
		if r, ok := stratify(uint64(len(out)), pairs); ok {
			out = append(out, r)
		}
	}
	return out
}

// luck returns the effect of a place on a copy, in standard deviations.
func (c code) luck(rng *rand.Rand) float64 {
	if c.rare > 0 {
		if rng.Float64() < c.rare {
			return 1
		}
		return 0
	}
	return rng.NormFloat64()
}

func (c code) gains(g float64) code { c.gain = g; return c }

// sliceNoise is the part of the slices' noise that stays in a layout.
const sliceNoise = 0.003

// decide runs the looks and the decision on simulated layouts, with holdout,
// fresh and apart as further simulated measurements.
func (c code) decide(rng *rand.Rand, finalists, tried int) (*Case, bool, string) {
	return c.decideFrom(rng, len(looks), finalists, tried)
}

// decideFrom does what decide does with time for the given number of looks.
func (c code) decideFrom(rng *rand.Rand, most, finalists, tried int) (*Case, bool, string) {
	var layouts []layoutResult
	first := firstLook(finalists, tried)
	f := knowledgeOpen
	for look := 0; f == knowledgeOpen && look < most; look++ {
		layouts = append(layouts, c.layouts(rng, max((look+1)*layoutsALook, first)-len(layouts), sliceNoise)...)
		f = judge(caseFrom(layouts).Train, look, finalists, tried, 0)
	}
	e := caseFrom(layouts)
	e.Found, e.MinGain, e.Possible = f == knowledgeFaster, 0.01, [2]bool{true, true}
	if e.Found {
		holdout := caseFrom(c.layouts(rng, len(layouts), 2*sliceNoise)).Train
		fresh := caseFrom(c.layouts(rng, len(layouts), 2*sliceNoise)).Train
		apart := Combine(c.apart(rng))
		e.Holdout, e.Fresh, e.Apart = &holdout, &fresh, &apart
	}
	faster, why := decideGain(e, e.Train.Correct(finalists, tried))
	return e, faster, why
}

// apart simulates processes of their own, whose slices have no partners.
func (c code) apart(rng *rand.Rand) []Estimate {
	out := make([]Estimate, layoutsALook)
	for i := range out {
		out[i] = Estimate{Log: math.Log(c.gain) + math.Sqrt2*c.rest*c.luck(rng) + 0.01*rng.NormFloat64()}
	}
	return out
}
