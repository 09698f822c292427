package flow

import (
	"context"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/harness"
)

// freshRounds is how often fresh inputs are drawn to replace those that the
// contract excludes.
const freshRounds = 4

// freshWithin are fresh inputs that keep to the contract.
func (x *session) freshWithin(ctx context.Context) ([]beagle.Record, error) {
	if x.unit.Requires == nil {
		return x.fresh(), nil
	}
	bin, err := x.builder.Build(ctx, []harness.Variant{{ID: x.root.ID, Source: x.root.Source}}, harness.Link{})
	if err != nil {
		return nil, err
	}
	defer bin.Remove()
	var out []beagle.Record
	known := map[string]bool{}
	for round := range uint64(freshRounds) {
		made, err := corpus.Within(ctx, bin, x.box, x.freshFrom(round))
		if err != nil {
			return nil, err
		}
		for _, r := range made {
			if !known[string(r.Args)] && len(out) < freshInputs {
				known[string(r.Args)] = true
				out = append(out, r)
			}
		}
		if len(out) == freshInputs {
			break
		}
	}
	return out, nil
}
