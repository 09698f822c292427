package rollout

import (
	"math"
	"testing"
)

// TestStudentBeyond compares with tables.
func TestStudentBeyond(t *testing.T) {
	for freedom, want := range map[float64]float64{1: 12.706, 3: 3.182, 7: 2.365, 30: 2.042} {
		if got := studentBeyond(0.025, freedom); math.Abs(got-want) > 0.001 {
			t.Errorf("%g degrees of freedom: %g, want %g", freedom, got, want)
		}
	}
}

// studies is a track of processes with these means, 100 blocks each of variance 1.
func studies(means ...float64) *Track {
	t := &Track{Pods: map[string]*Reading{}}
	for i, mean := range means {
		r := &Reading{}
		for k := range 100 {
			x := mean + math.Sqrt(0.99)*float64(2*(k%2)-1)
			r.Effect.add(x)
			t.Moments.add(x)
		}
		t.Pods[string(rune('a'+i))] = r
	}
	return t
}

// TestBetween checks the variance between processes by hand: each mean has a variance of 0.01, so
// with weights of 100 the means 1, 2, 3 and 6 give Q = 1400, and (Q - 3) / 300 between them.
func TestBetween(t *testing.T) {
	b := studies(1, 2, 3, 6).between(FunctionTime, 0.05, 1)
	if want := math.Sqrt(1397.0 / 300); b.Processes != 4 || math.Abs(b.Deviation-want) > 1e-9 ||
		math.Abs(b.Half-3.1824463*want/2) > 1e-6 {
		t.Errorf("%+v, want a deviation of %g", b, want)
	}
	if b := studies(1, 1.1, 0.9, 1.05).between(FunctionTime, 0.05, 1); b.Half != 0 || b.Deviation != 0 {
		t.Errorf("processes that differ by chance: %+v", b)
	}
	// The blocks' own correlation may explain it: a mean of 100 blocks then tells less.
	if b := studies(1, 1.3, 0.7, 1.2).between(FunctionTime, 0.05, 1); b.Half == 0 {
		t.Errorf("independent blocks: %+v", b)
	}
	if b := studies(1, 1.3, 0.7, 1.2).between(FunctionTime, 0.05, 20); b.Half != 0 {
		t.Errorf("correlated blocks: %+v", b)
	}
	if b := studies(4).between(FunctionTime, 0.05, 1); b.Half != 0 || b.Processes != 1 {
		t.Errorf("one process: %+v", b)
	}
}
