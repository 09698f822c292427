package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/profiles"
)

// TestForms: each form takes as many windows as the plan has slices, none twice, and the same ones
// with the same seed. By default they lie within the time of the plan.
func TestForms(t *testing.T) {
	for _, plan := range []profiles.Plan{profiles.NewPlan(4, 20*time.Second), profiles.NewPlan(0, 0),
		profiles.NewPlan(0, 0).Enough(50)} {
		of := recording{plan: plan, windows: make([]string, (times+1)*plan.Slices)}
		for _, f := range forms {
			for seed := range uint64(50) {
				chosen := f.choose(rand.New(rand.NewPCG(seed, 1)), of)
				sorted := slices.Compact(slices.Sorted(slices.Values(chosen)))
				if len(sorted) != plan.Slices || sorted[0] < 0 || sorted[len(sorted)-1] >= len(of.windows) {
					t.Fatalf("%s with %+v: %d of %d windows, %v", f.name, plan, len(sorted), plan.Slices, chosen)
				}
				if again := f.choose(rand.New(rand.NewPCG(seed, 1)), of); !slices.Equal(again, chosen) {
					t.Fatalf("%s: the same seed chooses %v and %v", f.name, chosen, again)
				}
				length := time.Duration((sorted[len(sorted)-1]-sorted[0]+1)*plan.Seconds) * time.Second
				most := plan.Over + time.Duration(plan.Seconds)*time.Second
				if f.name == forms[1].name && length > most {
					t.Errorf("%s: the windows span %v, the plan %v", f.name, length, plan.Over)
				}
			}
		}
	}
}
