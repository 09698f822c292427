package pilot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/probe/wire"
)

// A Pilot runs one experiment.
type Pilot struct {
	Experiment *rollout.Experiment
	Clients    []*capture.Client
	Orders     wire.RolloutOrders // slice, guard, turns and limits; the rest is filled in

	Save  func(*rollout.Experiment) error          // called after every round
	Told  func(rollout.Decision)                   // called when a decision changes something; may be nil
	Warn  func(string)                             // may be nil
	Watch func(context.Context) (hold, end string) // what others watch, asked before each round; may be nil
	Stop  func() bool                              // whether a person wants it to end; may be nil
	Beat  time.Duration                            // default a second

	mu    sync.Mutex
	procs []process
	last  rollout.Decision
}

// A process is what the pilot knows of one.
type process struct {
	lease   string
	lost    time.Time // since when it does not answer
	noArm   string    // why requests got no arm
	dropped int
}

// patience is how long a process may stay silent: its own lease ends before.
const patience = 30 * time.Second

// Run carries the experiment out until it is over or ctx ends. The processes are told to run the
// original in each case. It returns the last decision.
func (p *Pilot) Run(ctx context.Context) (rollout.Decision, error) {
	p.defaults()
	p.procs = make([]process, len(p.Clients))
	p.last = rollout.Decision{Action: rollout.Hold, Cause: "it has just begun", Share: p.Experiment.Share()}
	defer p.release(context.WithoutCancel(ctx))
	if err := p.begin(ctx); err != nil {
		return p.last, err
	}
	t := time.NewTicker(p.Beat)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return p.last, ctx.Err()
		case <-t.C:
		}
		p.round(ctx)
		if err := p.Save(p.Experiment); err != nil {
			return p.last, fmt.Errorf("the state cannot be kept, so the rollout ends: %w", err)
		}
		if p.over() {
			return p.last, nil
		}
	}
}

func (p *Pilot) defaults() {
	if p.Beat == 0 {
		p.Beat = time.Second
	}
	if p.Told == nil {
		p.Told = func(rollout.Decision) {}
	}
	if p.Warn == nil {
		p.Warn = func(string) {}
	}
}

func (p *Pilot) over() bool {
	return p.Experiment.State.Phase == rollout.RolledBack || p.Experiment.State.Phase == rollout.Released
}

// begin starts all processes, or none. Of a controller that was killed a lease may be left: it is
// waited for.
func (p *Pilot) begin(ctx context.Context) error {
	for i := range p.Clients {
		for tries := 0; ; tries++ {
			err := p.start(ctx, i)
			if err == nil {
				break
			}
			var refused *capture.Refused
			if !errors.As(err, &refused) || !strings.Contains(refused.Why, "another controller") || tries > 15 {
				return fmt.Errorf("nothing was started: %w", err)
			}
			p.Warn(err.Error())
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
			}
		}
	}
	return nil
}

// orders are what the processes are to do now.
func (p *Pilot) orders() *wire.RolloutOrders {
	o := p.Orders
	o.Function, o.Build, o.Share = p.Experiment.Plan.Function, p.Experiment.Plan.Build, p.Experiment.Share()
	o.Slow = p.Experiment.Plan.SlowMillis
	if p.Experiment.Plan.Unit == rollout.Requests {
		o.Unit = wire.UnitRequest
	}
	o.Arms = nil
	for _, kind := range p.Experiment.Arms() {
		var names []string
		for _, arm := range kind {
			names = append(names, string(arm))
		}
		o.Arms = append(o.Arms, names)
	}
	if p.Experiment.State.Phase == rollout.Holdout {
		o.Base = wire.Candidate
	}
	return &o
}

func (p *Pilot) start(ctx context.Context, i int) error {
	r, _, err := p.Clients[i].Do(ctx, wire.Request{Verb: wire.VerbRolloutStart, Rollout: p.orders()})
	if err != nil {
		return err
	}
	p.procs[i] = process{lease: r.Rollout.Lease}
	return nil
}

// round asks all processes for their blocks and decides.
func (p *Pilot) round(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Stop != nil && p.Stop() {
		p.decided(p.Experiment.Stop("a person stopped it"))
		return
	}
	if p.Watch != nil {
		hold, end := p.Watch(ctx)
		if p.Experiment.Hold(hold); end != "" {
			p.decided(p.Experiment.Stop(end))
			return
		}
	}
	for i := range p.Clients {
		if !p.over() {
			p.ask(ctx, i)
		}
	}
}

