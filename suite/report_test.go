package suite

import (
	"math"
	"testing"

	"github.com/beagle-go/beagle"
)

func ratio(point, spread float64) beagle.Ratio {
	return beagle.Ratio{Point: point, Low: point / spread, High: point * spread}
}

// TestSettle checks that the median run stands for the task, with its own interval.
func TestSettle(t *testing.T) {
	r := Row{Goal: 2, Expert: ratio(4, 1.1), Runs: []Run{
		{Seed: 1, Ratio: ratio(3, 1.1), Candidates: 30, Seconds: 3}, {Seed: 2, Ratio: One}, {Seed: 3, Ratio: ratio(2.1, 1.2), Candidates: 20},
	}}
	r.Settle()
	if r.Ratio != ratio(2.1, 1.2) || r.Candidates != 20 || r.Lowest != 1 || r.Highest != 3 {
		t.Errorf("settled as %+v", r)
	}
	if r.Met == nil || *r.Met {
		t.Error("the low end 1.75 meets a goal of 2")
	}
	if got := r.OfExpert.Point; math.Abs(got-2.1/4) > 1e-9 || r.OfExpert.Low >= got || r.OfExpert.High <= got {
		t.Errorf("of the expert: %+v", r.OfExpert)
	}
	r.Runs[2].Ratio = ratio(2.5, 1.2)
	if r.Settle(); !*r.Met {
		t.Error("the low end 2.08 misses a goal of 2")
	}
}

func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		advised Advised
		met     bool
	}{{Advised{Named: true}, true}, {Advised{}, false}, {Advised{Named: true, Applied: true}, false}} {
		r := Row{Advice: &c.advised, Expert: One, Runs: []Run{{Ratio: One}}}
		if r.Settle(); *r.Met != c.met {
			t.Errorf("%+v: met is %t", c.advised, *r.Met)
		}
	}
}

// TestAverage checks that tasks answered with advice do not count.
func TestAverage(t *testing.T) {
	rows := []Row{
		{Rewriting: true, Ratio: ratio(2, 1.1), Expert: ratio(4, 1.1)},
		{Rewriting: true, Ratio: ratio(8, 1.1), Expert: ratio(4, 1.1)},
		{Rewriting: false, Ratio: One, Expert: ratio(100, 1.1)},
	}
	m := Average(rows)
	if m.Tasks != 2 || math.Abs(m.Ratio-4) > 1e-9 || math.Abs(m.Expert-4) > 1e-9 || math.Abs(m.OfExpert-1) > 1e-9 {
		t.Errorf("means %+v", m)
	}
	if m := Average(nil); m != (Means{}) {
		t.Errorf("means of nothing: %+v", m)
	}
}
