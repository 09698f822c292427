package flow

import (
	"context"
	"fmt"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/lift"
)

// Barren returns why a search of a target would propose nothing, or "" where it may propose
// something. It asks the rewrites with inputs as favourable as can be, so it takes a fraction of a
// second where recording inputs takes a minute. A search with models is never barren.
func Barren(ctx context.Context, u *source.Unit, spec Spec) (string, error) {
	if spec.Models.On() {
		return "", nil
	}
	mutators, err := chosenMutators(spec.Rules)
	if err != nil {
		return "", err
	}
	w := newWorkbench(u, mutate.Favourable(&u.Target), mutators, bench.Profile{})
	root := beagle.NewCandidate(u.Target.Source, nil, nil)
	if len(w.moves(root)) > 0 || ctx.Err() != nil {
		return "", ctx.Err()
	}
	if spec.lifts() {
		if p, problem := w.pass(root); problem != nil ||
			len(lift.NewStudy(p, lift.Options{Seed: spec.Seed}).Regions()) > 0 {
			return "", nil
		}
	}
	return fmt.Sprintf("None of the %d rewrites applies to this function, whatever its inputs are.", len(mutators)), nil
}
