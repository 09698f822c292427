package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/ledger"
	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
	"github.com/beagle-go/beagle/internal/settings"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/internal/tail"
	"github.com/beagle-go/beagle/probe/wire"
)

// A flight is a rollout that this command starts and follows.
type flight struct {
	*rolloutFlags
	base  pilot.Base
	order pilot.Order
	f     *pilot.Flight
	lock  *store.Lock // keeps other commands from driving the rollout
	watch *progress   // nil before the pilot is at work

	rehearses bool // under load of its own, without a record
}

// rolloutStart lets the versions take turns until the experiment is over.
func rolloutStart(ctx context.Context, o *rolloutFlags) (int, error) {
	l := &flight{rolloutFlags: o}
	defer l.unlock()
	if err := l.prepare(ctx); err != nil {
		return exitUsage, err
	}
	if l.f.Over() {
		return l.printEnd(uncontrolledDecision(l.f))
	}
	if o.server.Address != "" {
		return l.runOnServer(ctx)
	}
	return l.runHere(ctx)
}

// prepare looks at the processes, and takes up the rollout or begins one.
func (l *flight) prepare(ctx context.Context) error {
	o := l.rolloutFlags
	// Ask the processes which build they hold.
	clients, err := capture.New(o.at, o.token)
	if err != nil {
		return err
	}
	held, err := pilot.Look(ctx, clients, (&captureFlags{}).sites(o.rest)[0])
	if err != nil {
		return err
	}
	if err := o.shadowed(held.Build); err != nil {
		return err
	}
	if l.order.Predicted, err = parseSaving(o.predicted); err != nil {
		return err
	}
	if o.id == "" {
		o.id = held.Build
	}
	// A rehearsal has a state of its own, and an order refuses a build whose rehearsal did harm.
	if l.base.Store, err = openStore(); err != nil {
		return err
	}
	if l.rehearses {
		o.id = "rehearsal-" + held.Build
	} else if err := l.rehearsed(held.Build); err != nil {
		return err
	}
	l.base.ID = o.id
	if l.lock, err = l.base.Lock("beagle rollout start"); err != nil {
		return err
	}
	if l.rehearses { // the processes of an earlier one are gone
		if err := os.RemoveAll(l.base.Path("state.json")); err != nil {
			return err
		}
	}
	// Take up the state of an earlier start, or begin with a plan that the processes can carry out.
	if err := l.resumeOrBegin(held.Build, func(p rollout.Plan) rollout.Plan {
		if l.rehearses {
			p.Ramp, p.StepBlocks, p.MostBlocks = []float64{rehearsedShare}, neverBlocks, neverBlocks
		}
		p, notes := pilot.Plan(p, held)
		for _, n := range notes {
			fmt.Fprintf(o.std.err, "note: %s\n", n)
		}
		return p
	}); err != nil {
		return err
	}
	if l.f.Plan.Unit == rollout.Requests && !l.f.Over() {
		if err := pilot.CanDraw(held); err != nil {
			return err
		}
	}
	if !l.rehearses {
		if l.order.Guards, err = o.guards(); err != nil {
			return err
		}
	}
	// The rest of the order, for this process or a workflow.
	l.order.Service, l.order.Cores, l.order.At, l.order.Token = o.service, o.cores, o.at, o.token
	l.order.Limits = o.orders
	l.order.Limits.Slice = float64(o.slice) / float64(time.Millisecond)
	return nil
}

// unlock lets others drive the rollout, or follow it.
func (l *flight) unlock() {
	if l.lock != nil {
		l.lock.Unlock()
	}
	l.lock = nil
}

// runHere carries the rollout out in this process.
func (l *flight) runHere(ctx context.Context) (int, error) {
	// A workflow may drive this rollout already.
	switch at, placed, err := placedRollout(l.base); {
	case err != nil:
		return exitNo, err
	case placed:
		return exitUsage, &beagle.UsageError{
			What:   fmt.Sprintf("a workflow on %s drives rollout %s", at.Address, l.id),
			Remedy: "follow it with --temporal " + at.Address + ", or give another --id",
		}
	}
	// Drive it, and answer deployers meanwhile.
	p, err := l.pilot()
	if err != nil {
		return exitUsage, err
	}
	stop, err := l.serve(p.Standing)
	if err != nil {
		return exitUsage, err
	}
	defer stop()
	d, err := p.Run(ctx)
	l.watch.stop()
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(l.std.err, "stopped; the processes run the original. The same command goes on\n")
		if !l.asJSON { // a person asks for the status
			return exitInterrupted, nil
		}
		return exitInterrupted, l.print(reportOf(&l.f.Experiment, uncontrolledDecision(l.f)))
	}
	if err != nil {
		return exitNo, err
	}
	return l.printEnd(d)
}

