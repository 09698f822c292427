package pilot

import (
	"context"
	"fmt"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/probe/wire"
)

// Look reads the versions of the processes. All must have the same versions of the function.
func Look(ctx context.Context, clients []*capture.Client, function string) (*wire.RolloutSwitch, error) {
	var first *wire.RolloutSwitch
	for _, c := range clients {
		r, _, err := c.Do(ctx, wire.Request{Verb: wire.VerbRolloutStatus})
		if err != nil {
			return nil, &beagle.UsageError{What: err.Error(), Remedy: "build the service with 'beagle build --rollout'"}
		}
		var found *wire.RolloutSwitch
		for _, s := range r.Rollout.Switches {
			if wire.Matches(function, s.Function) {
				found = &s
			}
		}
		switch {
		case found == nil:
			return nil, &beagle.UsageError{What: fmt.Sprintf("%s has no versions of %s", c.Address, function),
				Remedy: "build the service with 'beagle build --rollout'"}
		case first == nil:
			first = found
		case first.Build != found.Build:
			return nil, &beagle.UsageError{
				What: fmt.Sprintf("%s has build %s, and the first process build %s", c.Address, found.Build,
					first.Build),
				Remedy: "roll out one build at a time",
			}
		}
	}
	return first, nil
}

const noThreshold = "slow requests are not counted: give a threshold with --slow"

// CanDraw returns an error if requests of the processes cannot draw their arms.
func CanDraw(s *wire.RolloutSwitch) error {
	switch {
	case !s.Contexts:
		return &beagle.UsageError{What: s.Function + " gets no context.Context, so that its calls cannot get the " +
			"arm of their request", Remedy: "use --unit slice, or give the function a context"}
	case !s.Carried:
		return &beagle.UsageError{What: "the program has not begun a request with a context",
			Remedy: "wrap its server with rollouthttp.Handler and send it a request, or use --unit slice"}
	}
	return nil
}

const (
	lateMargin = 0.001 // by how much the share of calls beyond the cap may rise
	// lateTimeMargin is by how much their time beyond the cap may rise, as a share of the
	// function's.
	lateTimeMargin = 0.05
)

// Plan completes a plan by the metrics that the processes can give.
func Plan(p rollout.Plan, s *wire.RolloutSwitch) (rollout.Plan, []string) {
	var notes []string
	p.Function = s.Function
	if p.Build == "" {
		p.Build = s.Build
	}
	if p.Unit == rollout.Requests {
		notes = append(notes, "requests share the process: a version's effect on the collector, caches and locks "+
			"reaches all arms, and its processor time and allocations are not compared. Slices show them")
	}
	// Late calls are guarded under any plan. A plan with its own guardrails gets no others.
	own := p.Guardrails != nil
	if s.Times {
		var said []string
		p, said = guardLate(p)
		notes = append(notes, said...)
	}
	if own {
		return p, notes
	}
	// By requests, only what belongs to one request can be guarded.
	if p.Unit == rollout.Requests {
		p.Guardrails = append(p.Guardrails, rollout.Guardrail{Metric: rollout.FunctionTime, Margin: 0.02},
			rollout.Guardrail{Metric: rollout.RequestTime, Margin: 0.05},
			rollout.Guardrail{Metric: rollout.ErrorRate, Margin: 0.001})
		if p.SlowMillis > 0 {
			p.Guardrails = append(p.Guardrails, rollout.Guardrail{Metric: rollout.SlowShare, Margin: 0.002})
			return p, notes
		}
		return p, append(notes, noThreshold)
	}
	// By slices, the whole process counts; failed and slow requests if the program reports them.
	p.Guardrails = append(p.Guardrails, rollout.Guardrail{Metric: rollout.ServiceCPU, Margin: 0.005},
		rollout.Guardrail{Metric: rollout.FunctionTime, Margin: 0.02},
		rollout.Guardrail{Metric: rollout.AllocBytes, Margin: 0.01},
		rollout.Guardrail{Metric: rollout.GCShare, Margin: 0.005})
	if s.Requests || s.Errors {
		p.Guardrails = append(p.Guardrails, rollout.Guardrail{Metric: rollout.ErrorRate, Margin: 0.001})
	} else {
		notes = append(notes,
			"errors are not seen: the function returns none, and the program does not report requests")
	}
	switch {
	case s.Requests && p.SlowMillis > 0:
		p.Guardrails = append(p.Guardrails, rollout.Guardrail{Metric: rollout.SlowShare, Margin: 0.002})
	case s.Requests:
		notes = append(notes, noThreshold)
	default:
		notes = append(notes, "a request is a call of the function here: wrap the server with rollouthttp.Handler "+
			"to see failed and slow requests")
	}
	return p, notes
}

// guardLate has calls beyond the cap of call times watched, also under a plan with its own
// guardrails: the cap hides from other metrics of the function how slow those calls are.
func guardLate(p rollout.Plan) (rollout.Plan, []string) {
	var notes []string
	own := p.Guardrails != nil
	for _, g := range []rollout.Guardrail{{Metric: rollout.LateCalls, Margin: lateMargin},
		{Metric: rollout.LateTime, Margin: lateTimeMargin, HarmOnly: true}} {
		if slices.ContainsFunc(p.Guardrails, func(has rollout.Guardrail) bool { return has.Metric == g.Metric }) {
			continue
		}
		if own {
			notes = append(notes, fmt.Sprintf("the plan has no guardrail %s, and gets one: no other metric of the "+
				"function shows how slow a call is beyond the cap", g.Metric))
		}
		p.Guardrails = append(slices.Clip(p.Guardrails), g)
	}
	at := slices.IndexFunc(p.Guardrails, func(g rollout.Guardrail) bool { return g.Metric == rollout.LateCalls })
	unseen := "if they wait, the processor time of the service does not show them"
	if p.Unit == rollout.Requests {
		unseen = "processor time, which would show them, is not compared by request"
	}
	return p,
		append(notes, fmt.Sprintf("slow calls beyond the cap may be %g %% more of all calls, unless they take so "+
			"long that %s shows it: %s", 100*p.Guardrails[at].Margin, rollout.LateTime, unseen))
}
