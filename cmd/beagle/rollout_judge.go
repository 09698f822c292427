package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
	"github.com/beagle-go/beagle/internal/scratch"
	"github.com/beagle-go/beagle/internal/tail"
)

// reportOf returns an experiment and its last decision as a report.
func reportOf(e *rollout.Experiment, d rollout.Decision) *pilot.Report {
	return &pilot.Report{Function: e.Plan.Function, Build: e.Plan.Build, Phase: e.State.Phase, Action: d.Action,
		Cause: d.Cause, Share: e.Share(), Blocks: e.State.Blocks, Refused: e.State.Refused, Exposure: e.State.Exposure,
		Standings: e.Standings(), Late: e.State.Late}
}

// uncontrolledDecision returns the decision on a rollout without a controller.
func uncontrolledDecision(f *pilot.Flight) rollout.Decision {
	return rollout.Decision{Action: rollout.Hold, Cause: f.State.Cause}
}

// rolloutExit returns the exit status that a pipeline reads.
func rolloutExit(r *pilot.Report) int {
	switch r.Phase {
	case rollout.Holdout, rollout.Released:
		return exitOK
	case rollout.RolledBack:
		return exitNo
	}
	return exitUndecided
}

// rolloutJudge plays files of blocks to an experiment.
func rolloutJudge(ctx context.Context, o *rolloutFlags) (int, error) {
	e, err := o.experiment()
	if err != nil {
		return exitUsage, err
	}
	d := rollout.Decision{Action: rollout.Hold, Cause: "no block was given", Share: e.Share()}
	if e.State.Cause != "" {
		d.Cause = e.State.Cause
	}
	// Play the blocks. Known blocks, and those after the end, are skipped.
	for _, file := range o.rest {
		blocks, err := readBlocks(file)
		if err != nil {
			return exitUsage, err
		}
		for _, b := range blocks {
			if s := e.State.Streams[b.ID]; s != nil && b.Seq <= s.Seq || e.Over() {
				continue
			}
			d = e.Next(b)
		}
	}
	// Keep the experiment, and print the report.
	if o.state != "" {
		if err := saveExperiment(o.state, e); err != nil {
			return exitNo, err
		}
	}
	r := reportOf(e, d)
	if o.asJSON {
		return rolloutExit(r), printJSON(o.std.out, r)
	}
	printRollout(o.std.out, r)
	return rolloutExit(r), nil
}

// experiment reads the state, or begins one by the plan.
func (o *rolloutFlags) experiment() (*rollout.Experiment, error) {
	// A state that is there has its plan inside. One that is not there yet is written at the end.
	if o.state != "" {
		e, err := loadExperiment(o.state)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return e, err
		}
	}
	if o.plan == "" {
		return nil, &beagle.UsageError{What: "no plan is given", Remedy: "name one with --plan (docs/rollout.md)"}
	}
	p, err := readPlan(o.plan)
	if err != nil {
		return nil, err
	}
	e, err := rollout.New(p)
	if err != nil {
		return nil, &beagle.UsageError{What: o.plan + ": " + err.Error(),
			Remedy: "docs/json.md has the fields of a RolloutPlan"}
	}
	return e, nil
}

// readPlan reads a plan, and refuses unknown fields.
func readPlan(file string) (p rollout.Plan, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return p, &beagle.UsageError{What: "--plan: " + tail.FileError(err), Remedy: "name a file with a plan"}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return p, &beagle.UsageError{What: fmt.Sprintf("%s is not a plan: %v", file, err),
			Remedy: "docs/json.md has the fields of a RolloutPlan"}
	}
	return p, nil
}

// loadExperiment reads the experiment of a state file.
func loadExperiment(file string) (*rollout.Experiment, error) {
	f, err := pilot.Load(file, "name another file with --state, or remove it to begin anew")
	if err != nil {
		return nil, err
	}
	return &f.Experiment, nil
}

// saveExperiment writes a state whole or not at all.
func saveExperiment(file string, e *rollout.Experiment) error {
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	return scratch.Replace(file, append(text, '\n'), 0o600)
}

// maxBlockLine bounds a block as text.
const maxBlockLine = 4 << 20

// readBlocks reads a file of blocks, or standard input.
func readBlocks(file string) (out []rollout.Block, err error) {
	in := io.Reader(os.Stdin)
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, &beagle.UsageError{What: tail.FileError(err),
				Remedy: "name files of blocks, a JSON object a line"}
		}
		defer f.Close()
		in = f
	}
	// An error names its line: a file may hold the blocks of weeks.
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxBlockLine)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		b, err := rollout.ParseBlock(lines.Bytes())
		if err != nil {
			return nil, &beagle.UsageError{What: fmt.Sprintf("%s:%d: %v", file, n, err),
				Remedy: "docs/json.md has the fields of a RolloutBlock"}
		}
		out = append(out, b)
	}
	if err := lines.Err(); err != nil {
		return nil, &beagle.UsageError{What: fmt.Sprintf("%s: %v", file, err), Remedy: "write one block a line"}
	}
	return out, nil
}

// printRollout prints the decision, then a row for each metric.
func printRollout(out io.Writer, r *pilot.Report) {
	p := newPainter(out)
	fmt.Fprintf(p, "%s: %s, %s\n", clean(r.Function), r.Phase, p.paint("1", string(r.Action)))
	if r.Cause != "" { // nothing was decided before the first block
		fmt.Fprintf(p, "  %s\n", clean(r.Cause))
	}
	fmt.Fprintf(p, "  %.0f %% of the traffic on the candidate; %s used, %d refused; "+
		"%.0f requests exposed, %.0f failed\n",
		100*r.Share, tail.Plural(r.Blocks, "block"), r.Refused, r.Exposure.Requests, r.Exposure.Errors)
	if r.Stopping {
		fmt.Fprintln(p, "  a person stopped it: its controller ends it, or the next 'beagle rollout start'")
	}
	if r.Controller != "" {
		fmt.Fprintf(p, "  driven by %s\n", clean(r.Controller))
	}
	if r.Blocks == 0 {
		return
	}
	// A dash stands for what a metric or its rollout does not have.
	w := tabwriter.NewWriter(p, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nMETRIC\tROLE\tEFFECT\tPLACEBO\tMARGIN\tP\tLAG 1\tWIDER\tSAYS")
	for _, s := range r.Standings {
		margin, placebo, wider := "-", "-", "-"
		if s.Margin > 0 {
			margin = s.Metric.Text(s.Margin)
		}
		if s.Placebo != nil {
			placebo = s.Metric.Span(*s.Placebo)
		}
		if s.Widened > 1 {
			wider = fmt.Sprintf("%.1fx", s.Widened)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.2g\t%+.2f\t%s\t%s\n", s.Metric, s.Role, s.Metric.Span(s.Effect), placebo,
			margin, s.P, s.Lag, wider, verdictOf(s))
	}
	w.Flush()
	// Explain intervals that hold the differences between processes.
	for _, s := range r.Standings {
		if s.Role == "success" && s.Between > 0 {
			fmt.Fprintf(p, "\n%s differs between the %d processes: its standard deviation from one to the next "+
				"is %.2g points. The interval holds that; more processes make it narrower.\n",
				s.Metric, s.Processes, 100*s.Between)
		}
	}
	if text := r.Late.Text(); text != "" {
		fmt.Fprintf(p, "\n%s\n", text)
	}
}

// verdictOf returns a standing in a few words: the reasons are in the cause.
func verdictOf(s rollout.MetricRow) string {
	if s.Role == "success" && s.Says != "better" {
		return "undecided"
	}
	return s.Says
}
