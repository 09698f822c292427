package rollout

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// A Unit is the thing that chance assigns to an arm.
type Unit string

// The units of randomisation.
const (
	Slices   Unit = "slices"   // stretches of time in one process
	Requests Unit = "requests" // single requests in one process
	Pods     Unit = "pods"     // whole processes: the weakest unit, see doc.go
)

// A Plan holds the decisions of a person before an experiment. The zero value of a field that has
// a default means that default.
type Plan struct {
	Function string `json:"function"`
	Build    string `json:"build"` // ID of the binary that holds all arms
	Unit     Unit   `json:"unit"`  // default Slices
	// Builds are the binaries by arm where each arm has its own; only with Pods.
	Builds map[Arm]string `json:"builds,omitempty"`

	Success    []Metric    `json:"success"`    // default function time and, by slices or pods, service CPU
	Guardrails []Guardrail `json:"guardrails"` // default DefaultGuardrails
	// LeastGain is the relative gain that a success metric must show beyond doubt; default 0.
	LeastGain float64 `json:"least_gain,omitempty"`
	// LeastFunctionGain is the relative gain in function-time alone that ships; default 0.02. Link
	// order changes copies of a function by a percent or two where all are aligned, and one placebo
	// is too few to measure it. A smaller gain ships if it shows in another metric.
	LeastFunctionGain float64 `json:"least_function_gain"`
	// NoPlacebo leaves out the second copy of the original. Then LeastGain must exceed what link
	// order can do.
	NoPlacebo bool `json:"no_placebo,omitempty"`

	Ramp          []float64 `json:"ramp"`           // shares of traffic; default 1, 5, 10, 25, 50 %
	StepBlocks    int       `json:"step_blocks"`    // least blocks of a step; default 30
	StepSeconds   float64   `json:"step_seconds"`   // least time of a step; default 0
	Horizon       int       `json:"horizon"`        // blocks at which a decision is expected; default 1,000
	MostBlocks    int       `json:"most_blocks"`    // then an inconclusive experiment ends; default 4 horizons
	HoldoutShare  float64   `json:"holdout_share"`  // that keeps the original after shipping; default 5 %
	HoldoutBlocks int       `json:"holdout_blocks"` // default a horizon

	Alpha         float64 `json:"alpha"`          // level of the intervals; default 0.05
	MostLag       float64 `json:"most_lag"`       // largest lag-1 correlation of a valid experiment; default 0.1
	LeastBlocks   int     `json:"least_blocks"`   // no interval is believed before; default 50
	LeastTimed    int     `json:"least_timed"`    // calls of the candidate that the clock takes; default 50,000
	MostSkew      float64 `json:"most_skew"`      // seconds that clocks may differ; default 60
	MostLost      int     `json:"most_lost"`      // unusable blocks in a row that end it; default 20
	MismatchAlpha float64 `json:"mismatch_alpha"` // level of the sample-ratio test; default 0.001
	LeastPods     int     `json:"least_pods"`     // per arm, when pods are the unit; default 4
	SlowMillis    float64 `json:"slow_millis"`    // the threshold of slow requests, for reports
	ShadowCalls   float64 `json:"shadow_calls"`   // live calls that agreed before the experiment
	PredictedCPU  float64 `json:"predicted_cpu"`  // relative change of service CPU that the benchmark promised
	// most seconds from a block's first start to its last end; default 600
	BlockSpanLimit float64 `json:"block_span"`
}

// linkLuck is the least gain that a plan without a placebo may ask for: in our
// measurements alignment alone moved a service by up to 8 %.
const linkLuck = 0.08

// withDefaults fills in defaults.
func (p Plan) withDefaults() Plan {
	// Fill in numbers.
	p.Unit = cmp.Or(p.Unit, Slices)
	p.StepBlocks = cmp.Or(p.StepBlocks, 30)
	p.Horizon = cmp.Or(p.Horizon, 1_000)
	p.MostBlocks = cmp.Or(p.MostBlocks, 4*p.Horizon)
	p.HoldoutShare = cmp.Or(p.HoldoutShare, 0.05)
	p.HoldoutBlocks = cmp.Or(p.HoldoutBlocks, p.Horizon)
	p.Alpha = cmp.Or(p.Alpha, 0.05)
	p.MostLag = cmp.Or(p.MostLag, 0.1)
	p.LeastBlocks = cmp.Or(p.LeastBlocks, 50)
	p.LeastTimed = cmp.Or(p.LeastTimed, leastTimed)
	p.LeastFunctionGain = cmp.Or(p.LeastFunctionGain, 0.02)
	p.MostSkew = cmp.Or(p.MostSkew, 60)
	p.MostLost = cmp.Or(p.MostLost, 20)
	p.MismatchAlpha = cmp.Or(p.MismatchAlpha, 0.001)
	p.LeastPods = cmp.Or(p.LeastPods, 4)
	p.BlockSpanLimit = cmp.Or(p.BlockSpanLimit, 600)
	// Choose the metrics that fit the unit, and a ramp.
	if p.Success == nil {
		p.Success = []Metric{FunctionTime, ServiceCPU}
		if p.Unit == Requests {
			p.Success = []Metric{FunctionTime}
		}
	}
	if p.Guardrails == nil {
		p.Guardrails = DefaultGuardrails(p.Unit)
	}
	if p.Ramp == nil {
		p.Ramp = []float64{0.01, 0.05, 0.10, 0.25, 0.50}
	}
	return p
}

