package flow

import (
	"context"

	"github.com/beagle-go/beagle"
)

// Trial measures a version whose true gain is known, as Judge and JudgeSource do. It checks no
// behaviour. The version is the target's text after an edit. The times alone judge it, even if its
// machine code is the original's. The seed decides layouts, orders and the fresh inputs: trials
// with different seeds are independent.
func (a *Activities) Trial(
	ctx context.Context, run string, edit func(string) string, seed uint64,
) (*beagle.Measurement, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	c := beagle.NewCandidate(edit(x.works.root.Source), []string{x.works.root.ID}, nil)
	return x.meter.blind(ctx, c, seed)
}
