package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A rolled is the outcome of a winner's rollout.
type rolled struct {
	Target    string
	Predicted saving
	Shadow    string // the command's own words
	Shadowed  bool
	Phase     string
	Cause     string
	Proven    *saving // of the service, when it shipped or as far as it came
	Function  *saving // of the function's own time
	Promoted  bool
	Dir       string // of its files, relative to the results
}

// A rolloutReport is what the demo reads of 'beagle rollout start --json'.
type rolloutReport struct {
	Phase     string `json:"phase"`
	Cause     string `json:"cause"`
	Standings []struct {
		Metric string `json:"metric"`
		Role   string `json:"role"`
		Effect struct {
			Estimate, Low, High float64
			N                   int
		} `json:"effect"`
	} `json:"standings"`
}

// rolloutStep rolls the campaign's winners out one by one, the largest gain first: that one should
// be decided even if time runs short.
func rolloutStep(ctx context.Context, d *demo, w *work) (any, error) {
	c, err := resultOf[campaignResult](d, "campaign")
	if err != nil {
		return nil, err
	}
	all := []rolled{}
	won := slices.DeleteFunc(slices.Clone(c.Targets), func(t target) bool {
		return t.State != "improved" || t.Saving == nil
	})
	slices.SortStableFunc(won, func(a, b target) int { return cmp.Compare(b.Saving.Share, a.Saving.Share) })
	for i, t := range won {
		short := path.Base(t.Target)
		file := w.file(short + ".json")
		var r rolled
		// Save each decision at once, since each takes minutes.
		if err := readJSON(file, &r); err == nil { // an interrupted attempt came this far
			all = append(all, r)
			continue
		}
		d.say("  " + short)
		// The remaining rollouts share the remaining time.
		if r, err = w.roll(ctx, t, d.turnOf(len(won)-i)); err != nil {
			return nil, fmt.Errorf("%s: %w", short, err)
		}
		if err := writeJSON(file, &r); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, d.keepFound(all)
}

// turnOf returns the deadline of the next of n rollouts, the most expensive first. It may use half
// of the remaining time, or an equal share of it if that is more.
func (d *demo) turnOf(left int) time.Time {
	now := time.Now()
	return now.Add(time.Duration(max(0.5, 1/float64(left)) * float64(d.deadline(rolloutShare).Sub(now))))
}

// leastRollout is the least time for which a rollout begins: it must build its program, and few
// blocks decide nothing.
const leastRollout = time.Minute

// roll takes one winner from the shadow to the decision, before the given end.
func (w *work) roll(ctx context.Context, t target, end time.Time) (rolled, error) {
	short := path.Base(t.Target)
	dir := w.file(short)
	r := rolled{Target: t.Target, Predicted: *t.Saving, Dir: w.relative(w.out, dir)}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return r, err
	}
	// Its commands are kept apart under its directory, and listed with the step's.
	in := &work{demo: w.demo, dir: dir}
	defer func() { w.commands = append(w.commands, in.commands...) }()
	candidate := in.file("candidate.go.txt")
	if err := in.evidence(t, candidate); err != nil {
		return r, err
	}
	// Better not begun than undecided: the page says that the time was over.
	if time.Until(end) < leastRollout {
		r.Phase, r.Cause = "not begun", outOfTime
		return r, nil
	}
	if ok, err := in.shadow(ctx, t, candidate, &r); err != nil || !ok {
		return r, err
	}
	// Build several binaries with other orders of functions, so that the gain does not come from
	// one order.
	var binaries []string
	for layout := range w.set.Canaries {
		binary := w.bin(fmt.Sprint("rollout-", layout))
		_, err := in.must(ctx, fmt.Sprint("build-", layout), w.module, w.bin("beagle"), "build", "--rollout", candidate,
			t.Target, fmt.Sprint("-ldflags=-randlayout=", layout+1), "-o", binary, ".")
		if err != nil {
			return r, err
		}
		binaries = append(binaries, binary)
	}
	return r, in.live(ctx, t, binaries, end, &r)
}

const outOfTime = "the time of the demo was up"

