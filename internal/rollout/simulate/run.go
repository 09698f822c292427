package simulate

import (
	"github.com/beagle-go/beagle/internal/rollout"
)

// An Outcome is the end of a simulated rollout.
type Outcome struct {
	Shipped  bool
	Finished bool // it also passed the hold-out
	Blocks   int  // used until it shipped or was rolled back
	// CoreMinutes is the processor time of the slices that were compared.
	CoreMinutes float64
	Exposure    rollout.Exposure // of the candidate until it was rolled back
	Cause       string
}

// Settings bound a simulated rollout.
type Settings struct {
	Horizon, Most, Step int
	Holdout             bool // go on after it shipped
}

// Run takes one version through its rollout.
func Run(s Service, truth Truth, set Settings, seed uint64) (Outcome, error) {
	plan := rollout.Plan{Function: "simulated", Build: "b1", Unit: s.Unit, Horizon: set.Horizon,
		MostBlocks: set.Most, StepBlocks: set.Step, HoldoutBlocks: max(20, set.Horizon)}
	if s.NoSymbols {
		plan.Success = []rollout.Metric{rollout.ServiceCPU}
	}
	if s.Clock {
		plan.Guardrails = append(rollout.DefaultGuardrails(s.Unit), rollout.Guardrail{Metric: rollout.FunctionTime,
			Margin: 0.02}, rollout.Guardrail{Metric: rollout.LateCalls, Margin: 0.001},
			rollout.Guardrail{Metric: rollout.LateTime, Margin: 0.05, HarmOnly: true})
	}
	if s.Unit == rollout.Pods {
		plan.NoPlacebo, plan.LeastGain = true, 0.1
	}
	if s.Users > 0 {
		plan.LeastFunctionGain = 1e-6 // the trap is that users keep an arm, not how little they gain
	}
	e, err := rollout.New(plan)
	if err != nil {
		return Outcome{}, err
	}
	next := newWorld(s, truth, seed).block
	switch s.Unit {
	case rollout.Requests:
		next = newWorld(s, truth, seed).requests
	case rollout.Pods:
		next = newFleet(s, truth, seed).block
	}
	return play(e, set, next), nil
}

// play feeds blocks until the experiment is over.
func play(e *rollout.Experiment, set Settings, next func(*rollout.Experiment) rollout.Block) Outcome {
	var out Outcome
	for {
		b := next(e)
		for i := range b.Slices {
			if i == 0 || e.Plan.Unit != rollout.Requests { // arms of requests share their time
				out.CoreMinutes += b.Slices[i].End.Sub(b.Slices[i].Start).Minutes()
			}
		}
		d := e.Next(b)
		if d.Action == rollout.Ship {
			out.Shipped, out.Blocks, out.Cause = true, e.State.Blocks, d.Cause
			if !set.Holdout {
				return out
			}
		}
		if d.Action == rollout.RollBack || d.Action == rollout.Finish {
			out.Finished = d.Action == rollout.Finish
			out.Blocks, out.Cause, out.Exposure = e.State.Blocks, d.Cause, e.State.Exposure
			return out
		}
	}
}

// fleet compares pods of the candidate with pods of the original.
type fleet struct {
	*world
	arms []rollout.Arm
	seq  int64
}

// newFleet gives each pod an arm for good, as a canary does.
func newFleet(s Service, truth Truth, seed uint64) *fleet {
	f := &fleet{world: newWorld(s, truth, seed)}
	for i, p := range f.pods {
		p.offset = 0.03 * f.rng.NormFloat64() // neighbours and hardware
		f.arms = append(f.arms, []rollout.Arm{rollout.Original, rollout.Candidate}[i%2])
	}
	f.rng.Shuffle(len(f.arms), func(i, j int) { f.arms[i], f.arms[j] = f.arms[j], f.arms[i] })
	return f
}

func (f *fleet) block(*rollout.Experiment) rollout.Block {
	f.seq++
	f.blocks++
	f.slices = f.slices[:0]
	for i, p := range f.pods {
		f.slices = append(f.slices, f.slice(p, f.arms[i], f.step(p), turns))
	}
	return rollout.Block{ID: "fleet", Seq: f.seq, Slices: f.slices,
		Planned: []rollout.Arm{rollout.Original, rollout.Candidate}}
}
