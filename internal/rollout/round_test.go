package rollout

import (
	"strings"
	"testing"
)

// TestRound: what a process tells ends an experiment, once, and nothing after that counts.
func TestRound(t *testing.T) {
	for _, row := range []struct {
		name, cause string
		round       Round
	}{
		{"a person", "enough", Round{Stop: "enough", End: "burn", Heard: []ProcessNews{{Process: "a",
			Tripped: "panicked"}}}},
		{"who watches", "burn", Round{Hold: "an alert", End: "burn"}},
		{"a process that tripped", "a switched to the original by itself: panicked",
			Round{Heard: []ProcessNews{{Process: "a", Tripped: "panicked"}, {Process: "b",
				Ended: "its time is over"}}}},
		{"one that ended", "b: its time is over",
			Round{Heard: []ProcessNews{{Process: "a"}, {Process: "b", Ended: "its time is over"}}}},
		{"one that is silent", "a does not answer for 30 s: refused",
			Round{Heard: []ProcessNews{{Process: "a", Silent: Patience + 1, Fault: "refused"}}}},
		{"one that is silent for a moment", "",
			Round{Heard: []ProcessNews{{Process: "a", Silent: Patience - 1, Fault: "refused"}}}},
		{"an alert", "", Round{Hold: "an alert", Heard: []ProcessNews{{Process: "a"}}}},
	} {
		e, err := New(Plan{Build: "b1"})
		if err != nil {
			t.Fatal(err)
		}
		all := e.Take(row.round)
		if ended := e.State.Phase == RolledBack; ended != (row.cause != "") || ended && (len(all) != 1 ||
			all[0].Action != RollBack || !strings.Contains(all[0].Cause, row.cause)) {
			t.Errorf("%s: %s, %+v", row.name, e.State.Phase, all)
		}
		if e.State.Held != row.round.Hold && row.cause == "" {
			t.Errorf("%s: held for %q", row.name, e.State.Held)
		}
		again := e.Take(Round{Heard: []ProcessNews{{Process: "c", Tripped: "again"}}})
		if row.cause != "" && len(again) != 0 {
			t.Errorf("%s: after its end %+v", row.name, again)
		}
	}
}