// check returns the fault of a plan.
func (p Plan) check() error {
	switch {
	case p.Build == "" && len(p.Builds) == 0:
		return errors.New("the plan names no build: give the ID of the binary that holds the arms")
	case len(p.Builds) > 0 && p.Unit != Pods:
		return fmt.Errorf("the plan has a build for each arm, but its unit is %q: use the unit %q", p.Unit, Pods)
	case !slices.Contains([]Unit{Slices, Requests, Pods}, p.Unit):
		return fmt.Errorf("unit %q is unknown: use %q, %q or %q", p.Unit, Slices, Requests, Pods)
	case p.NoPlacebo && p.LeastGain < linkLuck:
		return fmt.Errorf("least_gain is %g without a placebo: link order alone can move a service by %g, "+
			"so ask for more than that or add the placebo arm", p.LeastGain, linkLuck)
	case len(p.Success) == 0:
		return errors.New("the plan has no success metric: nothing could ship")
	case len(p.Guardrails) == 0:
		return errors.New("the plan has no guardrail: leave the field out for the default ones")
	case len(p.Ramp) == 0 || !slices.IsSorted(p.Ramp) || p.Ramp[0] <= 0 || p.Ramp[len(p.Ramp)-1] > 0.5:
		return fmt.Errorf("ramp %v must rise from above 0 to at most 0.5", p.Ramp)
	}
	return p.checkNumbers()
}

// checkNumbers returns an error for a number of the plan that is out of range.
func (p Plan) checkNumbers() error {
	// Check that numbers are within their ranges.
	for _, n := range []struct {
		name      string
		value     float64
		low, high float64
	}{
		{"alpha", p.Alpha, 1e-6, 0.2}, {"most_lag", p.MostLag, 0.01, 0.5}, {"least_gain", p.LeastGain, 0, 0.9},
		{"least_function_gain", p.LeastFunctionGain, 0, 0.9},
		{"holdout_share", p.HoldoutShare, 0.001, 0.5}, {"mismatch_alpha", p.MismatchAlpha, 1e-9, 0.05},
		{"least_timed", float64(p.LeastTimed), 0, 1e12},
		{"least_blocks", float64(p.LeastBlocks), 20, 1e6}, {"step_blocks", float64(p.StepBlocks), 1, 1e9},
		{"horizon", float64(p.Horizon), 20, 1e9}, {"most_blocks", float64(p.MostBlocks), 20, 1e10},
		{"most_skew", p.MostSkew, 0.001, 86400}, {"most_lost", float64(p.MostLost), 1, 1e6},
		{"least_pods", float64(p.LeastPods), 3, 1e6}, {"step_seconds", p.StepSeconds, 0, 1e8},
		{"holdout_blocks", float64(p.HoldoutBlocks), 20, 1e9}, {"block_span", p.BlockSpanLimit, 0.001, 1e7},
	} {
		if math.IsNaN(n.value) || n.value < n.low || n.value > n.high {
			return fmt.Errorf("%s is %g: give a value from %g to %g", n.name, n.value, n.low, n.high)
		}
	}
	// Check that metrics exist, and that the plan's unit can compare them.
	for _, g := range p.Guardrails {
		if _, ok := measures[g.Metric]; !ok || math.IsNaN(g.Margin) || g.Margin <= 0 || g.Margin > 1 {
			return fmt.Errorf("guardrail %q with margin %g: give a known metric and a margin above 0, at most 1",
				g.Metric, g.Margin)
		}
	}
	for _, m := range p.metrics() {
		if p.Unit == Requests && measures[m].whole {
			return fmt.Errorf("metric %q is one of the whole process, which runs all arms when the unit is %q: "+
				"take it out, or use the unit %q", m, p.Unit, Slices)
		}
	}
	for _, m := range p.Success {
		if m != FunctionTime && m != ServiceCPU {
			return fmt.Errorf("success metric %q: use %q or %q", m, FunctionTime, ServiceCPU)
		}
	}
	return nil
}

// metrics lists the compared metrics: success metrics and guardrails, each once.
func (p Plan) metrics() []Metric {
	out := slices.Clone(p.Success)
	for _, g := range p.Guardrails {
		if !slices.Contains(out, g.Metric) {
			out = append(out, g.Metric)
		}
	}
	return out
}

// A Phase is the stage of an experiment.
type Phase string

// The phases. The last two are final.
const (
	Ramping    Phase = "ramp"
	Holdout    Phase = "hold-out" // shipped; a small share keeps the original
	Released   Phase = "released"
	RolledBack Phase = "rolled-back"
)