// evidence copies the search's results: the version, the patch and the reports.
func (w *work) evidence(t target, candidate string) error {
	// The search has its results in the campaign's home, which another campaign may clear.
	run := filepath.Join(w.home(), "runs", t.Run)
	var result struct {
		Best struct{ Source string } `json:"best"`
	}
	if err := readJSON(filepath.Join(run, "result.json"), &result); err != nil {
		return err
	}
	for _, name := range []string{"patch.diff", "report.md", "report.html"} {
		data, err := os.ReadFile(filepath.Join(run, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(w.file(name), data, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(candidate, []byte(result.Best.Source), 0o644)
}

// shadow replays the captured calls. It reports whether the candidate may go live.
func (w *work) shadow(ctx context.Context, t target, candidate string, r *rolled) (bool, error) {
	if t.Inputs == "" {
		r.Shadow = "no shadow: no call could be captured, and the judge's comparison inside the package's tests " +
			"stands alone"
		return true, nil
	}
	// The shadow compares old and new on the recorded calls before any of them is live.
	out, status, err := w.beagle(ctx, "shadow", "rollout", "shadow", "--corpus", t.Inputs, candidate, t.Target)
	if err != nil {
		return false, err
	}
	r.Shadow, r.Shadowed = string(out), status == 0
	if status > 1 {
		return false, fmt.Errorf("shadow: %s", lastLines(w.file("shadow.log"), 3))
	}
	// A difference is an answer, and not a failure of the step.
	if status == 1 {
		r.Phase, r.Cause = "rejected", "the shadow found a difference"
	}
	return status == 0, nil
}

// live lets the versions take turns in processes under load. Each has a link layout of its own: one
// layout alone favours or harms a version by as much as many versions gain.
func (w *work) live(ctx context.Context, t target, binaries []string, end time.Time, r *rolled) error {
	if err := writeJSON(w.file("plan.json"), w.set.Plan); err != nil {
		return err
	}
	// Every binary is a service of its own under the same load, and answers at its probe.
	var probes []string
	for i, binary := range binaries {
		s, err := w.serve(ctx, binary, fmt.Sprint("rollout-", i))
		if err != nil {
			return err
		}
		defer s.stop()
		if err := s.keepBusy(ctx, w.bin("metricsd")); err != nil {
			return err
		}
		probes = append(probes, s.probe)
	}
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	p := r.Predicted
	args := []string{"rollout", "start", "--json", "--at", strings.Join(probes, ","), "--service", "metricsd", "--plan",
		w.file("plan.json"), "--slice", w.set.Slice,
		"--predicted", fmt.Sprintf("%.6f,%.6f,%.6f", p.Share, p.Low, p.High)}
	if !r.Shadowed {
		args = append(args, "--no-shadow")
	}
	// The rollout's own plan could continue; the demo's time is over.
	bounded, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	out, status, err := w.beagle(bounded, "rollout", append(args, t.Target)...)
	if err != nil {
		return err
	}
	var report rolloutReport
	// An interrupted rollout has written half a report, or none, or one that ends with a cause.
	switch broken := json.Unmarshal(out, &report) != nil; {
	case broken && bounded.Err() != nil:
		r.Phase, r.Cause = "stopped", outOfTime
		return nil
	case bounded.Err() != nil && status != 0:
		report.Cause = outOfTime + "; " + report.Cause
	case broken:
		return fmt.Errorf("rollout start: status %d: %s", status, lastLines(w.file("rollout.log"), 3))
	}
	r.Phase, r.Cause, r.Promoted = report.Phase, report.Cause, status == 0
	// A metric is the new version's cost over the old one's. A saving is its opposite, so its
	// bounds swap places. With fewer than two pairs there is no interval.
	for _, m := range report.Standings {
		if m.Role != "success" || m.Effect.N < 2 {
			continue
		}
		s := &saving{Share: -m.Effect.Estimate, Low: -m.Effect.High, High: -m.Effect.Low}
		if m.Metric == "service-cpu" {
			r.Proven = s
		} else if m.Metric == "function-time" {
			r.Function = s
		}
	}
	return nil
}

// keepFound copies the promoted patches and their evidence to where they are kept for good.
func (d *demo) keepFound(all []rolled) error {
	if d.found == "" {
		return nil
	}
	for _, r := range all {
		if !r.Promoted {
			continue
		}
		to := filepath.Join(d.found, path.Base(r.Target))
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		for _, name := range []string{"patch.diff", "report.md", "shadow.txt", "rollout.txt", "plan.json"} {
			data, err := os.ReadFile(filepath.Join(d.out, r.Dir, name))
			if os.IsNotExist(err) {
				continue // no shadow
			}
			if err != nil {
				return err
			}
			// Paths of this machine mean nothing elsewhere.
			text := strings.NewReplacer(d.out, "demo-out", d.root, "the repository").Replace(string(data))
			if err := os.WriteFile(filepath.Join(to, name), []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
