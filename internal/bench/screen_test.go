package bench

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
)

func TestScreen(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	gains := []float64{0, 1, 1.1, 0.9, 2, 1.5, 1, 1, 1} // by variant; 0 is the original
	runs := map[int]int{}
	run := func(_ context.Context, q *rt.Time) (*rt.TimeReply, string, error) {
		var logs []float64
		for _, v := range q.Variants {
			if runs[v]++; v == 6 {
				return nil, "hang", nil
			}
			logs = append(logs, -math.Log(max(gains[v], 1e-9))*min(float64(v), 1))
		}
		return &rt.TimeReply{Sets: []rt.Timing{*simulate(rng, loaded, 4, 80, logs...)}}, "", nil
	}
	idx := []int{1, 2, 3, 4, 5, 6, 7, 8}
	got, err := screen(context.Background(), run, idx, rt.Time{Sets: make([]rt.TimeSet, 1)}, 1, beagle.Score{})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range idx {
		switch {
		case v == 6 && got[i] != (beagle.Ratio{}):
			t.Errorf("the variant that hangs has ratio %v", got[i])
		case v != 6 && math.Abs(got[i].Point/gains[v]-1) > 0.02:
			t.Errorf("variant %d: %.3f, want %.3f", v, got[i], gains[v])
		}
	}
	if runs[4] <= runs[3] || runs[5] <= runs[3] {
		t.Errorf("the better half did not go on: %v", runs)
	}
}

// TestScreenSpendsOnSurvivors checks that a version has more time at each stage, and that the time
// of those that were dropped is saved.
func TestScreenSpendsOnSurvivors(t *testing.T) {
	for n := 1; n <= 16; n++ {
		rng, budget, total := rand.New(rand.NewPCG(8, 8)), time.Second, 0.0
		var each []float64 // time of a version, by stage
		run := func(_ context.Context, q *rt.Time) (*rt.TimeReply, string, error) {
			total += float64(q.Sets[0].Budget)
			each = append(each, float64(q.Sets[0].Budget)/float64(len(q.Variants)))
			logs := make([]float64, len(q.Variants))
			return &rt.TimeReply{Sets: []rt.Timing{*simulate(rng, quiet, 4, 40, logs...)}}, "", nil
		}
		if _, err := screen(t.Context(), run, numbersFrom(1, n), rt.Time{Sets: make([]rt.TimeSet, 1)}, budget,
			beagle.Score{}); err != nil {
			t.Fatal(err)
		}
		if !slices.IsSorted(each) || total > float64(budget)+1 || n > 4 && total > 0.75*float64(budget) {
			t.Errorf("%d versions: a version has %v ns by stage, all together %v", n, each, total)
		}
	}
}

// TestScreenKeepsTheBest screens batches in which half of the versions are as fast as the original,
// and the others differ by some 5 %. The version reported as the best must be nearly as fast as the
// best, and no more of the innocent may look faster than the interval's own error allows. In 4,000
// batches 0.003 to 0.016 % of the gain are lost, and 0.5 to 1.4 % of the innocent look faster. With
// shares of 0.4, 0.6 and 0.25, 0.3, 0.45 it was 0.003 to 0.012 % and 0.5 to 1.5 %.
func TestScreenKeepsTheBest(t *testing.T) {
	const slice, batches = 100 * time.Microsecond, 400
	for _, n := range []int{3, 6, 10} {
		rng, lost, innocent, accused := rand.New(rand.NewPCG(1, 2)), 0.0, 0, 0
		for range batches {
			logs := make([]float64, n+1)
			for i := 2; i <= n; i += 2 {
				logs[i] = 0.05 * rng.NormFloat64()
			}
			run := func(_ context.Context, q *rt.Time) (*rt.TimeReply, string, error) {
				rounds := time.Duration(q.Sets[0].Budget) / time.Duration(len(q.Variants)) / slice
				var of []float64
				for _, v := range q.Variants {
					of = append(of, logs[v])
				}
				return &rt.TimeReply{Sets: []rt.Timing{*simulate(rng, loaded, 4, max(12, int(rounds)), of...)}}, "", nil
			}
			q := rt.Time{Sets: make([]rt.TimeSet, 1), Seed: rng.Uint64()}
			got, err := screen(t.Context(), run, numbersFrom(1, n), q, time.Duration(n+1)*20*time.Millisecond,
				beagle.Score{})
			if err != nil {
				t.Fatal(err)
			}
			best := 0
			for i, r := range got {
				if r.Low > got[best].Low {
					best = i
				}
				if i%2 == 0 {
					if innocent++; r.Low > 1 {
						accused++
					}
				}
			}
			lost += (logs[best+1] - slices.Min(logs[1:])) / batches
		}
		rate := float64(accused) / float64(innocent)
		say := t.Logf
		if lost > 0.0005 || rate > 0.025 {
			say = t.Errorf
		}
		say("%d versions: %.3f %% of the gain are lost, %.2f %% of the innocent look faster", n, 100*lost, 100*rate)
	}
}

// TestScreenSets checks that each set has ratios of its own, and that a variant that ends the
// process has none.
func TestScreenSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	gains := [][]float64{{1, 2, 1, 0.5}, {1, 0.8, 1, 3}} // by set and variant
	run := func(_ context.Context, q *rt.Time) (*rt.TimeReply, string, error) {
		if slices.Contains(q.Variants, 2) {
			return nil, "hang", nil
		}
		reply := new(rt.TimeReply)
		for s := range q.Sets {
			var logs []float64
			for _, v := range q.Variants {
				logs = append(logs, -math.Log(gains[s][v]))
			}
			reply.Sets = append(reply.Sets, *simulate(rng, loaded, 4, 80, logs...))
		}
		return reply, "", nil
	}
	got, err := screenSets(t.Context(), run, []int{1, 2, 3}, rt.Time{Sets: make([]rt.TimeSet, 2)}, beagle.Score{})
	if err != nil {
		t.Fatal(err)
	}
	for s := range got {
		for i, r := range got[s] {
			switch want := gains[s][i+1]; {
			case i == 1 && r != (beagle.Ratio{}):
				t.Errorf("set %d: the variant that hangs has ratio %v", s, r)
			case i != 1 && math.Abs(r.Point/want-1) > 0.02:
				t.Errorf("set %d, variant %d: %.3f, want %.3f", s, i+1, r.Point, want)
			}
		}
	}
}

func TestStages(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 1, 3: 2, 4: 2, 5: 3, 16: 3, 64: 3} {
		if got := stages(n); got != want {
			t.Errorf("%d candidates: %d stages, want %d", n, got, want)
		}
	}
}
