package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newDemo returns a demo with steps of the test, in a directory of its own.
func newDemo(t *testing.T, steps ...step) *demo {
	t.Helper()
	d := &demo{set: tiny, steps: steps, within: time.Hour, say: func(text string) { t.Log(text) }}
	if err := d.place("../..", t.TempDir()); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestResume interrupts the chain, goes on with it, and changes what its steps rest on.
func TestResume(t *testing.T) {
	var taken []string
	broken, first := errors.New("broken"), 1
	fail := true
	d := newDemo(t,
		step{"one", "", "", func(context.Context, *demo, *work) (any, error) {
			taken = append(taken, "one")
			return first, nil
		}},
		step{"two", "", "", func(_ context.Context, d *demo, w *work) (any, error) {
			taken = append(taken, "two")
			before, _ := os.ReadFile(w.file("part")) // the earlier attempt's files, if any
			if err := os.WriteFile(w.file("part"), append(before, 'x'), 0o644); err != nil || fail {
				return nil, errors.Join(err, broken)
			}
			n, err := resultOf[int](d, "one")
			return []any{n, string(before)}, err
		}},
		step{"three", "", "", func(context.Context, *demo, *work) (any, error) {
			taken = append(taken, "three")
			return nil, nil
		}})
	carry := func(want error, steps string) {
		t.Helper()
		taken = nil
		if err := d.carry(t.Context(), ""); !errors.Is(err, want) {
			t.Fatal(err)
		}
		if got := strings.Join(taken, " "); got != steps {
			t.Errorf("took %q, want %q", got, steps)
		}
	}
	carry(broken, "one two")
	fail = false
	carry(nil, "two three")
	if got, err := resultOf[[]any](d, "two"); err != nil || got[0] != 1.0 || got[1] != "x" {
		t.Errorf("the second attempt did not go on with the first: %v %v", got, err)
	}
	carry(nil, "")
	d.set.Turns++
	first = 2
	carry(nil, "one two three")
	if got, err := resultOf[[]any](d, "two"); err != nil || got[0] != 2.0 || got[1] != "" {
		t.Errorf("another setting went on with the old attempt: %v %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(d.dir(1, d.steps[1]), "result.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := d.carry(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "remove the file") {
		t.Error(err)
	}
}

// heed makes programs react to an interrupt as the demo itself does, even if the test's parent
// ignores interrupts.
func heed(t *testing.T) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	t.Cleanup(func() { signal.Stop(c) })
}

// TestInterrupted ends a program by an interrupt: it gets the signal, and its step has no result.
func TestInterrupted(t *testing.T) {
	heed(t)
	ctx, cancel := context.WithCancel(t.Context())
	d := newDemo(t, step{"sleep", "", "", func(ctx context.Context, _ *demo, w *work) (any, error) {
		go func() {
			defer cancel()
			for t.Context().Err() == nil { // until the program is ready for it
				if _, err := os.Stat(filepath.Join(w.dir, "ready")); err == nil {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
		}()
		_, _, err := w.program(ctx, "sleep", w.dir, "sh", "-c",
			"trap 'echo ended >end; exit' INT; echo >ready; while :; do sleep 0.1; done")
		return nil, err
	}})
	if err := d.carry(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	dir := d.dir(0, d.steps[0])
	if text, err := os.ReadFile(filepath.Join(dir, "end")); err != nil || string(text) != "ended\n" {
		t.Errorf("the program did not end by itself: %q %v", text, err)
	}
	if r, err := readRecord(dir); r != nil || err != nil {
		t.Errorf("%+v %v", r, err)
	}
}

// TestSum plants a saving of 20 % under the random effect of layouts, and programs that are the
// same.
func TestSum(t *testing.T) {
	plant := func(factor float64) finalFigure {
		m := finalFigure{Layouts: 6, Turns: 3}
		var all []turn
		for layout := range m.Layouts {
			for round := range m.Turns {
				for i, arm := range arms {
					cost := 600.0 * (1 + 0.01*float64((layout*7+i*5)%5-2)) // of the layout
					if arm == "new" {
						cost *= factor
					}
					cost *= 1 + 0.1*float64(round) // the machine gets slower
					all = append(all, turn{layout, round, arm, cost * 1e-9 * 1e6, 1e6})
				}
			}
		}
		m.sum(all)
		return m
	}
	m := plant(0.8)
	const tiny = 1e-9 // of rounding
	if m.Proven.Low > 0.2+tiny || m.Proven.High < 0.2-tiny || m.Proven.Low < 0.15 || m.Same.Low > 0 || m.Same.High < 0 {
		t.Errorf("%+v", m)
	}
	if m.Before.Low > m.Before.Mean || m.After.Mean > m.Before.Mean*0.85 || m.After.Mean < m.Before.Mean*0.75 {
		t.Errorf("%+v %+v", m.Before, m.After)
	}
	if m = plant(1); m.Proven.Low > 0 || m.Proven.High < 0 {
		t.Errorf("equal programs differ: %+v", m.Proven)
	}
	if both := (saving{0.1, 0.08, 0.12}).plus(saving{0.2, 0.17, 0.23}); math.Abs(both.Share-0.28) > 1e-9 ||
		both.Low < 0.24 || both.Low > 0.25 {
		t.Errorf("%+v", both)
	}
}

// TestTime divides what is left among the rollouts, and counts what earlier attempts took.
func TestTime(t *testing.T) {
	quick := step{"quick", "", "", func(context.Context, *demo, *work) (any, error) { return 1, nil }}
	d := newDemo(t, quick)
	if err := d.carry(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	var r record
	at := filepath.Join(d.dir(0, quick), "result.json")
	if err := readJSON(at, &r); err != nil {
		t.Fatal(err)
	}
	r.Seconds = 1800
	if err := writeJSON(at, &r); err != nil {
		t.Fatal(err)
	}
	if err := d.carry(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	near := func(what string, got time.Duration, want float64) {
		t.Helper()
		if math.Abs(got.Seconds()-want) > 60 {
			t.Errorf("%s: %v, want %v s", what, got, want)
		}
	}
	left := rolloutShare*3600 - 1800
	near("all rollouts", time.Until(d.deadline(rolloutShare)), left)
	near("the first of three", time.Until(d.turnOf(3)), left/2)
	near("the last", time.Until(d.turnOf(1)), left)
	d.within = time.Minute
	if time.Until(d.turnOf(2)) > 0 {
		t.Error("a rollout begins after its time")
	}
	for most, want := range map[string]string{"18m": "11m3s", "60s": "60s", "18 minutes": "11m3s"} {
		if got := processorUntil(11*time.Minute+3*time.Second, most); got != want {
			t.Errorf("a campaign of 11 minutes shares out %s of processor time, want %s of %s", got, want, most)
		}
	}
}

// TestLate ends a program when its time is over, and uses its output.
func TestLate(t *testing.T) {
	heed(t)
	d := newDemo(t)
	for most := time.Second; ; most *= 4 { // a busy machine starts sh late
		w := &work{demo: d, dir: t.TempDir()}
		ctx, cancel := context.WithTimeout(t.Context(), most)
		defer cancel()
		out, status, err := w.program(ctx, "slow", w.dir, "sh", "-c",
			"trap 'echo so far; exit 3' INT; echo >ready; while :; do sleep 0.1; done")
		if _, late := os.Stat(filepath.Join(w.dir, "ready")); late != nil && most < time.Minute {
			continue
		}
		if err != nil || status != 3 || string(out) != "so far\n" || len(w.commands) != 1 {
			t.Errorf("%q, status %d, %v", out, status, err)
		}
		if _, _, err := w.program(ctx, "later", w.dir, "true"); err == nil {
			t.Error("a program begins after its time")
		}
		return
	}
}

// TestOverlay applies a patch to a copy: the checkout is not changed, and a build sees the change.
func TestOverlay(t *testing.T) {
	d := newDemo(t)
	dir := t.TempDir()
	tree := filepath.Join(dir, "metricsd")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const before = "package main\n\nfunc main() { println(\"old\") }\n"
	write(filepath.Join(tree, "go.mod"), "module m\n\ngo 1.26\n")
	write(filepath.Join(tree, "sub", "main.go"), before)
	write(filepath.Join(d.out, "won", "patch.diff"), `diff --git a/sub/main.go b/sub/main.go
--- a/sub/main.go
+++ b/sub/main.go
@@ -1,3 +1,3 @@
 package main
 
-func main() { println("old") }
+func main() { println("new") }
`)
	d.module = tree
	// The results lie inside of a repository, as they do by default.
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", d.out).CombinedOutput(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	w := &work{demo: d, dir: filepath.Join(d.out, "measure")}
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	m := &finalFigure{}
	overlay, err := w.overlay(t.Context(), []rolled{{Target: "m/sub.left", Dir: "none"},
		{Target: "m/sub.main", Dir: "won", Promoted: true, Predicted: saving{0.1, 0.05, 0.15}},
		{Target: "m/sub.again", Dir: "won", Promoted: true, Predicted: saving{0.5, 0.5, 0.5}}}, m)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "-overlay="+overlay, "./sub")
	cmd.Dir, cmd.Env = tree, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "new" {
		t.Errorf("%s %v", out, err)
	}
	if text, err := os.ReadFile(filepath.Join(tree, "sub", "main.go")); err != nil || string(text) != before {
		t.Errorf("the checkout is changed: %s %v", text, err)
	}
	if len(m.Promoted) != 1 || len(m.Left) != 1 || math.Abs(m.Predicted.Share-0.1) > 1e-9 {
		t.Errorf("%+v", m)
	}
}

// TestPage shows results of all steps, a win and none.
func TestPage(t *testing.T) {
	result := func(v any) func(context.Context, *demo, *work) (any, error) {
		return func(context.Context, *demo, *work) (any, error) { return v, nil }
	}
	show := func(won []rolled, m finalFigure) string {
		t.Helper()
		d := newDemo(t, step{"hotspots", "rank", "", result(spots{Hotspots: []spot{{Target: "m/p.<F>", Net: 0.3}}})},
			step{"campaign", "search", "", result(campaignResult{
				Targets: []target{{Target: "m/p.F", State: "no-improvement"}}})},
			step{"rollout", "roll out", "", result(won)}, step{"measure", "measure", "", result(m)})
		if err := d.carry(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		file, err := d.writePage()
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	none := show([]rolled{}, finalFigure{Promoted: []string{}, Before: estimate{600, 590, 610}})
	if !strings.Contains(none, "Nothing found that pays") ||
		!strings.Contains(none, "No rewrite applies to 1;") {
		t.Error(none)
	}
	if strings.Contains(none, "<F>") || strings.Contains(none, "http://") || strings.Contains(none, "https://") {
		t.Error("a name is markup, or the page loads something")
	}
	s := saving{0.2, 0.18, 0.22}
	won := show([]rolled{{Target: "m/p.F", Predicted: s, Proven: &s, Promoted: true}},
		finalFigure{Promoted: []string{"m/p.F"}, Predicted: s, Proven: s, Before: estimate{600, 590, 610},
			After: estimate{480, 470, 490}})
	for _, want := range []string{"takes 20.0 % (18.0 to 22.0) less processor time", "p.F, in the rollout", "480 ns",
		`<div class="wide"><svg width="1040"`, // scrolls alone in a narrow window
		"15 % less, met; predicted within 20 % of what is proven, met (0 % off)"} {
		if !strings.Contains(won, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	noise := saving{0.02, -0.1, 0.14} // the experiment of the rollout is more precise
	precise := show([]rolled{{Target: "m/p.F", Predicted: s, Proven: &s, Promoted: true}},
		finalFigure{Promoted: []string{"m/p.F"}, Predicted: s, Proven: noise})
	for _, want := range []string{"takes 20.0 % (18.0 to 22.0) less processor time for a message, by its rollout",
		"2.0 % (-10.0 to 14.0)", "met (0 % off)"} {
		if !strings.Contains(precise, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	unproven := show([]rolled{{Target: "m/p.F", Promoted: true}}, finalFigure{Promoted: []string{"m/p.F"},
		Proven: saving{0.01, -0.01, 0.03}})
	if !strings.Contains(unproven, "Nothing proven in whole programs") ||
		!strings.Contains(unproven, "15 % less, missed; predicted within 20 % of what is proven, missed (100 % off)") {
		t.Error(unproven)
	}
}

// TestChain takes the first steps on the real programs: build, profile, capture.
func TestChain(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds Beagle and metricsd")
	}
	d := newDemo(t, chain...)
	if err := d.carry(t.Context(), "capture"); err != nil {
		t.Fatal(err)
	}
	found, err := resultOf[spots](d, "hotspots")
	if err != nil || len(found.Hotspots) < d.set.Spots {
		t.Fatalf("%+v %v", found, err)
	}
	all, err := resultOf[[]captured](d, "capture")
	if err != nil || len(all) != d.set.Spots {
		t.Fatalf("%+v %v", all, err)
	}
	for _, c := range all {
		if c.Says == "" {
			t.Errorf("%s: no word on its calls", c.Target)
		}
	}
	if file, err := d.writePage(); err != nil {
		t.Error(err)
	} else if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "Not finished") {
		t.Errorf("%s %v", text, err)
	}
	var r record
	if err := readJSON(filepath.Join(d.dir(1, d.steps[1]), "result.json"), &r); err != nil || len(r.Commands) != 2 {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}
