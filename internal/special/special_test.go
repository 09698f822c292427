package special

import (
	"math"
	"testing"
)

// TestKnownValues holds the functions to closed forms.
func TestKnownValues(t *testing.T) {
	near := func(name string, got, want float64) {
		if math.Abs(got-want) > 1e-13 {
			t.Errorf("%s: %.17g, want %.17g", name, got, want)
		}
	}
	for _, x := range []float64{0.01, 0.3, 0.5, 0.9, 0.999} {
		near("I(1, 1)", IncompleteBeta(1, 1, x), x)
		near("I(3, 1)", IncompleteBeta(3, 1, x), x*x*x)
		near("I(1/2, 1/2)", IncompleteBeta(0.5, 0.5, x), 2/math.Pi*math.Asin(math.Sqrt(x)))
	}
	for _, x := range []float64{0.01, 0.5, 1, 3, 20, 80} {
		near("Q(1)", UpperGamma(1, x), math.Exp(-x))
		near("Q(2)", UpperGamma(2, x), math.Exp(-x)*(1+x))
		near("Q(1/2)", UpperGamma(0.5, x), math.Erfc(math.Sqrt(x)))
	}
	for freedom, want := range map[float64]float64{1: 12.706204736, 4: 2.776445105, 59: 2.000995378, 1e9: Normal95} {
		if got := Student95(freedom); math.Abs(got-want) > 1e-6 {
			t.Errorf("Student's t with %g degrees of freedom: %.9f, want %.9f", freedom, got, want)
		}
	}
	near("I at 0", IncompleteBeta(2, 3, 0), 0)
	near("I at 1", IncompleteBeta(2, 3, 1), 1)
	near("Q at 0", UpperGamma(2, 0), 1)
	near("quartile", Quantile([]float64{1, 2, 4}, 0.25), 1.5)
	near("mean", Mean([]float64{1, 2, 6}), 3)
	near("maximum", Quantile([]float64{1, 2, 4}, 1), 4)
}
