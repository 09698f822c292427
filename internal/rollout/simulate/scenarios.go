package simulate

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/beagle-go/beagle/internal/rollout"
)

// Usual are the settings of the published figures.
var Usual = Settings{Horizon: 300, Most: 1200, Step: 30}

// A Scenario is a service with a version, tried many times.
type Scenario struct {
	Name    string
	Service Service
	Truth   func(seed uint64) Truth
}

func constantTruth(t Truth) func(uint64) Truth { return func(uint64) Truth { return t } }

// NullScenarios are scenarios in which the candidate is the original.
func NullScenarios() []Scenario {
	same := constantTruth(Truth{})
	return []Scenario{
		{"noise without memory", Service{}, same},
		{"autocorrelation 0.5", Service{Memory: 0.5}, same},
		{"autocorrelation 0.9", Service{Memory: 0.9}, same},
		{"heavy tails (t3)", Service{Tails: true, Memory: 0.5}, same},
		{"a daily wave of load", Service{Wave: true, Memory: 0.5}, same},
		{"one sick pod of four", Service{Pods: 4, SickPod: true, Memory: 0.5}, same},
		{"5 % of slices lost", Service{Lost: 0.05, Memory: 0.5}, same},
		{"all of these", Service{Pods: 4, SickPod: true, Tails: true, Wave: true, Lost: 0.05, Memory: 0.9}, same},
		{"calls timed by the clock, some preempted", Service{Clock: true, Memory: 0.5}, same},
		{"timed by the clock, heavy tails, 5 % of slices lost", Service{Clock: true, Tails: true, Lost: 0.05,
			Memory: 0.9}, same},
		{"whole pods, 6 and 6, one sick, autocorrelation 0.9",
			Service{Unit: rollout.Pods, Pods: 12, SickPod: true, Memory: 0.9}, same},
		{"arms by request, autocorrelation 0.9", Service{Unit: rollout.Requests, Memory: 0.9}, same},
		{"arms by request, with all of these",
			Service{Unit: rollout.Requests, Pods: 4, SickPod: true, Tails: true, Wave: true, Lost: 0.05,
				Memory: 0.9}, same},
		{"two processes, each linked in an order of its own, which moves each copy by 2 %",
			Service{Pods: 2, PodLuck: 0.02, Memory: 0.5}, same},
		{"four such processes", Service{Pods: 4, PodLuck: 0.02, Memory: 0.5}, same},
		{"eight such processes", Service{Pods: 8, PodLuck: 0.02, Memory: 0.5}, same},
		{"errors of each copy that last, 0.9",
			Service{Memory: 0.5, Clock: true, Lasting: 0.1, LastingMemory: 0.9}, same},
		{"an effect that drifts around none, 0.9", Service{Memory: 0.5, Clock: true}, drifts(0, 0.1, 0.9)},
		{"an effect that drifts around none under noise, 0.97", Service{Memory: 0.5, Clock: true},
			drifts(0, 0.02, 0.97)},
		{"by request, an effect that drifts around none, 0.9", Service{Unit: rollout.Requests, Memory: 0.9},
			drifts(0, 0.1, 0.9)},
		{"by request, an effect that drifts around none, 0.97", Service{Unit: rollout.Requests, Memory: 0.9},
			drifts(0, 0.1, 0.97)},
		{"by request, an effect that drifts around none, 0.99", Service{Unit: rollout.Requests, Memory: 0.9},
			drifts(0, 0.1, 0.99)},
	}
}

// drifts returns a change of the function that drifts.
func drifts(function, deviation, memory float64) func(uint64) Truth {
	return constantTruth(Truth{Function: function, Drift: deviation, DriftMemory: memory})
}

// Users returns a scenario in which requests do not draw: each user keeps an arm. The placebo shows
// it in about half of them, so a source must not do it.
func Users() Scenario {
	return Scenario{"arms by user, 100 users an arm", Service{Unit: rollout.Requests, Users: 100, Memory: 0.9},
		constantTruth(Truth{})}
}

// Luck returns a scenario in which link order moves each copy by 2 % of the service.
func Luck() Scenario {
	return Scenario{"link order moves each copy by 2 %", Service{LinkLuck: 0.02, Memory: 0.5}, constantTruth(Truth{})}
}

