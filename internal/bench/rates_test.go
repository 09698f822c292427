package bench

import (
	"math"
	"testing"
)

// TestRateOf compares with Clopper and Pearson's limits from the tables of statistics books: for no
// hit the upper one is 1 - (1/40)^(1/n).
func TestRateOf(t *testing.T) {
	for _, c := range []struct {
		hits, trials int
		low, high    float64
	}{
		{0, 200, 0, 1 - math.Pow(0.025, 1.0/200)},
		{200, 200, math.Pow(0.025, 1.0/200), 1},
		{2, 200, 0.0012, 0.0357},
		{50, 100, 0.3983, 0.6017},
		{0, 0, 0, 1},
	} {
		r := RateOf(c.hits, c.trials)
		near(t, "low", r.Low, c.low, 1e-4)
		near(t, "high", r.High, c.high, 1e-4)
	}
}

// TestRatesAreOfThisRule checks that the rates that come with the program, if there are any, are
// those of its rule.
func TestRatesAreOfThisRule(t *testing.T) {
	r := Rates()
	if r == nil {
		t.Skip("the error rates were not measured under this rule yet: go run ./bench/figures --write aa power")
	}
	if r.FalseWins.Trials == 0 || r.Machine.Go == "" || r.Seconds <= 0 {
		t.Errorf("%+v", r)
	}
	if got := RateOf(r.FalseWins.Hits, r.FalseWins.Trials); math.Abs(got.High-r.FalseWins.High) > 1e-6 {
		t.Errorf("the interval of %+v is %+v", r.FalseWins, got)
	}
}
