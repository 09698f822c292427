package bench

import (
	_ "embed"
	"encoding/json"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/special"
)

//go:embed rates.json
var measuredRates []byte

// Rates returns this judge's error rates as they were measured when it was made, by `go run
// ./bench/figures --write aa power`. nil stands for none: never measured, or under another rule.
func Rates() *beagle.ErrorRates {
	r := new(beagle.ErrorRates)
	if err := json.Unmarshal(measuredRates, r); err != nil || r.Rule != Rule {
		return nil
	}
	return r
}

// RateOf returns a rate with its exact interval (Clopper and Pearson, Biometrika 26, 1934): the
// probabilities under which hits as few or as many have a chance of 1 in 40.
func RateOf(hits, trials int) beagle.Rate {
	r := beagle.Rate{Hits: hits, Trials: trials, High: 1}
	k, n := float64(hits), float64(trials)
	if hits > 0 {
		r.Low = betaQuantile(0.025, k, n-k+1)
	}
	if hits < trials {
		r.High = betaQuantile(0.975, k+1, n-k)
	}
	return r
}

// betaQuantile returns the inverse of the regularised incomplete beta function, by bisection.
func betaQuantile(p, a, b float64) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		if mid := (low + high) / 2; special.IncompleteBeta(a, b, mid) < p {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}
