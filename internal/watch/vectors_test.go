package watch

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
)

// vectors are results of other programs; testdata/oracles names them.
type vectors struct {
	Changes []struct {
		Series []float64
		Window int
		P      float64
		Least  float64
		Weak   []ChangePoint // after the first pass
		Points []ChangePoint
		Stale  bool // the oracle's result rests on p-values of points that are gone
	}
	Intervals []struct{ A, N, B, M, Low, High float64 }
	Adjusted  []struct{ P, Q []float64 }
	Drift     []struct {
		Want, Got []float64
		PSI, P    float64
	}
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Changes) < 100 || len(v.Intervals) < 4 || len(v.Adjusted) < 4 || len(v.Drift) < 3 {
		t.Fatal("vectors.json lacks vectors")
	}
	return v
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1e-3, math.Abs(a), math.Abs(b)) }

func TestChangePointVectors(t *testing.T) {
	points, stale := 0, 0
	for i, v := range readVectors(t).Changes {
		o := Options{Window: v.Window, P: v.P, LeastStep: v.Least}
		if got := firstPass(v.Series, o); !samePoints(got, v.Weak) {
			t.Errorf("series %d, first pass: %+v, otava has %+v", i, got, v.Weak)
		}
		got := ChangePoints(v.Series, o)
		points += len(got)
		if v.Stale {
			stale++
			continue
		}
		if !samePoints(got, v.Points) {
			t.Errorf("series %d of %d values: %+v, otava has %+v", i, len(v.Series), got, v.Points)
		}
	}
	if points < 50 || stale > 30 {
		t.Errorf("only %d points in all series, %d results are stale", points, stale)
	}
}

func samePoints(a, b []ChangePoint) bool {
	return slices.EqualFunc(a, b, func(x, y ChangePoint) bool { return x.Index == y.Index && near(x.P, y.P) })
}

func TestStatisticsVectors(t *testing.T) {
	v := readVectors(t)
	for _, w := range v.Intervals {
		if got := proportionChange(w.A, w.N, w.B, w.M); !near(got.Low, w.Low) || !near(got.High, w.High) {
			t.Errorf("ProportionChange(%+v) = %+v", w, got)
		}
	}
	for _, w := range v.Adjusted {
		for i, q := range falseDiscoveryRates(w.P) {
			if !near(q, w.Q[i]) {
				t.Errorf("FalseDiscoveryRates(%v)[%d] = %g, want %g", w.P, i, q, w.Q[i])
			}
		}
	}
	for _, w := range v.Drift {
		if psi, p := Drift(w.Want, w.Got); !near(psi.Estimate, w.PSI) || psi.Low >= psi.High || !near(p, w.P) {
			t.Errorf("Drift(%v, %v) = %+v, %g, want %g, %g", w.Want, w.Got, psi, p, w.PSI, w.P)
		}
	}
}
