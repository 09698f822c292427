package flow

import (
	"testing"

	"github.com/beagle-go/beagle"
)

// TestSpare: only the first finalist is measured as it was found too.
func TestSpare(t *testing.T) {
	simple, whole := beagle.Candidate{ID: "simple"}, beagle.Candidate{ID: "whole"}
	if got := spare(nil, simple, whole); len(got) != 2 || got[0].ID != "simple" || got[1].ID != "whole" {
		t.Errorf("the first: %v", got)
	}
	if got := spare([]beagle.Candidate{{ID: "first"}}, simple, whole); len(got) != 1 || got[0].ID != "simple" {
		t.Errorf("a later one: %v", got)
	}
}
