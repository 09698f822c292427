//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/pprof/profile"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/campaign"
	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
)

// Budgets of a prediction.
const (
	profileSeconds = 60
	captureFor     = "15s"
	measureFor     = "15s"
	fuzzFor        = "2s"
)

// A prediction is the gain of a version by profile and benchmark.
type prediction struct {
	Steps   int                   `json:"steps"` // that are done
	Target  string                `json:"target"`
	Cum     float64               `json:"cum"` // share of the service in the function and its callees
	Samples float64               `json:"samples"`
	Calls   string                `json:"calls"` // the captured calls, in the command's words
	Shadow  string                `json:"shadow"`
	Status  beagle.Status         `json:"status"` // of the judge
	Ratio   beagle.Ratio          `json:"ratio"`
	Before  beagle.Resources      `json:"before"`
	After   beagle.Resources      `json:"after"`
	Saving  beagle.CampaignSaving `json:"saving"`
	Load    float64               `json:"load"`
}

// proofs predicts what each faster version saves, rolls it out for long, and prints both.
func (l *lab) proofs(ctx context.Context, blocks int) error {
	// Build the programs, and read earlier proofs.
	if err := l.prepare(ctx); err != nil {
		return err
	}
	proven, err := l.done("proofs.jsonl")
	if err != nil {
		return err
	}
	predicted := map[int]*prediction{}
	// Predict what each version saves.
	for i, t := range targets {
		if !strings.Contains(t.name, l.only) {
			continue
		}
		if predicted[i], err = l.predicted(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t.spec, err)
		}
		// Prove it in a rollout, unless that is done or the time is over.
		if _, ok := proven[i+1]; ok || predicted[i] == nil {
			continue
		}
		if l.over() {
			continue
		}
		r := rolled{Index: i + 1, Target: t, Spec: t.spec, Kind: faster}
		l.say("%s: proving", t.spec)
		s := predicted[i].Saving
		o, err := l.rollOut(ctx, r, proofPlan(t.service, blocks), fmt.Sprintf("%.6f,%.6f,%.6f", s.Share, s.Low, s.High))
		if err != nil {
			return err
		}
		if err := l.keep("proofs.jsonl", o); err != nil {
			return err
		}
		proven[i+1] = *o
		l.stepped()
	}
	// Print both.
	printProofs(predicted, proven)
	return nil
}

// proofPlan never ships, so all blocks are measured.
func proofPlan(service string, blocks int) rollout.Plan {
	p := plan(service, blocks)
	p.Ramp, p.StepBlocks, p.Horizon, p.LeastGain = []float64{0.33}, blocks, blocks, 0.9
	return p
}

// predicted reads an earlier prediction or makes one; nil when there is no time left.
func (l *lab) predicted(ctx context.Context, t target) (*prediction, error) {
	name := t.name + ".prediction.json"
	// Read an earlier prediction, which may be incomplete.
	p := &prediction{Target: t.spec}
	data, err := os.ReadFile(l.file(name))
	if err == nil {
		err = json.Unmarshal(data, p)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// Take the steps that are left, and save the prediction after each.
	for i, step := range []struct {
		what string
		do   func(context.Context, target, *prediction) error
	}{{"profiling", l.profile}, {"capturing calls", l.capture}, {"measuring", l.judge}} {
		if p.Steps > i {
			continue
		}
		if l.over() {
			return nil, nil
		}
		l.say("%s: %s", t.spec, step.what)
		if err := step.do(ctx, t, p); err != nil {
			return nil, err
		}
		p.Steps, p.Load = i+1, machineLoad()
		if err := l.write(name, p); err != nil {
			return nil, err
		}
		l.stepped()
	}
	// Sum up the saving as a campaign does.
	won := []campaign.Won{{Target: t.spec, Cum: p.Cum, Samples: p.Samples, Ratio: p.Ratio}}
	p.Saving, _ = campaign.Sum(won, func(_, _ string) float64 { return 0 })
	return p, nil
}

func (l *lab) write(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(l.file(name), text, 0o644)
}

// profile profiles the plain service under load.
func (l *lab) profile(ctx context.Context, t target, p *prediction) error {
	kept := l.file("profiles-" + t.service)
	if _, err := os.Stat(kept); err == nil { // of another function of the service
		return p.read(kept, t)
	}
	s, err := l.serve(ctx, t.service, l.file("bin", "metricsd"))
	if err != nil {
		return err
	}
	defer s.stop()
	if err := pilot.Pause(ctx, 5*time.Second); err != nil {
		return err
	}
	if _, err := l.command(ctx, "profile", l.tree(), l.file("bin", "beagle"), "hotspots", "--seconds",
		fmt.Sprint(profileSeconds), "--save", kept, "http://"+s.http); err != nil {
		return err
	}
	return p.read(kept, t)
}

// read adds up the samples of saved profiles in which the function is on the stack. A function that
// the compiler inlined has its own line there.
func (p *prediction) read(dir string, t target) error {
	p.Samples, p.Cum = 0, 0
	name := strings.TrimPrefix(t.spec, ".")
	// Add up the samples of all processor profiles.
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(d.Name(), "cpu") {
			return err
		}
		f, err := os.Open(at)
		if err != nil {
			return err
		}
		defer f.Close()
		all, err := profile.Parse(f)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		for _, s := range all.Sample {
			p.Samples += float64(s.Value[0])
			if within(s, name) {
				p.Cum += float64(s.Value[0])
			}
		}
		return nil
	})
	// Compute the share.
	if err == nil && p.Cum == 0 {
		err = fmt.Errorf("%s is in none of %.0f samples", t.spec, p.Samples)
	}
	p.Cum /= max(1, p.Samples)
	return err
}

