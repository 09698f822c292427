package flow

import (
	"context"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/verify"
)

// compareTime is the time for each version that is compared with its neighbours.
const compareTime = 80 * time.Millisecond

// finalists are the candidates that a search leaves to be measured in full.
func (x *session) finalists(list []evolve.Finalist) ([]beagle.Candidate, error) {
	out := make([]beagle.Candidate, len(list))
	for i, f := range list {
		c, err := x.candidate(f.ID)
		if err != nil {
			return nil, err
		}
		if f.Steps != nil {
			c.Steps = f.Steps
		}
		out[i] = c
	}
	return out, nil
}

// compareAll verifies and screens versions in one program; the zero Ratio
// stands for one that does not behave.
func (x *session) compareAll(ctx context.Context, cs []beagle.Candidate) ([]beagle.Ratio, error) {
	variants := []harness.Variant{{ID: x.root.ID, Source: x.root.Source}}
	for _, c := range cs { // the original among them is compared with itself
		variants = append(variants, harness.Variant{ID: c.ID, Source: c.Source})
	}
	bin, err := x.builder.Build(ctx, variants, harness.Link{FuncAlign: 64})
	if err != nil {
		return nil, err
	}
	defer bin.Remove()
	var good []int
	for i, c := range cs {
		if _, failed := bin.Failed[i+1]; failed {
			continue
		}
		v, err := x.survive(c.Source, func() (*beagle.Verdict, error) { return verify.Quick(ctx, x.verify, bin, i+1, c, x.corpus) })
		if err != nil {
			return nil, err
		}
		if v.OK() {
			good = append(good, i+1)
		}
	}
	out := make([]beagle.Ratio, len(cs))
	ratios, err := bench.Screen(ctx, x.bench, bin, good, x.corpus, compareTime*time.Duration(len(good)+1))
	if err != nil {
		return nil, err
	}
	for i, v := range good {
		out[v-1] = ratios[i]
	}
	return out, nil
}
