// Package special has functions of mathematics that package math lacks and that tests of
// significance and intervals need.
package special

import "math"

// IncompleteBeta returns the regularised incomplete beta function by its continued fraction
// (Abramowitz and Stegun 26.5.8), evaluated by Lentz's method.
func IncompleteBeta(a, b, x float64) float64 {
	if x <= 0 || x >= 1 {
		return math.Min(math.Max(x, 0), 1)
	}
	if x > (a+1)/(a+b+2) { // where the fraction converges slowly, use the symmetry
		return 1 - IncompleteBeta(b, a, 1-x)
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

// UpperGamma returns the regularised upper incomplete gamma function Q(a, x), by the series below
// a+1 and the continued fraction above (Abramowitz and Stegun, 6.5.29 and 6.5.31).
func UpperGamma(a, x float64) float64 {
	if x <= 0 {
		return 1
	}
	lg, _ := math.Lgamma(a)
	scale := math.Exp(a*math.Log(x) - x - lg)
	if x < a+1 {
		term := 1 / a
		sum := term
		for k := a + 1; math.Abs(term) > math.Abs(sum)*1e-16; k++ {
			term *= x / k
			sum += term
		}
		return 1 - sum*scale
	}
	// Lentz's method, from the top of the fraction.
	b := x + 1 - a
	c, d := math.Inf(1), 1/b
	h := d
	for k := 1.0; k < 1000; k++ {
		an := -k * (k - a)
		b += 2
		d = 1 / (an*d + b)
		c = b + an/c
		h *= d * c
		if math.Abs(d*c-1) < 1e-15 {
			break
		}
	}
	return scale * h
}

// Normal95 is the quantile of the normal distribution for 95 % intervals: 95 % of the values lie
// within that many standard deviations of the mean.
const Normal95 = 1.959963984540054

// Mean returns the arithmetic mean, which is NaN for no values.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Student95 returns the quantile of Student's t for 95 % intervals. Degrees of freedom need not be
// whole.
func Student95(freedom float64) float64 {
	low, high := Normal95, 1e3
	for range 60 {
		t := (low + high) / 2
		if IncompleteBeta(freedom/2, 0.5, freedom/(freedom+t*t)) > 0.05 {
			low = t
		} else {
			high = t
		}
	}
	return high
}

// Wilson returns Wilson's 95 % score interval of a share p that was seen in n samples. Rounding may
// put an end a little outside of 0 to 1.
func Wilson(p, n float64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	const z float64 = Normal95
	const z2 = z * z
	middle := (p + z2/(2*n)) / (1 + z2/n)
	half := z / (1 + z2/n) * math.Sqrt(p*(1-p)/n+z2/(4*n*n))
	return middle - half, middle + half
}

// Quantile returns a quantile of sorted values, by linear interpolation.
func Quantile(sorted []float64, share float64) float64 {
	at := share * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
