package flow

import (
	"context"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/harness"
)

// compareTime is the time for each version that is compared with its neighbours.
const compareTime = 80 * time.Millisecond

// compareAll verifies and screens versions in one program; the zero Ratio
// stands for one that does not behave.
func (x *session) compareAll(ctx context.Context, cs []beagle.Candidate) ([]beagle.Ratio, error) {
	bin, err := x.lab.beside(ctx, harness.Link{FuncAlign: 64}, cs...) // the original among them is compared with itself
	if err != nil {
		return nil, err
	}
	defer bin.Remove()
	var good []int
	for i, c := range cs {
		if _, failed := bin.Failed[i+1]; failed {
			continue
		}
		v, err := x.verifier.quick(ctx, bin, i+1, c)
		if err != nil {
			return nil, err
		}
		if v.OK() {
			good = append(good, i+1)
		}
	}
	out := make([]beagle.Ratio, len(cs))
	ratios, err := bench.Screen(ctx, x.lab.bench, bin, good, x.inputs.corpus(), compareTime*time.Duration(len(good)+1))
	if err != nil {
		return nil, err
	}
	for i, v := range good {
		out[v-1] = ratios[i]
	}
	return out, nil
}
