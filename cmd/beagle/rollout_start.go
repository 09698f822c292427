package main

import (
	"bytes"
	"context"
	"encoding/json"
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
	"github.com/beagle-go/beagle/probe/wire"
)

// A flight is a rollout that this process controls.
type flight struct {
	*rolling
	dir   string
	e     *rollout.Experiment
	pilot *pilot.Pilot
	store *store.Store
	saved ledger.Saving // what the benchmark promises
}

// rolloutStart lets the versions take turns until the experiment is over.
func rolloutStart(ctx context.Context, o *rolling) (int, error) {
	clients, err := capture.New(o.at, o.token)
	if err != nil {
		return exitUsage, err
	}
	name := (&capturing{}).sites(o.rest)[0]
	held, err := pilot.Look(ctx, clients, name)
	if err != nil {
		return exitUsage, err
	}
	if err := o.shadowed(held.Build); err != nil {
		return exitUsage, err
	}
	l := &flight{rolling: o}
	if l.saved, err = parseSaving(o.predicted); err != nil {
		return exitUsage, err
	}
	if o.id == "" {
		o.id = held.Build
	}
	if l.dir, err = rolloutDir(o.id); err != nil {
		return exitNo, err
	}
	if err := l.open(held.Build, func(p rollout.Plan) rollout.Plan {
		p, notes := pilot.Plan(p, held)
		for _, n := range notes {
			fmt.Fprintf(o.std.err, "note: %s\n", n)
		}
		return p
	}); err != nil {
		return exitUsage, err
	}
	if l.e.Plan.Unit == rollout.Requests && !over(l.e) {
		if err := pilot.CanDraw(held); err != nil {
			return exitUsage, err
		}
	}
	if over(l.e) {
		r := reportOf(l.e, rollout.Decision{Action: rollout.Hold, Cause: l.e.State.Cause})
		return rolloutExit(r), l.print(r)
	}
	guards, err := o.guards()
	if err != nil {
		return exitUsage, err
	}
	l.pilot = &pilot.Pilot{Experiment: l.e, Clients: clients, Orders: o.orders, Save: l.save, Told: l.told,
		Stop: func() bool { _, err := os.Stat(l.file("stop")); return err == nil },
		Warn: func(text string) { fmt.Fprintf(o.std.err, "warning: %s\n", clean(text)) }}
	l.pilot.Orders.Slice = float64(o.slice) / float64(time.Millisecond)
	if guards != nil {
		l.pilot.Watch = guards.Ask
	}
	stop, err := l.serve()
	if err != nil {
		return exitUsage, err
	}
	defer stop()
	d, err := l.pilot.Run(ctx)
	err = errors.Join(err, l.save(l.e))
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(o.std.err, "stopped; the processes run the original. The same command goes on\n")
		return exitInterrupted, nil
	}
	if err != nil {
		return exitNo, err
	}
	r := reportOf(l.e, d)
	return rolloutExit(r), l.print(r)
}

// shadowed refuses versions that have not agreed on captured calls.
func (o *rolling) shadowed(build string) error {
	sh, err := shadowOf(build)
	switch {
	case err != nil:
		return err
	case sh != nil && sh.Differs != "":
		return &beagle.UsageError{What: "the shadow found a difference: " + sh.Differs, Remedy: "correct the candidate"}
	case sh == nil && !o.noShadow:
		return &beagle.UsageError{
			What:   fmt.Sprintf("build %s had no shadow: nobody replayed captured calls with both versions", build),
			Remedy: "beagle rollout shadow --corpus calls.jsonl CANDIDATE.go PKG.F, or give --no-shadow",
		}
	}
	return nil
}

func (l *flight) file(name string) string { return filepath.Join(l.dir, name) }