// An Experiment compares two versions in production. Make one with [New], or
// read one from JSON.
type Experiment struct {
	Plan  Plan  `json:"plan"`
	State State `json:"state"`
}

// A State is all that an experiment remembers.
type State struct {
	Phase  Phase   `json:"phase"`
	Step   int     `json:"step"`   // index in the ramp
	Blocks int     `json:"blocks"` // used, in all
	InStep int     `json:"in_step"`
	Began  float64 `json:"began"`           // seconds since 1970 of the first block of this step
	Cause  string  `json:"cause"`           // of the last decision that changed something
	Doubt  string  `json:"doubt,omitempty"` // why it did not ship at the last look
	Held   string  `json:"held,omitempty"`  // why outside guardrails hold it

	Effect  map[Metric]*Track `json:"effect"`  // candidate less original
	Beyond  map[Metric]*Track `json:"beyond"`  // candidate less placebo
	Placebo map[Metric]*Track `json:"placebo"` // placebo less original
	After   map[Metric]*Track `json:"after"`   // candidate less original since it shipped

	ByPod    map[Arm]map[string]*Counts `json:"by_pod,omitempty"` // sums, when pods are the unit
	Streams  map[string]*Stream         `json:"streams"`
	Assigned Mismatch                   `json:"assigned"` // requests by arm, where those are the unit
	Missing  Mismatch                   `json:"missing"`  // slices that did not arrive, by arm
	Unusable int                        `json:"unusable"` // blocks in a row
	// Idle blocks had no traffic, these in a row, since a time in Unix seconds.
	Idle      int                 `json:"idle,omitempty"`
	IdleSince float64             `json:"idle_since,omitempty"`
	Refused   int                 `json:"refused"` // blocks in all that could not be used
	Exposure  Exposure            `json:"exposure"`
	Proven    map[Metric]Interval `json:"proven,omitempty"` // when it shipped
	Late      Late                `json:"late,omitzero"`    // calls whose time was capped
}

// A Stream is an experiment's record of a source of blocks.
type Stream struct {
	Seq int64     `json:"seq"`
	End time.Time `json:"end"` // of its last slice
}

// Exposure sums up the candidate's calls so far.
type Exposure struct {
	Requests float64 `json:"requests"`
	Errors   float64 `json:"errors"`
	Seconds  float64 `json:"seconds"` // of slices
}

// New returns an experiment at the first step of its ramp.
func New(p Plan) (*Experiment, error) {
	p = p.withDefaults()
	if err := p.check(); err != nil {
		return nil, err
	}
	return &Experiment{Plan: p, State: State{
		Phase: Ramping, Effect: map[Metric]*Track{}, Beyond: map[Metric]*Track{}, Placebo: map[Metric]*Track{},
		After: map[Metric]*Track{}, Streams: map[string]*Stream{},
	}}, nil
}

// Hold keeps the experiment at its step for as long as why is not empty. Harm is still looked for.
// Only the time of a long hold counts against its blocks: it ships nothing.
func (e *Experiment) Hold(why string) { e.State.Held = why }

// Share returns the share of traffic that runs the candidate.
func (e *Experiment) Share() float64 {
	switch e.State.Phase {
	case Ramping:
		return e.Plan.Ramp[e.State.Step]
	case Holdout:
		return 1 - e.Plan.HoldoutShare
	case Released:
		return 1
	}
	return 0
}

// Arms returns the kinds of block that the sources should take turns with. Each
// kind has an equal stretch of each arm, in random order. Up to a third of the
// traffic all three arms fit into a block. Beyond, the candidate meets the two
// copies of the original in turn.
func (e *Experiment) Arms() [][]Arm {
	switch {
	case e.Over():
		return nil
	case e.Plan.NoPlacebo || e.State.Phase == Holdout:
		return [][]Arm{{Candidate, Original}}
	case e.Share() > 1.0/3 && e.Plan.Unit == Slices:
		return [][]Arm{{Candidate, Original}, {Candidate, Placebo}}
	}
	return [][]Arm{{Candidate, Original, Placebo}}
}

// Over reports whether nothing is left to decide.
func (e *Experiment) Over() bool { return e.State.Phase == Released || e.State.Phase == RolledBack }

// Check returns the fault of an experiment that was read from JSON.
func (e *Experiment) Check() error {
	if err := e.Plan.check(); err != nil {
		return err
	}
	s := &e.State
	switch {
	case !slices.Contains([]Phase{Ramping, Holdout, Released, RolledBack}, s.Phase):
		return fmt.Errorf("phase %q is unknown", s.Phase)
	case s.Step < 0 || s.Step >= len(e.Plan.Ramp):
		return fmt.Errorf("step %d is not one of the %d of the ramp", s.Step, len(e.Plan.Ramp))
	case s.Effect == nil || s.Beyond == nil || s.Placebo == nil || s.After == nil || s.Streams == nil:
		return errors.New("the state lacks its statistics: was the file cut?")
	}
	return nil
}
