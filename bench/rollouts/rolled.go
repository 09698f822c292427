//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
)

// An outcome is the end of a rollout.
type outcome struct {
	rolled
	Phase     rollout.Phase       `json:"phase"`
	Cause     string              `json:"cause"`
	Blocks    int                 `json:"blocks"`
	Exposed   float64             `json:"exposed"` // requests on the candidate
	Seconds   float64             `json:"seconds"`
	Load      float64             `json:"load"` // of the machine, at the end
	Late      rollout.Late        `json:"late"`
	Standings []rollout.MetricRow `json:"standings"`
}

// shipped reports whether the version went to all traffic.
func (o outcome) shipped() bool {
	return o.Phase == rollout.Holdout || o.Phase == rollout.Released
}

// plan returns a short plan: a rollout takes about a minute. Its margins are wider than those of
// the default plan, which needs a thousand blocks to show that nothing is worse by half a percent.
// A hundred uncorrelated blocks show a correlation of up to 0.2 by chance. The agent allocates when
// it closes a bucket, every ten seconds: a minute shows nothing of that.
func plan(service string, blocks int) rollout.Plan {
	p := rollout.Plan{
		Success: []rollout.Metric{rollout.FunctionTime, rollout.ServiceCPU},
		Guardrails: []rollout.Guardrail{{Metric: rollout.ServiceCPU, Margin: 0.03},
			{Metric: rollout.FunctionTime, Margin: 0.05}, {Metric: rollout.LateCalls, Margin: 0.002},
			{Metric: rollout.ErrorRate, Margin: 0.01}},
		Ramp: []float64{0.15, 0.33}, StepBlocks: 20, Horizon: max(60, blocks/2), MostBlocks: blocks, LeastBlocks: 30,
		HoldoutShare: 0.33, HoldoutBlocks: 30, MostLag: 0.25,
	}
	if service == intake {
		p.Guardrails = append(p.Guardrails, rollout.Guardrail{Metric: rollout.AllocBytes, Margin: 0.1})
	}
	return p
}

// shortBlocks ends a rollout that shows nothing.
const shortBlocks = 100

// rollouts makes the missing rollouts, and prints all.
func (l *lab) rollouts(ctx context.Context, all []rolled) error {
	done, err := l.done("rollouts.jsonl")
	if err != nil {
		return err
	}
	for _, r := range all {
		if _, ok := done[r.Index]; ok {
			continue
		}
		if l.over() {
			break
		}
		if err := l.prepare(ctx); err != nil {
			return err
		}
		l.say("%s", r)
		o, err := l.rollOut(ctx, r, plan(r.Target.service, shortBlocks), "")
		if err != nil {
			return fmt.Errorf("rollout %d: %w", r.Index, err)
		}
		l.say("     %s after %d blocks and %.0f s: %s", o.Phase, o.Blocks, o.Seconds, o.Cause)
		if err := l.keep("rollouts.jsonl", o); err != nil {
			return err
		}
		done[r.Index] = *o
	}
	return report(all, done)
}

// rollOut builds a service with both versions, and lets them take turns under load.
func (l *lab) rollOut(ctx context.Context, r rolled, p rollout.Plan, predicted string) (*outcome, error) {
	o := &outcome{rolled: r}
	binary, err := l.build(ctx, r)
	if err != nil {
		return nil, err
	}
	s, err := l.serve(ctx, r.Target.service, binary)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	// Wait until all names are known, and the heap has reached its size.
	if err := pilot.Pause(ctx, 8*time.Second); err != nil {
		return nil, err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	id := fmt.Sprintf("%s-%d-%d", path.Base(r.Target.name), r.Index, time.Now().Unix())
	if err := os.WriteFile(l.file("plan.json"), text, 0o644); err != nil {
		return nil, err
	}
	began := time.Now()
	args := []string{"rollout", "start", "--json", "--no-shadow", "--id", id, "--at", s.probe, "--turns", "5",
		"--service", "metricsd " + r.Target.service, "--plan", l.file("plan.json")}
	if predicted != "" {
		args = append(args, "--predicted", predicted)
	}
	out, _, err := l.statusOf(ctx, "rollout", l.tree(), l.file("bin", "beagle"), append(args, r.Target.spec)...)
	if err != nil {
		return nil, err
	}
	var report pilot.Report
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, fmt.Errorf("rollout start: %s", l.lastWords("rollout"))
	}
	o.Phase, o.Cause, o.Blocks, o.Late = report.Phase, report.Cause, report.Blocks, report.Late
	o.Exposed, o.Standings = report.Exposure.Requests, report.Standings
	o.Seconds, o.Load = time.Since(began).Seconds(), machineLoad()
	return o, nil
}