// within reports whether a function is on the stack of a sample.
func within(s *profile.Sample, name string) bool {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function != nil && strings.HasSuffix(line.Function.Name, name) {
				return true
			}
		}
	}
	return false
}

// capture records calls of the running service, and replays them with both versions.
func (l *lab) capture(ctx context.Context, t target, p *prediction) error {
	probed := l.file("bin", "probed-"+t.name)
	if _, err := l.command(ctx, "probe", l.tree(), l.file("bin", "beagle"), "build", "--probe", t.spec, "-o", probed,
		"."); err != nil {
		return err
	}
	s, err := l.serve(ctx, t.service, probed)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := pilot.Pause(ctx, 2*time.Second); err != nil {
		return err
	}
	calls := l.calls(t)
	os.Remove(calls)
	out, err := l.command(ctx, "capture", l.tree(), l.file("bin", "beagle"), "capture", "start", "--at", s.probe,
		"--for", captureFor, "--rate", "200", "--raw", "--out", calls, t.spec)
	if err != nil {
		return err
	}
	p.Calls = strings.TrimSpace(string(out))
	s.stop()
	out, _, err = l.statusOf(ctx, "shadow", l.tree(), l.file("bin", "beagle"), "rollout", "shadow", "--corpus", calls,
		l.version(t), t.spec)
	p.Shadow = strings.TrimSpace(string(out))
	return err
}

func (l *lab) calls(t target) string { return l.file(t.name + ".jsonl") }

// version returns the file of the faster version.
func (l *lab) version(t target) string {
	file := l.file("versions", t.name+"-faster.go")
	text, err := versions.ReadFile("versions/" + t.version)
	if err == nil {
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil {
		l.say("%v", err) // the command that reads the file says what is missing
	}
	return file
}

// judge measures the version on the captured calls.
func (l *lab) judge(ctx context.Context, t target, p *prediction) error {
	out, status, err := l.statusOf(ctx, "verify", l.tree(), l.file("bin", "beagle"), "verify", "--json", "--quiet",
		"--corpus", l.calls(t), "--measure", measureFor, "--fuzz", fuzzFor, t.spec, l.version(t))
	if err != nil {
		return err
	}
	var v beagle.Verdict
	if err := json.Unmarshal(out, &v); err != nil {
		return fmt.Errorf("verify ended with status %d: %s", status, l.lastWords("verify"))
	}
	if v.Final == nil {
		return fmt.Errorf("verify: %s at %s: %s", v.Status, v.Stage, v.Reason)
	}
	p.Status, p.Ratio, p.Before, p.After = v.Status, v.Final.Corrected, v.Final.Baseline, v.Final.Best
	return nil
}

// printProofs prints predicted beside proven savings of the service.
func printProofs(predicted map[int]*prediction, proven map[int]outcome) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	// Print the head of the table.
	fmt.Fprintln(w,
		"| function \t| share \t| times as fast \t| predicted \t| proven \t| placebo \t| proven / predicted "+
			"\t| function, predicted \t| function, proven \t| blocks \t| load \t|")
	fmt.Fprintln(w, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	for i, t := range targets {
		p := predicted[i]
		if p == nil {
			continue
		}
		// Print the prediction.
		row := []string{"`" + path.Base(t.spec) + "`", percent(p.Cum), span(p.Ratio.Point, p.Ratio.Low, p.Ratio.High),
			savings(p.Saving.Share, p.Saving.Low, p.Saving.High)}
		inFunction := percent(1 - 1/p.Ratio.Point)
		// Print the proof, if there is one.
		if o, ok := proven[i+1]; ok {
			cpu, function := o.metricRow(rollout.ServiceCPU), o.metricRow(rollout.FunctionTime)
			placebo := "-"
			if cpu.Placebo != nil {
				placebo = savings(-cpu.Placebo.Estimate, -cpu.Placebo.High, -cpu.Placebo.Low)
			}
			row = append(row, savings(-cpu.Effect.Estimate, -cpu.Effect.High, -cpu.Effect.Low), placebo,
				fmt.Sprintf("%.2f", -cpu.Effect.Estimate/p.Saving.Share), inFunction,
				savings(-function.Effect.Estimate, -function.Effect.High, -function.Effect.Low),
				fmt.Sprint(o.Blocks), fmt.Sprintf("%.0f", o.Load))
		} else {
			row = append(row, "-", "-", "-", inFunction, "-", "-", "-")
		}
		fmt.Fprintf(w, "| %s \t|\n", strings.Join(row, " \t| "))
	}
	w.Flush()
}

func (o outcome) metricRow(m rollout.Metric) rollout.MetricRow {
	for _, s := range o.Standings {
		if s.Metric == m {
			return s
		}
	}
	nothing := math.NaN()
	return rollout.MetricRow{Effect: rollout.Interval{Estimate: nothing, Low: nothing, High: nothing}}
}

func percent(x float64) string { return fmt.Sprintf("%.2f %%", 100*x) }

func savings(x, low, high float64) string {
	return fmt.Sprintf("%.2f %% (%.2f to %.2f)", 100*x, 100*low, 100*high)
}

func span(x, low, high float64) string { return fmt.Sprintf("%.2f (%.2f to %.2f)", x, low, high) }
