package flow

import (
	"context"
	"fmt"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/verify"
)

// nearTime is what the quick measurement of a near miss may take.
const nearTime = 400 * time.Millisecond

// offer ends the rejection of a version with the contract under which it would
// be right, if there is a simple one. The version stays rejected.
func (x *session) offer(ctx context.Context, c beagle.Candidate, v *beagle.Verdict) error {
	if x.spec.Strict {
		return nil
	}
	err := x.nearMiss(ctx, c, v)
	if err != nil && ctx.Err() == nil { // the verdict stands without it
		v.Warnings = append(v.Warnings, fmt.Sprintf("no contract could be looked for: %v", err))
		return nil
	}
	return err
}

func (x *session) nearMiss(ctx context.Context, c beagle.Candidate, v *beagle.Verdict) error {
	if v.Counterexample == nil {
		return nil
	}
	x.watch.Stage("near miss", "is there a contract under which it would be right?")
	b := verify.NearBudget{}
	if x.spec.Fuzz == 0 {
		b.Fuzz = -1
	}
	near, err := verify.Nearest(ctx, x.verify, c, x.corpus, v, b)
	if near == nil || err != nil {
		return err
	}
	defer near.Bin.Remove()
	v.NearMiss = &near.NearMiss
	return x.nearGain(ctx, near)
}

// nearGain measures a near miss, quickly, on the recorded inputs that keep to
// its contract.
func (x *session) nearGain(ctx context.Context, near *verify.Near) error {
	within := *x.corpus
	var err error
	if within.Train, err = corpus.Within(ctx, near.Bin, x.box, x.corpus.Train); err != nil || len(within.Train) == 0 {
		return err
	}
	x.timing.Lock()
	defer x.timing.Unlock()
	ratios, err := bench.Screen(ctx, x.bench, near.Bin, []int{1}, &within, nearTime)
	if err == nil && ratios[0] != (beagle.Ratio{}) {
		near.NearMiss.Gain = &ratios[0]
	}
	return err
}
