package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/special"
)

// Screening is successive halving: all variants share the first stage, the better half of them the
// second, and so on. A stage is a fresh process, so the figure that a survivor reports is not the
// one that chose it.

// maxStages bounds the processes of a screening; starting one costs as much
// as a hundred rounds.
const maxStages = 3

// stageShares are the shares of a version's time that the stages take. A few pairs show the
// variants far behind, whose time goes to the others. TestScreenKeepsTheBest bounds the loss in the
// first stages.
var stageShares = [maxStages + 1][]float64{1: {1}, 2: {0.3, 0.6}, 3: {0.15, 0.25, 0.45}}

// stages returns the number of stages for n candidates: none is dropped while two or fewer are
// left.
func stages(n int) int { return min(maxStages, max(1, bits.Len(uint(max(n, 1)-1)))) }

// A timeFunc times a request in a fresh process; a failure says how the
// process ended without a reply.
type timeFunc func(ctx context.Context, q *rt.Time) (reply *rt.TimeReply, failure string, err error)

// screen runs the stages. The budget is that of all versions if none were dropped. The result has
// an entry for each of idx; the zero Ratio stands for a variant that killed the process.
func screen(
	ctx context.Context, run timeFunc, idx []int, q rt.Time, budget time.Duration, score beagle.Score,
) ([]beagle.Ratio, error) {
	found := map[int]Estimate{}
	live := slices.Clone(idx)
	n := stages(len(idx))
	set := q.Sets[0]
	// Each stage times what is left with a fresh seed. Its share of the budget shrinks with the
	// versions, so that dropping some saves their time.
	for stage := range n {
		q.Seed++
		set.Budget = int64(float64(budget) * stageShares[n][stage] * float64(len(live)+1) / float64(len(idx)+1))
		q.Sets = []rt.TimeSet{set}
		timings, err := surviving(ctx, run, &q, live)
		if err != nil {
			return nil, err
		}
		// Drop the versions that killed their process, and between two stages the slower half.
		live = slices.DeleteFunc(live, func(v int) bool { return timings[v].reply == nil })
		for _, v := range live {
			found[v] = timings[v].scored(score, 0)
		}
		if stage < n-1 {
			live = keepBetterHalf(live, found)
		}
	}
	// Versions that were dropped keep the estimate of their last stage.
	out := make([]beagle.Ratio, len(idx))
	for i, v := range idx {
		if e, ok := found[v]; ok {
			out[i] = screenRatio(e)
		}
	}
	return out, nil
}

// screenSets compares the variants idx on each set of a request, in one process. The result has an
// entry for each set and each of idx, and nil for a set that was not timed.
func screenSets(
	ctx context.Context, run timeFunc, idx []int, q rt.Time, score beagle.Score,
) ([][]beagle.Ratio, error) {
	timings, err := surviving(ctx, run, &q, idx)
	if err != nil {
		return nil, err
	}
	out := make([][]beagle.Ratio, len(q.Sets))
	for s := range q.Sets {
		out[s] = make([]beagle.Ratio, len(idx))
		for i, v := range idx {
			t := timings[v]
			if t.reply == nil {
				continue
			}
			if len(t.reply.Sets[s].Window) == 0 {
				out[s] = nil
				break
			}
			out[s][i] = screenRatio(t.scored(score, s))
		}
	}
	return out, nil
}

func screenRatio(e Estimate) beagle.Ratio {
	if math.IsInf(e.SE, 1) {
		return unknownRatio()
	}
	return e.Ratio()
}

// A timing tells where a variant was timed beside the original.
type timing struct {
	reply *rt.TimeReply
	at    int // of the variant, among those of the process
}

// scored compares the variant with the original on a set.
func (t timing) scored(score beagle.Score, set int) Estimate {
	return scored(score, &t.reply.Sets[set], 0, t.at)
}

// surviving times the original with variants, in one process. When that dies, each is timed alone
// with the original, and those that kill their process are left out: together they may need more
// memory or time than a process has.
func surviving(ctx context.Context, run timeFunc, q *rt.Time, variants []int) (map[int]timing, error) {
	out := map[int]timing{}
	// with makes a request for the original and some variants.
	with := func(vs ...int) *rt.Time { return forVariants(q, append([]int{0}, vs...)) }
	reply, failure, err := run(ctx, with(variants...))
	if err != nil {
		return nil, err
	}
	if failure == "" {
		for i, v := range variants {
			out[v] = timing{reply, i + 1}
		}
		return out, nil
	}
	// Find out who cannot be timed, one by one.
	for _, v := range variants {
		reply, failure, err := run(ctx, with(v))
		if err != nil {
			return nil, err
		}
		if failure == "" {
			out[v] = timing{reply, 1}
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	// If none can, the original may be the cause.
	if _, failure, err = run(ctx, with()); err == nil && failure != "" {
		err = fmt.Errorf("the original cannot be timed: %s", failure)
	}
	return out, err
}

// keepBetterHalf keeps the half of the variants with the higher upper bounds: on
// doubt a variant stays.
func keepBetterHalf(live []int, found map[int]Estimate) []int {
	upper := func(v int) float64 { return found[v].Log + special.Normal95*found[v].SE }
	kept := slices.Clone(live)
	inorder.By(kept, func(a, b int) int { return cmp.Compare(upper(b), upper(a)) })
	return kept[:max((len(kept)+1)/2, min(2, len(kept)))]
}
