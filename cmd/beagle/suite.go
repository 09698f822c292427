package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/local"
	"github.com/beagle-go/beagle/internal/report"
	"github.com/beagle-go/beagle/suite"
	"github.com/beagle-go/beagle/suite/runner"
)

var suiteCommand = &command{
	name: "suite", args: "[TASK...]",
	short: "measure an optimiser against experts",
	long: `
Runs Beagle's search, rules only, on every task of the suite, then measures what it found
and the expert's version against the original, side by side in the same programs:
verified, paired, over several link layouts. A task is a folder; suite/README.md tells how
to add one, and how to run another optimiser with --against.

Examples:
  beagle suite --list
  beagle suite                             # in Beagle's repository
  beagle suite --rules all                 # and the rewrites that fire on the suite alone
  beagle suite --seeds 5 --json mergetags murmur3 >report.json
  beagle suite --against 'go fix ./...'    # any command that changes files where it runs
  beagle suite --dir ~/src/my-suite

A goal, where there is one, is half of a known gain: 1 + (k - 1)/2 times as fast, where a
known version is k times as fast. It is met when the low end of the interval meets it. A
task that asks for advice is met when the advice was named and no version applied it.

Exit status: 0 when all tasks ran, 1 when something failed, 2 for bad input, 130 when
interrupted.`,
}

func init() { suiteCommand.run = runSuite }

// suiteOptions are the flags of the command.
type suiteOptions struct {
	spec       flow.Spec
	dir        string
	seeds      int
	against    string
	limit      time.Duration
	list, json bool
	quiet      bool
}

// flags declares the flags of beagle suite.
func (o *suiteOptions) flags(f *flagSet) {
	o.spec = flow.Defaults()
	f.StringVar(&o.dir, "dir", "suite/tasks", "the `folder` whose folders are the tasks")
	f.StringVar(&o.spec.Strategy, "strategy", o.spec.Strategy, "islands, best-of-n or rules-only-greedy")
	f.Var(listFlag{&o.spec.Rules}, "rules",
		"search with these `rewrites` and sets: default, all, suite (rewrites that apply only here), separated by "+
			"commas")
	f.IntVar(&o.seeds, "seeds", 1,
		"searches on each task, with the seeds 1, 2, ...: the median counts, the spread is shown")
	f.IntVar(&o.spec.Candidates, "candidates", o.spec.Candidates, "versions that a search may evaluate")
	f.DurationVar(&o.spec.Measure, "measure", o.spec.Measure,
		"time to measure two versions side by side; more take longer")
	f.DurationVar(&o.spec.Fuzz, "fuzz", o.spec.Fuzz, "longest search for inputs on which a measured version differs")
	f.StringVar(&o.against, "against", "", "run this shell `command` instead of Beagle's search (suite/README.md)")
	f.DurationVar(&o.limit, "against-time", 10*time.Minute, "stop the command of --against after this long")
	f.BoolVar(&o.list, "list", false, "list the tasks and run none")
	f.BoolVar(&o.json, "json", false, "print the report as one JSON object (docs/json.md)")
	f.BoolVar(&o.quiet, "quiet", false, "print no progress")
}

const maxSeeds = 100

// validate returns a *beagle.UsageError for a flag whose value is out of range.
func (o *suiteOptions) validate() error {
	spec := o.spec
	spec.Target = "any"
	switch {
	case o.seeds < 1 || o.seeds > maxSeeds:
		return usageError(fmt.Sprintf("--seeds %d is out of range", o.seeds), fmt.Sprintf("give 1 to %d", maxSeeds))
	case o.limit <= 0:
		return usageError(fmt.Sprintf("--against-time %v leaves no time", o.limit), "give a duration such as 10m")
	}
	return spec.Validate()
}

// runSuite runs an optimiser on tasks of a suite.
func runSuite(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	var o suiteOptions
	// Read the command line.
	f := c.flags(std)
	o.flags(f)
	names, err := parse(f, args, 0, 1000)
	if err != nil {
		return exitUsage, err
	}
	if err := o.validate(); err != nil {
		return exitUsage, err
	}
	if f.given("against") && strings.TrimSpace(o.against) == "" {
		return exitUsage, usageError("--against names no command", "leave it out for Beagle's own search")
	}
	// Load and check the tasks.
	tasks, err := suite.Load(o.dir, names...)
	if err != nil {
		return exitUsage, err
	}
	for _, t := range tasks {
		if t.Advice != "" && advice(t.Advice) == nil {
			return exitUsage,
				usageError(fmt.Sprintf("task %s: there is no advice %q", t.Name, t.Advice),
					"'beagle explain' lists the advice")
		}
	}
	if o.list {
		return exitOK, listTasks(std.out, tasks, o.json)
	}
	// Run them, by a search each or by the command of --against.
	s, err := openStore()
	if err != nil {
		return exitNo, err
	}
	r := &runner.Runner{
		Spec: o.spec, Seeds: o.seeds, Against: o.against, Limit: o.limit, Driver: &local.Driver{Store: s},
		Watch: func() (flow.Watcher, func()) {
			p := newProgress(std.err, o.quiet)
			return p.watch, p.stop
		},
	}
	if !o.quiet {
		r.Say = func(format string, args ...any) { fmt.Fprintf(std.err, format+"\n", args...) }
	}
	return o.run(ctx, r, tasks, std)
}

