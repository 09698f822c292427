package rules

import (
	"slices"
	"testing"

	"github.com/beagle-go/beagle/mutate"
)

// TestRecall checks that every rule was counted on public packages, and no other
// name is in the table.
func TestRecall(t *testing.T) {
	for _, m := range All {
		r, ok := RecallOf(m.Name)
		own := !slices.Contains(GoFixes, (*mutate.Mutator)(m))
		switch {
		case own && !ok:
			t.Errorf("%s: nobody counted where it applies: go run ./bench/field recall -write", m.Name)
		case !own && ok:
			t.Errorf("%s is counted, and is a rule of Go's own tools", m.Name)
		case own && (r.Functions < 10000 || r.Packages < 400 || r.Found > r.Functions):
			t.Errorf("%s: %+v", m.Name, r)
		}
	}
	if _, ok := RecallOf("no-such-rule"); ok {
		t.Error("a rule that is not there was counted")
	}
}
