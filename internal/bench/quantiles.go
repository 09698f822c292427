package bench

import (
	"math"
	"sync"
)

// normalQuantile is the inverse of the standard normal distribution.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

var studentQuantiles sync.Map // of [2]float64 to float64

// studentQuantile is the inverse of Student's distribution with df degrees of
// freedom, for p >= 1/2. The same few are asked for again and again.
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

// studentCDF is Student's distribution at t >= 0.
func studentCDF(t, df float64) float64 {
	return 1 - incompleteBeta(df/2, 0.5, df/(df+t*t))/2
}

// incompleteBeta is the regularised incomplete beta function by its continued
// fraction (Abramowitz and Stegun 26.5.8), evaluated by Lentz's method.
func incompleteBeta(a, b, x float64) float64 {
	if x <= 0 || x >= 1 {
		return math.Min(math.Max(x, 0), 1)
	}
	if x > (a+1)/(a+b+2) { // where the fraction converges slowly, use the symmetry
		return 1 - incompleteBeta(b, a, 1-x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a
	const tiny = 1e-300
	f, c, d := 1.0, 1.0, 0.0
	for i := range 500 {
		m := float64(i / 2)
		var step float64
		switch {
		case i == 0:
			step = 1
		case i%2 == 0:
			step = m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		default:
			step = -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		}
		d = 1 / nonZero(1+step*d, tiny)
		c = nonZero(1+step/c, tiny)
		f *= c * d
		if math.Abs(1-c*d) < 1e-14 {
			break
		}
	}
	return front * (f - 1)
}

func nonZero(x, tiny float64) float64 {
	if math.Abs(x) < tiny {
		return tiny
	}
	return x
}

// expectedMaximum is the expected largest of n standard normal variables
// (Blom's approximation).
func expectedMaximum(n int) float64 {
	if n <= 1 {
		return 0
	}
	return normalQuantile((float64(n) - 0.375) / (float64(n) + 0.25))
}

// sidak is the confidence that each of n intervals must have, so that all
// hold at once with the given confidence.
func sidak(confidence float64, n int) float64 {
	return math.Pow(confidence, 1/float64(max(n, 1)))
}