// pilot returns the pilot that carries the rollout out in this process.
func (l *flight) pilot() (*pilot.Pilot, error) {
	crew, err := l.base.Crew(&l.order)
	if err != nil {
		return nil, err
	}
	crew.Warn, crew.CheckSole = l.warn, l.base.SoleController(func() int { return l.f.Log.Round })
	// A rollout may take days, so a log gets its standing now and then.
	l.watch = newProgress(l.std.err, false)
	l.watch.seldom, l.std.err = time.Minute, l.watch
	return &pilot.Pilot{Crew: *crew, Flight: l.f, Limits: l.order.Limits, Save: l.save, Told: l.keepDecision}, nil
}

// save keeps how the rollout stands, and shows it.
func (l *flight) save(f *pilot.Flight) error {
	l.watch.passing(fmt.Sprintf("%s rollout  %s: %.0f %% of the traffic on the candidate, %s used", l.watch.clock(),
		f.State.Phase, 100*f.Share(), tail.Plural(f.State.Blocks, "block")))
	return l.base.Save(f)
}

// rehearsed refuses versions whose last rehearsal did harm.
func (l *flight) rehearsed(build string) error {
	r, err := readIfThere[pilot.Rehearsal](rehearsalFile(l.base.Store, build), "rehearse again")
	switch {
	case err != nil:
		return err
	case r == nil && !l.noShadow:
		fmt.Fprintf(l.std.err, "note: build %s had no rehearsal under load: beagle rollout rehearse\n", build)
	case r != nil && r.Harm != "":
		return &beagle.UsageError{What: "the rehearsal was rolled back: " + r.Harm,
			Remedy: "correct the candidate, or rehearse once more where the load was at fault"}
	}
	return nil
}

func (l *flight) warn(text string) { fmt.Fprintf(l.std.err, "warning: %s\n", clean(text)) }

// printEnd prints how the rollout stands.
func (l *flight) printEnd(d rollout.Decision) (int, error) {
	r := reportOf(&l.f.Experiment, d)
	return rolloutExit(r), l.print(r)
}

// shadowed refuses versions that have not agreed on captured calls.
func (o *rolloutFlags) shadowed(build string) error {
	sh, err := shadowOf(build)
	switch {
	case err != nil:
		return err
	case sh != nil && sh.Differs != "":
		return &beagle.UsageError{What: "the shadow found a difference: " + sh.Differs, Remedy: "correct the candidate"}
	case sh == nil && !o.noShadow:
		return &beagle.UsageError{
			What:   fmt.Sprintf("build %s had no shadow: replay captured calls with both versions first", build),
			Remedy: "beagle rollout shadow --corpus calls.jsonl CANDIDATE.go PKG.F, or give --no-shadow",
		}
	}
	return nil
}

