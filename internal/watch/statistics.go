package watch

import (
	"math"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/special"
)

// An Interval is an estimate with its 95 % interval.
type Interval struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// proportionChange returns the interval of b/m - a/n, where a of n and b of m
// samples hit. It is Newcombe's hybrid score interval (Interval estimation for
// the difference between independent proportions, Statistics in Medicine 17,
// 1998, method 10), which holds for few hits too.
func proportionChange(a, n, b, m float64) Interval {
	p, lowP, highP := wilson(a, n)
	q, lowQ, highQ := wilson(b, m)
	d := q - p
	return Interval{d, d - math.Hypot(q-lowQ, highP-p), d + math.Hypot(highQ-q, p-lowP)}
}

// wilson returns the 95 % interval of the share of n samples that hit.
func wilson(hits, n float64) (p, low, high float64) {
	if n > 0 {
		p = hits / n
	}
	low, high = special.Wilson(p, n)
	return p, low, high
}

// proportionP returns the two-sided p-value of equal shares, by the pooled z-test.
func proportionP(a, n, b, m float64) float64 {
	if n <= 0 || m <= 0 {
		return 1
	}
	pooled := (a + b) / (n + m)
	variance := pooled * (1 - pooled) * (1/n + 1/m)
	if variance <= 0 {
		return 1
	}
	return math.Erfc(math.Abs(b/m-a/n) / math.Sqrt(2*variance))
}

// falseDiscoveryRates returns the q-values of p-values (Benjamini and Hochberg,
// Controlling the false discovery rate, JRSS B 57, 1995): of all tests with a
// q-value up to x, a share of about x at most is false.
func falseDiscoveryRates(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	inorder.By(order, func(i, j int) int {
		switch {
		case p[i] < p[j]:
			return -1
		case p[i] > p[j]:
			return 1
		}
		return i - j
	})
	q := make([]float64, len(p))
	least := 1.0
	for rank := len(order) - 1; rank >= 0; rank-- {
		least = min(least, p[order[rank]]*float64(len(p))/float64(rank+1))
		q[order[rank]] = least
	}
	return q
}

// Drift returns how far counts are from expected ones: the population stability index with its 95 %
// interval by the delta method, and the p-value of Pearson's chi-square test. The index is about
// 0.1 for a small and 0.25 for a large drift. A bucket that is empty on one side counts as half a
// case.
func Drift(want, got []float64) (psi Interval, p float64) {
	sumWant, sumGot := sum(want), sum(got)
	if sumWant == 0 || sumGot == 0 || len(want) != len(got) {
		return Interval{}, 1
	}
	statistic, buckets := 0.0, 0
	var ofWant, ofGot slope
	for i := range want {
		if want[i] == 0 && got[i] == 0 {
			continue
		}
		buckets++
		e, o := max(want[i], 0.5)/sumWant, max(got[i], 0.5)/sumGot
		psi.Estimate += (o - e) * math.Log(o/e)
		ofGot.add(o, math.Log(o/e)+1-e/o)
		ofWant.add(e, -math.Log(o/e)+1-o/e)
		expected := e * sumGot
		statistic += (got[i] - expected) * (got[i] - expected) / expected
	}
	half := special.Normal95 * math.Sqrt(ofGot.variance()/sumGot+ofWant.variance()/sumWant)
	psi.Low, psi.High = max(0, psi.Estimate-half), psi.Estimate+half
	if buckets < 2 {
		return psi, 1
	}
	return psi, special.UpperGamma(float64(buckets-1)/2, statistic/2)
}

// A slope sums up a function's derivatives by the shares of a multinomial law.
type slope struct{ mean, square float64 }

func (s *slope) add(share, derivative float64) {
	s.mean += share * derivative
	s.square += share * derivative * derivative
}

func (s slope) variance() float64 { return max(0, s.square-s.mean*s.mean) }

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}