// ask renews the lease of a process and takes its blocks.
func (p *Pilot) ask(ctx context.Context, i int) {
	c, proc := p.Clients[i], &p.procs[i]
	r, _, err := c.Do(ctx, wire.Request{Verb: wire.VerbRolloutBeat, Lease: proc.lease, Rollout: p.orders()})
	var refused *capture.Refused
	if errors.As(err, &refused) {
		err = p.start(ctx, i) // it was started again
	}
	if err != nil {
		p.silent(i, err)
		return
	}
	proc.lost = time.Time{}
	if r == nil || r.Rollout == nil {
		return
	}
	if proc.dropped += r.Rollout.Dropped; r.Rollout.Dropped > 0 {
		p.Warn(fmt.Sprintf("%s: %d blocks were dropped, since nobody asked for them in time", c.Address,
			r.Rollout.Dropped))
	}
	if why := r.Rollout.NoArmWhy; r.Rollout.NoArm > 0 && why != proc.noArm {
		proc.noArm = why
		p.Warn(fmt.Sprintf("%s: %d requests got no arm and ran the original: %s", c.Address, r.Rollout.NoArm, why))
	}
	p.take(r.Rollout.Blocks)
	p.ended(ctx, i, r.Rollout)
}

// silent is for a process that does not answer. Alone it ends the experiment in the end: nobody can
// say what its candidate does.
func (p *Pilot) silent(i int, err error) {
	proc := &p.procs[i]
	if proc.lost.IsZero() {
		proc.lost = time.Now()
		p.Warn("lost " + err.Error())
	}
	if time.Since(proc.lost) > patience {
		p.decided(p.Experiment.Stop(fmt.Sprintf("%s does not answer for %s: %v", p.Clients[i].Address, patience, err)))
	}
}

// take has the experiment decide on blocks.
func (p *Pilot) take(blocks []wire.RolloutBlock) {
	for _, w := range blocks {
		var b rollout.Block
		text, err := json.Marshal(w)
		if err == nil {
			err = json.Unmarshal(text, &b)
		}
		if err != nil {
			p.Warn("a block has no form in JSON: " + err.Error())
			continue
		}
		b.Received = time.Now()
		if p.decided(p.Experiment.Next(b)); p.over() {
			return
		}
	}
}

// ended looks why a process runs the original by itself.
func (p *Pilot) ended(ctx context.Context, i int, r *wire.RolloutReply) {
	for _, s := range r.Switches {
		if !wire.Matches(p.Experiment.Plan.Function, s.Function) || s.Running || p.over() {
			continue
		}
		switch {
		case s.Tripped != "":
			p.decided(p.Experiment.Stop(p.Clients[i].Address + " switched to the original by itself: " + s.Tripped))
		case strings.Contains(s.Ended, "heartbeat"): // this controller was stopped for a while
			if err := p.start(ctx, i); err != nil {
				p.silent(i, err)
			}
		default:
			p.decided(p.Experiment.Stop(p.Clients[i].Address + ": " + s.Ended))
		}
	}
}

func (p *Pilot) decided(d rollout.Decision) {
	p.last = d
	if d.Action != rollout.Hold {
		p.Told(d)
	}
}

// Standing returns the experiment as JSON and the last decision, while Run is at work.
func (p *Pilot) Standing(f func(*rollout.Experiment, rollout.Decision)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p.Experiment, p.last)
}

// release has every process run the original.
func (p *Pilot) release(ctx context.Context) {
	for i, c := range p.Clients {
		if p.procs[i].lease == "" || !p.procs[i].lost.IsZero() {
			continue
		}
		if _, _, err := c.Do(ctx, wire.Request{Verb: wire.VerbRolloutStop, Lease: p.procs[i].lease}); err != nil {
			p.Warn(fmt.Sprintf("%s runs the original when its lease ends, in ten seconds: %v", c.Address, err))
		}
	}
}

// Look asks the processes what they hold. All must have the same versions of the function.
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

// CanDraw says why requests of the processes cannot draw their arms, or nothing.
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

// Plan fills in what a plan leaves out, by what the processes can tell.
func Plan(p rollout.Plan, s *wire.RolloutSwitch) (rollout.Plan, []string) {
	var notes []string
	p.Function = s.Function
	if p.Build == "" {
		p.Build = s.Build
	}
	if p.Unit == rollout.Requests {
		notes = append(notes, "requests share the process: what a version does to the collector, caches and locks "+
			"reaches all arms, and its processor time and allocations are not compared. Slices show them")
	}
	if p.Guardrails != nil {
		return p, notes
	}
	if s.Times {
		p.Guardrails = append(p.Guardrails, rollout.Guardrail{Metric: rollout.LateCalls, Margin: 0.001})
	}
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
	p.Guardrails = append(p.Guardrails, rollout.Guardrail{Metric: rollout.ServiceCPU, Margin: 0.005},
		rollout.Guardrail{Metric: rollout.FunctionTime, Margin: 0.02},
		rollout.Guardrail{Metric: rollout.AllocBytes, Margin: 0.01},
		rollout.Guardrail{Metric: rollout.GCShare, Margin: 0.005})
	if s.Requests || s.Errors {
		p.Guardrails = append(p.Guardrails, rollout.Guardrail{Metric: rollout.ErrorRate, Margin: 0.001})
	} else {
		notes = append(notes,
			"errors are not seen: the function returns none, and the program does not tell of requests")
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
