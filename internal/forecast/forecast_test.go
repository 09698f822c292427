package forecast

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestVectors compares with what statsforecast and statsmodels computed;
// testdata/oracles says how.
func TestVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Naive []struct {
			Series, Mean []float64
			Season       int
		}
		Smooth []struct {
			Series, Mean                 []float64
			Season                       int
			Alpha, Beta, Gamma, Phi, SSE float64
		}
	}
	if err := json.Unmarshal(text, &v); err != nil || len(v.Naive) < 4 || len(v.Smooth) < 8 {
		t.Fatalf("vectors.json: %v", err)
	}
	for _, w := range v.Naive {
		same(t, seasonalNaive{w.Season}, w.Series, w.Mean)
	}
	for _, w := range v.Smooth {
		m := HoltWinters{w.Season, w.Alpha, w.Beta, w.Gamma, w.Phi}
		same(t, m, w.Series, w.Mean)
		if _, squares := m.smooth(w.Series); math.Abs(squares-w.SSE) > 1e-9*w.SSE {
			t.Errorf("%+v: squared errors %g, statsmodels has %g", m, squares, w.SSE)
		}
	}
}

func same(t *testing.T, m Model, series, want []float64) {
	t.Helper()
	got, err := m.Forecast(series, len(want))
	if err != nil {
		t.Fatal(err)
	}
	for h := range want {
		if math.Abs(got[h]-want[h]) > 1e-9*math.Abs(want[h]) {
			t.Errorf("%s, step %d: %.12g, want %.12g", m.Name(), h, got[h], want[h])
		}
	}
}

func drawn(seed uint64, n int, trend, noise, walk float64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 6))
	out := make([]float64, n)
	level := 100.0
	for i := range out {
		level += walk * rng.NormFloat64()
		out[i] = level + trend*float64(i) + 10*math.Sin(2*math.Pi*float64(i)/24) + noise*rng.NormFloat64()
	}
	return out
}

// TestShownOnlyWhereBetter: a trend or noise can be forecast better than by
// repeating a day. A series that repeats exactly cannot.
func TestShownOnlyWhereBetter(t *testing.T) {
	for name, row := range map[string]struct {
		series []float64
		shown  bool
	}{
		"trend":  {drawn(1, 336, 0.3, 2, 0), true},
		"noise":  {drawn(2, 336, 0, 5, 0), true},
		"repeat": {drawn(3, 336, 0, 0, 0), false},
	} {
		r, err := Choose(row.series, 24, 24, HoltWinters{Season: 24})
		if err != nil {
			t.Fatal(err)
		}
		if r.Shown != row.shown || (len(r.Values) == 24) != row.shown {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestIntervals: nine of ten values of the future lie within the interval.
func TestIntervals(t *testing.T) {
	inside, values := 0, 0
	for seed := range uint64(12) {
		all := drawn(seed, 336+24, 0.2, 4, 0)
		r, err := Choose(all[:336], 24, 24, HoltWinters{Season: 24})
		if err != nil {
			t.Fatal(err)
		}
		for h, v := range r.Values {
			values++
			if all[336+h] >= v.Low && all[336+h] <= v.High {
				inside++
			}
		}
	}
	if share := float64(inside) / float64(values); values < 100 || share < 0.8 || share > 0.97 {
		t.Errorf("%d of %d values lie within the interval", inside, values)
	}
}

// failing is a model that cannot forecast what has more values than it knows.
type failing struct {
	HoltWinters
	most int
	with float64 // what it forecasts then; 0: it returns an error
}

func (f failing) Name() string { return "failing" }

func (f failing) Forecast(series []float64, horizon int) ([]float64, error) {
	values, err := f.HoltWinters.Forecast(series, horizon)
	if len(series) <= f.most || err != nil {
		return values, err
	}
	if f.with == 0 {
		return nil, errors.New("planted")
	}
	values[horizon-1] = f.with
	return values, nil
}

// TestFailingModel: a model that fails on the past, or only when it is asked for the future, costs
// the others nothing, and the result says why it has no part.
func TestFailingModel(t *testing.T) {
	series, good := drawn(1, 336, 0.3, 2, 0), HoltWinters{Season: 24}
	alone, err := Choose(series, 24, 24, good)
	if err != nil || !alone.Shown {
		t.Fatalf("%+v, %v", alone, err)
	}
	for name, row := range map[string]struct {
		bad    failing
		scores int
		why    string
	}{
		"past":     {failing{good, 0, 0}, 2, "failing has no score: planted"},
		"infinite": {failing{good, 0, math.Inf(1)}, 2, "failing has no score: its forecast of step 24"},
		"future":   {failing{good, 335, 0}, 3, "failing did well on it, and fails now: planted"},
	} {
		r, err := Choose(series, 24, 24, row.bad, good)
		if err != nil || r.Model != alone.Model || !slices.Equal(r.Values, alone.Values) ||
			len(r.Scores) != row.scores || !strings.Contains(r.Why, row.why) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if r, err = Choose(series, 24, 24, row.bad); err != nil || r.Shown || !strings.Contains(r.Why, row.why) {
			t.Errorf("%s, alone: %+v, %v", name, r, err)
		}
	}
}

func TestBadSeries(t *testing.T) {
	long := drawn(1, 100, 0, 1, 0)
	gap := slices.Concat(long[:60], []float64{math.NaN()}, long)
	for cause, series := range map[string][]float64{"too short": long[:10], "is NaN": gap} {
		_, err := Choose(series, 24, 12, HoltWinters{Season: 24})
		if err == nil || !strings.Contains(err.Error(), cause) {
			t.Errorf("%s: %v", cause, err)
		}
	}
}