// run takes the tasks one after the other. On an interrupt it reports the finished ones.
func (o *suiteOptions) run(ctx context.Context, by *runner.Runner, tasks []suite.Task, std stdio) (int, error) {
	start := time.Now()
	r := by.Report()
	var failed error
	for i, t := range tasks {
		if by.Say != nil {
			by.Say("[%d/%d] %s: %s", i+1, len(tasks), t.Name, t.Target)
		}
		row, err := by.Task(ctx, t)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			failed = fmt.Errorf("task %s: %w", t.Name, err)
			if bad := new(beagle.UsageError); errors.As(err, &bad) {
				failed = usageError("task "+t.Name+": "+bad.What, bad.Remedy)
				break // the fault concerns the other versions too, or must be mended first
			}
			fmt.Fprintln(std.err, failed)
			continue
		}
		r.Tasks = append(r.Tasks, *row)
	}
	// Report the finished tasks, also after an interrupt or a fault of usage.
	r.Means, r.Seconds = suite.Average(r.Tasks), time.Since(start).Seconds()
	bad := new(beagle.UsageError)
	stopped := ctx.Err() != nil || errors.As(failed, &bad)
	if err := o.deliver(std.out, r, stopped); err != nil {
		return exitNo, err
	}
	// A usage error decides the exit status, even if tasks failed too.
	switch {
	case ctx.Err() != nil:
		fmt.Fprintf(std.err,
			"\nStopped after %d of %d tasks. Verdicts are kept: the same command evaluates nothing twice.\n",
			len(r.Tasks), len(tasks))
		return exitInterrupted, nil
	case stopped:
		return exitUsage, failed
	case failed != nil:
		return exitNo, fmt.Errorf("%d of %d tasks did not run", len(tasks)-len(r.Tasks), len(tasks))
	}
	return exitOK, nil
}

// deliver prints the report. A stopped run prints no JSON: a reader would take half of a report for
// a whole one.
func (o *suiteOptions) deliver(w io.Writer, r *suite.Report, stopped bool) error {
	if o.json {
		if stopped {
			return nil
		}
		return printJSON(w, r)
	}
	if len(r.Tasks) > 0 {
		printSuite(w, r)
	}
	return nil
}

// listTasks prints the tasks of the suite.
func listTasks(w io.Writer, tasks []suite.Task, asJSON bool) error {
	if asJSON {
		return printJSON(w, tasks)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "task\tfunction\tgoal\tpublished\tabout")
	for _, task := range tasks {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", task.Name, task.Target, goalOf(task.Goal, task.Advice),
			task.Published.Gain, task.About)
	}
	return t.Flush()
}

// goalOf shows a goal: a factor, advice, or none.
func goalOf(goal float64, advice string) string {
	switch {
	case advice != "":
		return "advice: " + advice
	case goal > 0:
		return report.Digits(goal) + "x"
	}
	return "-"
}

// printSuite prints the table that a person reads.
func printSuite(w io.Writer, r *suite.Report) {
	name := r.Optimiser
	if len(name) > 24 {
		name = "optimiser"
	}
	// Print a row for each task, then the means.
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := []string{"task", name}
	if len(r.Seeds) > 1 {
		head = append(head, "lowest to highest")
	}
	fmt.Fprintln(t, strings.Join(append(head, "expert", "of the expert", "candidates", "seconds", "goal"), "\t"))
	for _, row := range r.Tasks {
		cells := []string{row.Task, interval(row.Ratio)}
		if len(r.Seeds) > 1 {
			cells = append(cells, report.Digits(row.Lowest)+" to "+report.Digits(row.Highest))
		}
		fmt.Fprintln(t, strings.Join(append(cells, interval(row.Expert), fmt.Sprintf("%.0f %%", 100*row.OfExpert.Point),
			fmt.Sprint(row.Candidates), fmt.Sprintf("%.0f", row.Seconds), verdictOn(&row)), "\t"))
	}
	t.Flush()
	m := r.Means
	if m.Tasks > 0 {
		fmt.Fprintf(w,
			"\nGeometric means over the %d tasks where rewriting applies: %s %sx, expert %sx, "+
				"%.0f %% of the expert%s.\n",
			m.Tasks, name, report.Digits(m.Ratio), report.Digits(m.Expert), 100*m.OfExpert, searchedWith(r.Rules))
	}
	// Print the reason of each failed run.
	for _, row := range r.Tasks {
		for _, run := range row.Runs {
			if run.Reason != "" {
				fmt.Fprintf(w, "%s, seed %d: %s: %s\n", row.Task, run.Seed, run.Status, run.Reason)
			}
		}
	}
}

// searchedWith names the rules that took part, where the user chose them.
func searchedWith(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (--rules " + strings.Join(names, ",") + ")"
}

func interval(r beagle.Ratio) string {
	return fmt.Sprintf("%sx (%s to %s)", report.Digits(r.Point), report.Digits(r.Low), report.Digits(r.High))
}

// verdictOn shows the goal of a row and whether it is met.
func verdictOn(row *suite.Row) string {
	advice := ""
	if row.Advice != nil {
		advice = row.Advice.Name
	}
	goal := goalOf(row.Goal, advice)
	switch {
	case row.Met == nil:
		return goal
	case *row.Met:
		return goal + " met"
	}
	return goal + " MISSED"
}

// usageError returns the error for bad input from the command line.
func usageError(what, remedy string) error { return &beagle.UsageError{What: what, Remedy: remedy} }
