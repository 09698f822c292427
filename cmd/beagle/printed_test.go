package main

import (
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

// The end of a run names what can be done next: a lesson to propose when it
// learned something, and what lost calls may cost.
func TestEndOfARun(t *testing.T) {
	r := &beagle.Result{
		Run: "3f2a", Target: beagle.TargetRef{Spec: "./p.F"}, Outcome: beagle.Improved,
		Lineage: []beagle.LineageStep{{Step: beagle.Step{Mutator: "unroll"}}},
		Models:  &beagle.ModelSummary{Calls: 4, Lost: 2, AtMost: 0.25},
	}
	printed := func() string {
		var b strings.Builder
		printResult(&b, r, "dir", false)
		return b.String()
	}
	const lesson = "beagle lessons propose 3f2a\n"
	if text := printed(); !strings.Contains(text, lesson) || !strings.Contains(text, "2 calls were under way") || !strings.Contains(text, "$0.25") {
		t.Errorf("%s", text)
	}
	r.Outcome, r.Lineage, r.Models.Lost = beagle.NoImprovement, nil, 0
	if text := printed(); strings.Contains(text, "lessons") || strings.Contains(text, "under way") {
		t.Errorf("there is nothing to propose:\n%s", text)
	}
}
