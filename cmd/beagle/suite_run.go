package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/local"
	"github.com/beagle-go/beagle/suite"
)

// A bencher runs an optimiser on tasks.
type bencher struct {
	o      *suiteOptions
	err    io.Writer
	driver *local.Driver
}

func (b *bencher) report() *suite.Report {
	r := &suite.Report{
		Optimiser:  "beagle",
		Strategy:   b.o.spec.Strategy,
		Rules:      b.o.spec.Rules,
		Candidates: b.o.spec.Candidates,
		Machine:    flow.ThisMachine(""),
	}
	if b.o.against != "" {
		r.Optimiser, r.Strategy, r.Rules = b.o.against, "", nil
	}
	for seed := range b.o.seeds {
		r.Seeds = append(r.Seeds, uint64(seed)+1)
	}
	return r
}

// task runs the optimiser once a seed, and then measures all that it found and
// the expert's version in the same programs.
func (b *bencher) task(ctx context.Context, t suite.Task) (*suite.Row, error) {
	row := &suite.Row{
		Task:      t.Name,
		Function:  t.Target,
		Goal:      t.Goal,
		Technique: t.Technique,
		Published: t.Published,
		Rewriting: t.Rewrites(),
	}
	var found []beagle.Advice
	for seed := range b.o.seeds {
		run, advice, err := b.optimise(ctx, t, uint64(seed)+1)
		if err != nil {
			return nil, err
		}
		row.Runs, found = append(row.Runs, *run), advice
	}
	compared, err := b.compare(ctx, t, row.Runs)
	if err != nil {
		return nil, err
	}
	if t.Advice != "" && b.o.against == "" { // other optimisers have no way to advise
		row.Advice = &suite.Advised{Name: t.Advice, Named: named(t.Advice, found)}
	}
	for i := range row.Runs {
		judged(&row.Runs[i], compared[i].Verdict)
		if row.Advice != nil && row.Advice.Named && !named(t.Advice, compared[i].Advice) {
			row.Advice.Applied = true
		}
	}
	expert := compared[len(row.Runs)].Verdict
	if expert.Final == nil {
		return nil, fmt.Errorf("the expert's version is %s by %s: %s", expert.Status, expert.Stage, expert.Reason)
	}
	row.Expert = expert.Final.Corrected
	row.Settle()
	return row, nil
}

func named(name string, list []beagle.Advice) bool {
	return slices.ContainsFunc(list, func(a beagle.Advice) bool { return a.Name == name })
}

// spec is that of a run on a task.
func (b *bencher) spec(t suite.Task, seed uint64) flow.Spec {
	spec := b.o.spec
	spec.Dir, spec.Target, spec.Seed = t.Dir, t.Target, seed
	return spec
}

// optimise runs the optimiser once. It also returns what Beagle advises on the
// original.
func (b *bencher) optimise(ctx context.Context, t suite.Task, seed uint64) (*suite.Run, []beagle.Advice, error) {
	p := newProgress(b.err, b.o.quiet)
	defer p.stop()
	b.driver.Watch = p.watch
	if b.o.against != "" {
		run, err := b.external(ctx, t, seed)
		return run, nil, err
	}
	r, err := b.driver.Start(ctx, b.spec(t, seed))
	if err != nil {
		return nil, nil, err
	}
	return &suite.Run{
		Seed: seed, ID: r.Run, Reason: unimproved(r), Candidates: r.Candidates, Seconds: r.WallSeconds,
		Steps: r.Best.Steps, Source: r.Best.Source,
	}, r.Advice, nil
}

// unimproved is why a search ended with the original.
func unimproved(r *beagle.Result) string {
	if r.Outcome == beagle.Improved {
		return ""
	}
	return r.Why
}

// compare measures the versions of all runs and the expert's, which comes last.
// Other optimisers have no run, so that inputs are recorded now.
func (b *bencher) compare(ctx context.Context, t suite.Task, runs []suite.Run) ([]flow.Compared, error) {
	expert, err := os.ReadFile(t.ExpertFile())
	if err != nil {
		return nil, err
	}
	var entries []flow.Entry
	for _, r := range runs {
		entries = append(entries, flow.Entry{Name: fmt.Sprintf("version of seed %d", r.Seed), Source: r.Source})
	}
	entries = append(entries, flow.Entry{Name: "the expert's version", Source: string(expert)})
	return b.driver.Compare(ctx, runs[0].ID, b.spec(t, 1), entries)
}

// judged puts the verdict on a run's version into the run. What was refused is
// worth as much as the original.
func judged(r *suite.Run, v *beagle.Verdict) {
	r.Status, r.Ratio = v.Status, suite.One
	if v.Final != nil {
		r.Ratio = v.Final.Corrected
	}
	if v.Reason != "" && (r.Reason == "" || !v.OK()) {
		r.Reason = v.Reason
	}
}

// usageError is bad input from the command line.
func usageError(what, remedy string) error { return &beagle.UsageError{What: what, Remedy: remedy} }