// resumeOrBegin goes on with the state of an earlier start, or begins by the plan.
func (l *flight) resumeOrBegin(build string, complete func(rollout.Plan) rollout.Plan) error {
	var err error
	// Go on with the state of an earlier start, if it is about this build.
	l.f, err = l.base.Load()
	if err == nil {
		if l.f.Plan.Build != build {
			return &beagle.UsageError{
				What: fmt.Sprintf("the rollout %s is about build %s, and the processes have %s", l.id,
					l.f.Plan.Build, build),
				Remedy: "give another --id for another build",
			}
		}
		_, err := l.unitOf(l.f.Plan.Unit)
		return err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Otherwise begin: the plan, completed by flags and by the shadow.
	var p rollout.Plan
	if l.plan != "" {
		if p, err = readPlan(l.plan); err != nil {
			return err
		}
	}
	if p.SlowMillis == 0 {
		p.SlowMillis = l.slow
	}
	if p.Unit, err = l.unitOf(p.Unit); err != nil {
		return err
	}
	if sh, err := shadowOf(build); err == nil && sh != nil {
		p.ShadowCalls = sh.Calls
	}
	p.PredictedCPU = -l.order.Predicted.Estimate
	// Check the plan before any process hears of it.
	e, err := rollout.New(complete(p))
	if err != nil {
		return &beagle.UsageError{What: err.Error(), Remedy: "docs/json.md has the fields of a RolloutPlan"}
	}
	if e.Plan.Build != build {
		return &beagle.UsageError{What: fmt.Sprintf("the plan is about build %q, and the processes have %q",
			e.Plan.Build, build), Remedy: "build the service again, or correct the plan"}
	}
	l.f = &pilot.Flight{Experiment: *e}
	return l.base.Begin(l.f)
}

// unitOf returns the unit of randomisation by the flag and the plan.
func (o *rolloutFlags) unitOf(planned rollout.Unit) (rollout.Unit, error) {
	units := map[string]rollout.Unit{"": planned, wire.UnitSlice: rollout.Slices, wire.UnitRequest: rollout.Requests}
	unit, ok := units[o.unit]
	switch {
	case !ok:
		return "", &beagle.UsageError{What: fmt.Sprintf("--unit %q is not a unit", o.unit),
			Remedy: "give slice or request"}
	case planned != "" && planned != unit:
		return "", &beagle.UsageError{What: fmt.Sprintf("--unit is %s, and the plan's unit is %q", o.unit, planned),
			Remedy: "leave one of them out"}
	}
	return unit, nil
}

// keepDecision prints and keeps a decision that changes something.
func (l *flight) keepDecision(d rollout.Decision) {
	l.say(pilot.ToldDecision{At: time.Now(), Decision: d})
	if l.rehearses {
		return
	}
	if err := l.base.Enter(&l.order, l.f, d, time.Now()); err != nil {
		l.warn("the ledger: " + err.Error())
	}
}

func (l *flight) say(d pilot.ToldDecision) {
	if !l.asJSON {
		if l.watch != nil {
			l.watch.pause()
		}
		fmt.Fprintf(l.std.out, "%s  %-9s %.0f %%  %s\n", d.At.Local().Format(time.TimeOnly), d.Action, 100*d.Share,
			clean(d.Cause))
	}
}

// parseSaving reads ESTIMATE,LOW,HIGH; one number stands for all three.
func parseSaving(text string) (s ledger.Saving, err error) {
	if text == "" {
		return s, nil
	}
	bad := &beagle.UsageError{What: fmt.Sprintf("--predicted %q is not a saving", text),
		Remedy: "write shares of the service, as in 0.0075,0.006,0.009"}
	var n []float64
	for _, word := range strings.Split(text, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		if err != nil || !(v > -10 && v <= 1) {
			return s, bad
		}
		n = append(n, v)
	}
	switch {
	case len(n) == 1:
		return ledger.Saving{Estimate: n[0], Low: n[0], High: n[0]}, nil
	// The estimate stands first, and must lie within its interval.
	case len(n) == 3 && slices.IsSorted([]float64{n[1], n[0], n[2]}):
		return ledger.Saving{Estimate: n[0], Low: n[1], High: n[2]}, nil
	}
	return s, bad
}

// guards returns the outside guardrails of beagle.yaml.
func (o *rolloutFlags) guards() (*pilot.Guards, error) {
	// Read the service's settings; flags go before them.
	file := o.config
	if file == "" {
		file = filepath.Join(o.dir, settings.Name)
	}
	s, name, err := settings.Read(file, o.service, o.config != "")
	if err != nil || s == nil {
		return nil, err
	}
	if o.service == "" {
		o.service = name
	}
	if o.cores == 0 {
		o.cores = s.Cores
	}
	if s.Rollout == nil {
		return nil, nil
	}
	// Take the guardrails of beagle.yaml.
	g := &pilot.Guards{Prometheus: s.Rollout.Prometheus, Alerts: s.Rollout.Alerts, Rules: s.Rollout.Rules}
	for _, r := range s.Rollout.Guardrails {
		g.Guardrails = append(g.Guardrails, pilot.Guard(r))
	}
	// Add those that its files of service levels give.
	for _, name := range s.Rollout.From {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(file), name)
		}
		derived, err := deriveGuardrails(name)
		if err != nil {
			return nil, err
		}
		if g.Alerts == nil {
			g.Alerts = derived.Alerts
		}
		g.Rules = append(g.Rules, derived.Rules...)
		for _, r := range derived.Guardrails {
			g.Guardrails = append(g.Guardrails, pilot.Guard{Name: r.Name, Query: r.Query, Bad: r.Bad, Total: r.Total,
				Above: r.Above, Then: r.Then})
		}
	}
	if err := g.Check(); err != nil {
		return nil, &beagle.UsageError{What: file + ": " + err.Error(), Remedy: "docs/rollout.md has an example"}
	}
	return g, nil
}

// serve answers deployers while the rollout runs.
func (l *flight) serve(look pilot.Source) (stop func(), err error) {
	if l.listen == "" {
		return func() {}, nil
	}
	at, err := net.Listen("tcp", l.listen)
	if err != nil {
		return nil, &beagle.UsageError{What: "--listen: " + err.Error(),
			Remedy: "give a free address, as in 127.0.0.1:9110"}
	}
	server := &http.Server{Handler: pilot.Handler(l.id, look), ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(at)
	fmt.Fprintf(l.std.err, "the judge answers at http://%s/v1/rollouts/%s/argo\n", at.Addr(), l.id)
	return func() { server.Close() }, nil
}

// print prints a report, and what the user does next.
func (l *flight) print(r *pilot.Report) error {
	if l.asJSON {
		return printJSON(l.std.out, r)
	}
	printRollout(l.std.out, r)
	switch r.Phase {
	case rollout.Released:
		fmt.Fprintln(l.std.out,
			"\nMerge the candidate now: with the end of this command the processes run the original again.")
	case rollout.Holdout:
		fmt.Fprintln(l.std.out, "\nIt shipped. The same command goes on with the hold-out.")
	}
	return nil
}
