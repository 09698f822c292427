package bench

import (
	"math"
	"sync"

	"github.com/beagle-go/beagle/internal/special"
)

// normalQuantile returns the inverse of the standard normal distribution.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

var studentQuantiles sync.Map // of [2]float64 to float64

// studentQuantile returns the inverse of Student's distribution with df degrees of freedom, for p
// >= 1/2. It keeps results, since the same few arguments come again and again.
func studentQuantile(p float64, df float64) float64 {
	key := [2]float64{p, df}
	if q, ok := studentQuantiles.Load(key); ok {
		return q.(float64)
	}
	q := findStudentQuantile(p, df)
	studentQuantiles.Store(key, q)
	return q
}

// findStudentQuantile goes by bisection.
func findStudentQuantile(p float64, df float64) float64 {
	low, high := 0.0, 1.0
	for studentCDF(high, df) < p && high < 1e9 {
		high *= 2
	}
	for range 100 {
		if mid := (low + high) / 2; studentCDF(mid, df) < p {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// studentCDF returns Student's distribution at t >= 0.
func studentCDF(t, df float64) float64 {
	return 1 - special.IncompleteBeta(df/2, 0.5, df/(df+t*t))/2
}

// expectedMaximum returns the expected largest of n standard normal variables (Blom's
// approximation).
func expectedMaximum(n int) float64 {
	if n <= 1 {
		return 0
	}
	return normalQuantile((float64(n) - 0.375) / (float64(n) + 0.25))
}

// sidak returns the confidence that each of n intervals must have, so that all hold at once with
// the given confidence.
func sidak(confidence float64, n int) float64 {
	return math.Pow(confidence, 1/float64(max(n, 1)))
}
