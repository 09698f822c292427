// Package runner runs an optimiser on the tasks of a suite, and measures its versions beside the
// expert's.
package runner

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/local"
	"github.com/beagle-go/beagle/suite"
)

// A Runner runs an optimiser on tasks: Beagle's own search, or a command.
type Runner struct {
	Spec    flow.Spec     // of each search; the task sets folder, target and seed
	Seeds   int           // searches on each task, with the seeds 1, 2, ...
	Against string        // a shell command in place of Beagle's search; may be empty
	Limit   time.Duration // the longest time of Against
	Driver  *local.Driver
	// Watch begins to watch a search or the optimiser's command; it also returns what ends that.
	Watch func() (w flow.Watcher, stop func())
	Say   func(format string, args ...any) // receives lines of progress; may be nil
}

// Report returns a report that has no rows yet.
func (r *Runner) Report() *suite.Report {
	report := &suite.Report{
		Optimiser:  "beagle",
		Strategy:   r.Spec.Strategy,
		Rules:      r.Spec.Rules,
		Candidates: r.Spec.Candidates,
		Machine:    flow.ThisMachine(""),
	}
	if r.Against != "" {
		report.Optimiser, report.Strategy, report.Rules = r.Against, "", nil
	}
	for seed := range r.Seeds {
		report.Seeds = append(report.Seeds, uint64(seed)+1)
	}
	return report
}

func (r *Runner) say(format string, args ...any) {
	if r.Say != nil {
		r.Say(format, args...)
	}
}

// Task runs the optimiser once a seed. Then it measures all versions that the optimiser found, and
// the expert's, in the same programs.
func (r *Runner) Task(ctx context.Context, t suite.Task) (*suite.Row, error) {
	row := &suite.Row{
		Task:      t.Name,
		Function:  t.Target,
		Goal:      t.Goal,
		Technique: t.Technique,
		Published: t.Published,
		Rewriting: t.Rewrites(),
	}
	var found []beagle.Advice
	for seed := range r.Seeds {
		run, advice, err := r.optimise(ctx, t, uint64(seed)+1)
		if err != nil {
			return nil, err
		}
		row.Runs, found = append(row.Runs, *run), advice
	}
	compared, err := r.compare(ctx, t, row.Runs)
	if err != nil {
		return nil, err
	}
	if t.Advice != "" && r.Against == "" { // other optimisers cannot advise
		row.Advice = &suite.Advised{Name: t.Advice, Named: contains(t.Advice, found)}
	}
	for i := range row.Runs {
		enterVerdict(&row.Runs[i], compared[i].Verdict)
		if row.Advice != nil && row.Advice.Named && !contains(t.Advice, compared[i].Advice) {
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

func contains(name string, list []beagle.Advice) bool {
	return slices.ContainsFunc(list, func(a beagle.Advice) bool { return a.Name == name })
}

// spec returns the spec of a run on a task.
func (r *Runner) spec(t suite.Task, seed uint64) flow.Spec {
	spec := r.Spec
	spec.Dir, spec.Target, spec.Seed = t.Dir, t.Target, seed
	return spec
}

// optimise runs the optimiser once. It also returns what Beagle advises on the
// original.
func (r *Runner) optimise(ctx context.Context, t suite.Task, seed uint64) (*suite.Run, []beagle.Advice, error) {
	watcher, stop := r.Watch()
	defer stop()
	r.Driver.Watch = watcher
	if r.Against != "" {
		run, err := r.external(ctx, t, seed)
		return run, nil, err
	}
	result, err := r.Driver.Start(ctx, r.spec(t, seed))
	if err != nil {
		return nil, nil, err
	}
	return &suite.Run{
		Seed: seed, ID: result.Run, Reason: unimproved(result), Candidates: result.Candidates,
		Seconds: result.WallSeconds, Steps: result.Best.Steps, Source: result.Best.Source,
	}, result.Advice, nil
}

// unimproved is the reason why a search ended with the original.
func unimproved(r *beagle.Result) string {
	if r.Outcome == beagle.Improved {
		return ""
	}
	return r.Why
}

// compare measures the versions of all runs and the expert's, which comes last.
// Other optimisers have no run, so that inputs are recorded now.
func (r *Runner) compare(ctx context.Context, t suite.Task, runs []suite.Run) ([]flow.Compared, error) {
	expert, err := os.ReadFile(t.ExpertFile())
	if err != nil {
		return nil, err
	}
	var entries []flow.HandVersion
	for _, run := range runs {
		name := fmt.Sprintf("version of seed %d", run.Seed)
		entries = append(entries, flow.HandVersion{Name: name, Source: run.Source})
	}
	entries = append(entries, flow.HandVersion{Name: "the expert's version", Source: string(expert)})
	return r.Driver.Compare(ctx, runs[0].ID, r.spec(t, 1), entries)
}

// enterVerdict enters the verdict on a run's version into the run. A refused version is worth as
// much as the original.
func enterVerdict(r *suite.Run, v *beagle.Verdict) {
	r.Status, r.Ratio = v.Status, suite.One
	if v.Final != nil {
		r.Ratio = v.Final.Corrected
	}
	if v.Reason != "" && (r.Reason == "" || !v.OK()) {
		r.Reason = v.Reason
	}
}