// open goes on with the state of an earlier start, or begins by the plan.
func (l *flight) open(build string, complete func(rollout.Plan) rollout.Plan) error {
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return err
	}
	var err error
	if l.store, err = openStore(); err != nil {
		return err
	}
	l.e, err = loadExperiment(l.file("state.json"))
	if err == nil {
		if l.e.Plan.Build != build {
			return &beagle.UsageError{
				What: fmt.Sprintf("the rollout %s is about build %s, and the processes have %s", l.id,
					l.e.Plan.Build, build),
				Remedy: "give another --id for another build",
			}
		}
		_, err := l.unitOf(l.e.Plan.Unit)
		return err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
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
	p.PredictedCPU = -l.saved.Estimate
	if l.e, err = rollout.New(complete(p)); err != nil {
		return &beagle.UsageError{What: err.Error(), Remedy: "docs/rollout.md has the fields of a plan"}
	}
	if l.e.Plan.Build != build {
		return &beagle.UsageError{What: fmt.Sprintf("the plan is about build %q, and the processes have %q",
			l.e.Plan.Build,
			build), Remedy: "build the service again, or correct the plan"}
	}
	return l.save(l.e)
}

// unitOf is the unit of randomisation by the flag and the plan.
func (o *rolling) unitOf(planned rollout.Unit) (rollout.Unit, error) {
	units := map[string]rollout.Unit{"": planned, wire.UnitSlice: rollout.Slices, wire.UnitRequest: rollout.Requests}
	unit, ok := units[o.unit]
	switch {
	case !ok:
		return "", &beagle.UsageError{What: fmt.Sprintf("--unit %q is no unit", o.unit),
			Remedy: "give slice or request"}
	case planned != "" && planned != unit:
		return "", &beagle.UsageError{What: fmt.Sprintf("--unit is %s, and the plan's unit is %q", o.unit, planned),
			Remedy: "leave one of them out"}
	}
	return unit, nil
}

func (l *flight) save(e *rollout.Experiment) error { return saveExperiment(l.file("state.json"), e) }

// told prints and keeps a decision that changes something.
func (l *flight) told(d rollout.Decision) {
	if !l.asJSON {
		fmt.Fprintf(l.std.out, "%s  %-9s %.0f %%  %s\n", time.Now().Format(time.TimeOnly), d.Action, 100*d.Share,
			clean(d.Cause))
	}
	if d.Action == rollout.Ship {
		if err := l.enter(); err != nil {
			fmt.Fprintf(l.std.err, "warning: the ledger: %v\n", err)
		}
	}
	if d.Action == rollout.RollBack && l.e.State.Proven != nil {
		if err := l.revert(d.Cause); err != nil {
			fmt.Fprintf(l.std.err, "warning: the ledger: %v\n", err)
		}
	}
}

// change is the ledger's line for this rollout.
func (l *flight) change() ledger.Change {
	service := l.service
	if service == "" {
		service = "service"
	}
	c := ledger.Change{ID: l.id, Service: service, Function: l.e.Plan.Function, Cores: l.cores,
		Shipped: time.Now().UTC().Format(time.DateOnly), Predicted: l.saved}
	if i, ok := l.e.State.Proven[rollout.ServiceCPU]; ok && i.N > 1 {
		c.Proven = &ledger.Saving{Estimate: -i.Estimate, Low: max(-10, -i.High), High: min(1, -i.Low)}
	}
	return c
}

// enter writes what was proven beside what was promised.
func (l *flight) enter() error { return l.append(l.change()) }

func (l *flight) revert(why string) error {
	c := l.change()
	c.Reverted, c.Why = c.Shipped, why
	return l.append(c)
}

func (l *flight) append(c ledger.Change) error {
	line, err := json.Marshal(c)
	if err == nil {
		_, err = ledger.Read(bytes.NewReader(line))
	}
	if err != nil {
		return err
	}
	j, err := store.OpenJournal(filepath.Join(l.store.Dir(), "ledger.jsonl"))
	if err != nil {
		return err
	}
	return errors.Join(j.Append(c), j.Sync(), j.Close())
}