// build makes the binary with the versions, unless an earlier rollout of them has.
func (l *lab) build(ctx context.Context, r rolled) (string, error) {
	name := strings.NewReplacer(" ", "-", ".", "", "/", "").Replace(path.Base(r.Spec) + "-" + r.Kind)
	binary := l.file("bin", name)
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	text, err := r.write(l.tree())
	if err != nil {
		return "", err
	}
	file := l.file("versions", name+".go")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return "", err
	}
	_, err = l.command(ctx, "build", l.tree(), l.file("bin", "beagle"), "build", "--rollout", file, r.Spec,
		"-o", binary, ".")
	return binary, err
}

// machineLoad returns the load average of the last minute.
func machineLoad() (load float64) {
	data, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		fmt.Sscan(string(data), &load)
	}
	return load
}

// done reads the outcomes of earlier runs, by index.
func (l *lab) done(name string) (map[int]outcome, error) {
	all := map[int]outcome{}
	f, err := os.Open(l.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var o outcome
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return nil, fmt.Errorf("%s: %w; remove the line", name, err)
		}
		all[o.Index] = o
	}
	return all, lines.Err()
}

// keep adds an outcome to a file.
func (l *lab) keep(name string, o *outcome) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(l.file(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// report prints a row for each rollout, and the totals. A loss that shipped is an error.
func report(all []rolled, done map[int]outcome) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| # \t| function \t| version \t| ended \t| blocks \t| requests on it \t| s \t| load \t"+
		"| function-time \t| service-cpu \t| why \t|")
	fmt.Fprintln(w, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	counts := map[string][2]int{} // made and shipped, by the kind of version
	made := 0
	for _, r := range all {
		o, ok := done[r.Index]
		if !ok {
			continue
		}
		made++
		fmt.Fprintf(w, "| %d \t| `%s` \t| %s \t| %s \t| %d \t| %.0f \t| %.0f \t| %.0f \t| %s \t| %s \t| %s \t|\n",
			r.Index,
			path.Base(r.Spec), r.Kind, o.endWord(), o.Blocks, o.Exposed, o.Seconds, o.Load,
			o.effect(rollout.FunctionTime),
			o.effect(rollout.ServiceCPU), o.causeWord())
		truth := "harms"
		if r.Kind == faster || r.Kind == same {
			truth = r.Kind
		}
		c := counts[truth]
		c[0]++
		if o.shipped() {
			c[1]++
		}
		counts[truth] = c
	}
	w.Flush()
	fmt.Printf("\n%d of %d rollouts made.", made, len(all))
	for _, truth := range []string{faster, same, "harms"} {
		fmt.Printf(" %q: %d of %d versions shipped.", truth, counts[truth][1], counts[truth][0])
	}
	fmt.Println()
	if bad := counts[same][1] + counts["harms"][1]; bad > 0 {
		return fmt.Errorf("%d versions shipped without a gain", bad)
	}
	return nil
}

// endWord returns the end of a rollout in a word.
func (o outcome) endWord() string {
	switch {
	case o.shipped():
		return "**shipped**"
	case strings.HasPrefix(o.Cause, "inconclusive"):
		return "inconclusive"
	}
	return "rolled back"
}

func (o outcome) effect(m rollout.Metric) string {
	for _, s := range o.Standings {
		if s.Metric == m && s.Effect.N > 1 {
			return m.Span(s.Effect)
		}
	}
	return "-"
}

// causeWord returns the beginning of the cause.
func (o outcome) causeWord() string {
	why, _, _ := strings.Cut(o.Cause, ": ")
	if strings.Contains(o.Cause, "by itself: ") {
		_, why, _ = strings.Cut(o.Cause, "by itself: ")
	}
	return strings.ReplaceAll(strings.TrimPrefix(why, "guardrail "), "|", "/")
}
