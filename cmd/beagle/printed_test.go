package main

import (
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/probe/wire"
)

// TestEndOfARun checks that the end of a run names what can be done next: a lesson to propose when
// it learned something, and what lost calls may cost.
func TestEndOfARun(t *testing.T) {
	r := &beagle.Result{
		Run: "3f2a", Candidates: 1, Target: beagle.TargetRef{Spec: "./p.F"}, Outcome: beagle.Improved,
		Lineage: []beagle.LineageStep{{Step: beagle.Step{Mutator: "unroll"}}},
		Models:  &beagle.ModelSummary{Calls: 4, Lost: 2, AtMost: 0.25},

		Rejected: []string{"aaaa (unroll): wrong by replay:\nwant 1"},
	}
	printed := func() string {
		var b strings.Builder
		printResult(&b, r, "dir", false)
		return b.String()
	}
	const lesson = "beagle lessons propose 3f2a\n"
	for _, want := range []string{
		lesson, " 1 version in ", "2 calls were under way", "$0.25", "aaaa (unroll): wrong by replay: want 1\n",
	} {
		if text := printed(); !strings.Contains(text, want) {
			t.Errorf("the end lacks %q:\n%s", want, text)
		}
	}
	r.Outcome, r.Lineage, r.Models.Lost = beagle.NoImprovement, nil, 0
	if text := printed(); strings.Contains(text, "lessons") || strings.Contains(text, "under way") {
		t.Errorf("there is nothing to propose:\n%s", text)
	}
}

// TestCampaignPrintsBothRatios checks that a saving that rests on two measurements shows both.
func TestCampaignPrintsBothRatios(t *testing.T) {
	target := beagle.CampaignTarget{Target: "p.F", State: beagle.CampaignImproved,
		Ratio: &beagle.Ratio{Point: 1.05, Low: 1.03, High: 1.07}}
	for _, again := range []*beagle.Ratio{nil, {Point: 1.11, Low: 1.09, High: 1.13}} {
		target.Again = again
		var b strings.Builder
		printCampaign(&b, &beagle.Campaign{Targets: []beagle.CampaignTarget{target}})
		if strings.Contains(b.String(), "1.11x (95 %: 1.09 to 1.13), beside its steps") != (again != nil) {
			t.Errorf("again %v:\n%s", again, b.String())
		}
	}
}

// TestRolloutStanding checks that a rollout shows how it stands while nothing is decided, and
// prints no line for a reason that it does not have.
func TestRolloutStanding(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var log, out strings.Builder
	l := &flight{rolloutFlags: &rolloutFlags{}, base: pilot.Base{Store: s, ID: "x"}, watch: newProgress(&log, false)}
	l.watch.seldom = time.Hour
	f := &pilot.Flight{Experiment: rollout.Experiment{State: rollout.State{Phase: rollout.Released, Blocks: 1}}}
	for range 2 {
		if err := l.save(f); err != nil {
			t.Fatal(err)
		}
	}
	if got := log.String(); strings.Count(got, "\n") != 1 ||
		!strings.Contains(got, "rollout  released: 100 % of the traffic on the candidate, 1 block used") {
		t.Errorf("%q", got)
	}
	// A stop that no controller has seen yet is shown.
	if err := l.base.Write("stop", nil); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BEAGLE_HOME", s.Dir())
	begun, err := rollout.New(rollout.Plan{Function: "p.F", Build: "b1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.base.Save(&pilot.Flight{Experiment: *begun}); err != nil {
		t.Fatal(err)
	}
	status := &rolloutFlags{rolloutCall: rolloutCall{std: stdio{&out, io.Discard}}}
	_, err = rolloutStatus(t.Context(), status)
	if err != nil || !strings.Contains(out.String(), "a person stopped it") {
		t.Errorf("%v\n%s", err, &out)
	}
	out.Reset()
	printRollout(&out, &pilot.Report{Function: "p.F", Phase: rollout.Ramping, Action: rollout.Hold})
	if want := "p.F: ramp, hold\n  0 % of the traffic on the candidate; 0 blocks used, 0 refused; " +
		"0 requests exposed, 0 failed\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}

// TestCaptureCounts checks that counts name the reasons for which a process dropped calls.
func TestCaptureCounts(t *testing.T) {
	var b strings.Builder
	printCounts(&b, capture.Pulled{Address: "a.sock", Status: wire.Status{
		Session: &wire.Session{Dropped: wire.Dropped{Full: 3, Torn: 1}},
	}})
	if want := "a.sock:\n  dropped: 3 no free slot, 1 changed while read\n"; b.String() != want {
		t.Errorf("%q", b.String())
	}
}

// TestRunsAreLines checks that a run is one line, whatever its note quotes; a terminal's are cut to
// its width.
func TestRunsAreLines(t *testing.T) {
	runs := []store.Run{
		{ID: "3f2a", State: store.Failed, Spec: "p.F", Created: time.Now(), Note: "build: # p\n\tp/p.go:3:\tundefined: ä\r\n" + strings.Repeat("and so on ", 30)},
		{ID: "4f2a", State: store.Done, Spec: "example.com/a/rather/long/path/p.G", Created: time.Now(), Note: "improved"},
	}
	for _, width := range []int{0, 60} {
		var b strings.Builder
		if err := listRuns(&b, runs, width); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(lines) != 3 || !strings.HasPrefix(lines[1], "3f2a  failed") ||
			!strings.HasPrefix(lines[2], "4f2a  done") {
			t.Fatalf("%q", lines)
		}
		if whole := strings.Contains(lines[1], "build: # p p/p.go:3: undefined: ä and so on"); whole != (width == 0) {
			t.Errorf("width %d: %q", width, lines[1])
		}
		if short := strings.Contains(lines[2], "  p.G  "); short != (width == 60) {
			t.Errorf("width %d: %q", width, lines[2])
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); width > 0 && n > width {
				t.Errorf("%d columns: %q", n, line)
			}
		}
	}
}