// parseSaving reads ESTIMATE,LOW,HIGH; one number stands for all three.
func parseSaving(text string) (s ledger.Saving, err error) {
	if text == "" {
		return s, nil
	}
	bad := &beagle.UsageError{What: fmt.Sprintf("--predicted %q is no saving", text),
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
	case len(n) == 3 && slices.IsSorted([]float64{n[1], n[0], n[2]}):
		return ledger.Saving{Estimate: n[0], Low: n[1], High: n[2]}, nil
	}
	return s, bad
}

// guards are what beagle.yaml has others watch.
func (o *rolling) guards() (*pilot.Guards, error) {
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
	g := &pilot.Guards{Prometheus: s.Rollout.Prometheus, Alerts: s.Rollout.Alerts, Rules: s.Rollout.Rules,
		Token: os.Getenv("BEAGLE_PROMETHEUS_TOKEN")}
	for _, r := range s.Rollout.Guardrails {
		g.Guardrails = append(g.Guardrails, pilot.Guard(r))
	}
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
func (l *flight) serve() (stop func(), err error) {
	if l.listen == "" {
		return func() {}, nil
	}
	at, err := net.Listen("tcp", l.listen)
	if err != nil {
		return nil, &beagle.UsageError{What: "--listen: " + err.Error(),
			Remedy: "give a free address, as in 127.0.0.1:9110"}
	}
	server := &http.Server{Handler: pilot.Handler(l.id, l.pilot.Standing), ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(at)
	fmt.Fprintf(l.std.err, "the judge answers at http://%s/v1/rollouts/%s/argo\n", at.Addr(), l.id)
	return func() { server.Close() }, nil
}

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

// rolloutStatus prints how rollouts stand, by their files.
func rolloutStatus(_ context.Context, o *rolling) (int, error) {
	root, err := rolloutDir("")
	if err != nil {
		return exitNo, err
	}
	names := o.rest
	if len(names) == 0 {
		found, err := filepath.Glob(filepath.Join(root, "*", "state.json"))
		if err != nil {
			return exitNo, err
		}
		for _, f := range found {
			names = append(names, filepath.Base(filepath.Dir(f)))
		}
	}
	if len(names) == 0 && !o.asJSON {
		fmt.Fprintln(o.std.out, "There are no rollouts yet.")
	}
	status := exitOK
	for _, name := range names {
		e, err := loadExperiment(filepath.Join(root, name, "state.json"))
		if errors.Is(err, fs.ErrNotExist) {
			err = &beagle.UsageError{What: fmt.Sprintf("there is no rollout %q", name),
				Remedy: "'beagle rollout status' lists them"}
		}
		if err != nil {
			return exitUsage, err
		}
		r := reportOf(e, rollout.Decision{Action: rollout.Hold, Cause: e.State.Cause})
		if len(o.rest) == 1 {
			status = rolloutExit(r)
		}
		if o.asJSON {
			err = printJSON(o.std.out, r)
		} else {
			fmt.Fprintf(o.std.out, "%s  ", name)
			printRollout(o.std.out, r)
		}
		if err != nil {
			return exitNo, err
		}
	}
	return status, nil
}

// rolloutStop has the controller end a rollout, or the next start of it.
func rolloutStop(_ context.Context, o *rolling) (int, error) {
	if !plainName.MatchString(o.rest[0]) {
		return exitUsage, &beagle.UsageError{What: fmt.Sprintf("%q is no name of a rollout", o.rest[0]),
			Remedy: "'beagle rollout status' lists them"}
	}
	dir, err := rolloutDir(o.rest[0])
	if err != nil {
		return exitNo, err
	}
	if _, err := os.Stat(filepath.Join(dir, "state.json")); err != nil {
		return exitUsage, &beagle.UsageError{What: fmt.Sprintf("there is no rollout %q", o.rest[0]),
			Remedy: "'beagle rollout status' lists them"}
	}
	if err := os.WriteFile(filepath.Join(dir, "stop"), nil, 0o644); err != nil {
		return exitNo, err
	}
	fmt.Fprintf(o.std.out,
		"%s ends: its controller rolls back within a second; without one the processes run the original "+
			"already, or within ten seconds\n", o.rest[0])
	return exitOK, nil
}