// Harms are scenarios in which users see a loss. All of them come with a gain.
func Harms() []Scenario {
	s := Service{Memory: 0.5}
	faster := func(t Truth) func(uint64) Truth {
		t.Function = -0.25
		return constantTruth(t)
	}
	return []Scenario{
		{"errors: 0.5 points more", s, faster(Truth{Errors: 0.005})},
		{"errors: 5 points more", s, faster(Truth{Errors: 0.05})},
		{"errors: 0.5 points more, in bursts", s, faster(Truth{Errors: 0.005, Bursts: true})},
		{"p99: 1 point more are slower than it", s, faster(Truth{Slow: 0.01})},
		{"p99: 1 point more, in bursts", s, faster(Truth{Slow: 0.01, Bursts: true})},
		{"p99: 1 point more, daily wave", Service{Memory: 0.5, Wave: true}, faster(Truth{Slow: 0.01})},
		{"p99: 5 points more", s, faster(Truth{Slow: 0.05})},
		{"a panic in 100,000 requests", s, faster(Truth{Panics: 1e-5})},
		{"2 % more processor time", s, faster(Truth{Service: 0.02})},
		{"5 % more allocated bytes", s, faster(Truth{Alloc: 0.05})},
		{"a leak of 1 % of the heap each block", s, faster(Truth{Leak: 0.01})},
		{"2 points more garbage collection", s, faster(Truth{GC: 0.02})},
		{"40 times as slow on 5 % of the calls, timed by the clock", Service{Memory: 0.5, Clock: true},
			faster(Truth{Class: 0.05, Times: 40})},
		{"100 times as slow on 0.4 % of the calls, timed by the clock", Service{Memory: 0.5, Clock: true},
			faster(Truth{Class: 0.004, Times: 100})},
		{"waits 20 ms on 0.05 % of the calls, 1,200 timed in a block", Service{Memory: 0.5, Clock: true, Timed: 1200},
			faster(Truth{Class: 0.0005, Times: 20000, Waits: true})},
		{"waits 3 ms on 0.05 % of the calls, 1,200 timed in a block", Service{Memory: 0.5, Clock: true, Timed: 1200},
			faster(Truth{Class: 0.0005, Times: 3000, Waits: true})},
		{"errors: 0.5 points more, arms by request", Service{Memory: 0.5, Unit: rollout.Requests},
			faster(Truth{Errors: 0.005})},
		{"p99: 1 point more, arms by request", Service{Memory: 0.5, Unit: rollout.Requests}, faster(Truth{Slow: 0.01})},
	}
}

// Gains are scenarios in which the candidate saves 0.75 % of the service, if they do not say more.
func Gains() []Scenario {
	gain := constantTruth(Truth{Function: -0.25})
	return []Scenario{
		{"noise without memory", Service{}, gain},
		{"autocorrelation 0.5", Service{Memory: 0.5}, gain},
		{"autocorrelation 0.9", Service{Memory: 0.9}, gain},
		{"heavy tails (t3)", Service{Tails: true, Memory: 0.5}, gain},
		{"a daily wave of load", Service{Wave: true, Memory: 0.5}, gain},
		{"autocorrelation 0.5, no profile of the function", Service{Memory: 0.5, NoSymbols: true}, gain},
		{"calls timed by the clock, some preempted", Service{Memory: 0.5, Clock: true}, gain},
		{"arms by request, autocorrelation 0.9", Service{Memory: 0.9, Unit: rollout.Requests}, gain},
		{"an effect that drifts, 0.9, timed by the clock", Service{Memory: 0.5, Clock: true}, drifts(-0.25, 0.1, 0.9)},
		{"eight processes, each linked in an order of its own, 2 %; saves 6 %",
			Service{Pods: 8, PodLuck: 0.02, Memory: 0.5}, constantTruth(Truth{Function: -0.25, Service: -0.0525})},
		{"by request, an effect that drifts, 0.9", Service{Memory: 0.9, Unit: rollout.Requests},
			drifts(-0.25, 0.1, 0.9)},
	}
}

// Losses returns a scenario of losses drawn by chance: what gets worse, by how much above its
// margin, on which service. In half of them the function gets faster.
func Losses() Scenario {
	return Scenario{"losses drawn by chance", Service{Memory: 0.5}, func(seed uint64) Truth {
		rng := rand.New(rand.NewPCG(seed, 200))
		times := 1.2 + 4*rng.Float64() // the guardrail's margin
		var t Truth
		switch rng.IntN(6) {
		case 0:
			t.Errors = 0.001 * times
		case 1:
			t.Slow = 0.002 * times
		case 2:
			t.Service = 0.005*times + 0.0075
		case 3:
			t.Alloc = 0.01 * times
		case 4:
			t.Leak = 0.005 * times
		case 5:
			t.GC = 0.005 * times
		}
		if rng.IntN(2) == 0 {
			t.Function = -0.25
		}
		t.Bursts = rng.IntN(2) == 0
		return t
	}}
}

// Try runs a scenario with the seeds 1 to n, on all processors.
func (s Scenario) Try(n int, set Settings) ([]Outcome, error) {
	out := make([]Outcome, n)
	var next atomic.Int64
	var group sync.WaitGroup
	var failed atomic.Pointer[error]
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for {
				i := next.Add(1)
				if i > int64(n) || failed.Load() != nil {
					return
				}
				o, err := Run(s.Service, s.Truth(uint64(i)), set, uint64(i))
				if err != nil {
					err = fmt.Errorf("%s, seed %d: %w", s.Name, i, err)
					failed.Store(&err)
					return
				}
				out[i-1] = o
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	return out, nil
}

// Shipped counts the outcomes that shipped.
func Shipped(all []Outcome) int {
	n := 0
	for _, o := range all {
		if o.Shipped {
			n++
		}
	}
	return n
}
