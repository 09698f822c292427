package bench

import (
	"math"
	"slices"
	"sync"

	"github.com/beagle-go/beagle/internal/special"
)

// median of x, which it sorts.
func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// medianError returns Price and Bonett's standard error of the median of sorted x: the distance of
// two order statistics about sqrt(n) from the middle, over the normal quantile that belongs to
// their binomial coverage. NaN below 2 values.
func medianError(x []float64) float64 {
	n := len(x)
	if n < 2 {
		return math.NaN()
	}
	a := max(1, int(math.Round(float64(n+1)/2-math.Sqrt(float64(n)))))
	tail := 0.0
	for i := range a {
		tail += binomialHalf(n, i)
	}
	return (x[n-a] - x[a-1]) / (2 * normalQuantile(1-tail))
}

// binomialHalf returns the probability of k heads in n tosses.
func binomialHalf(n, k int) float64 {
	ln, _ := math.Lgamma(float64(n + 1))
	lk, _ := math.Lgamma(float64(k + 1))
	lr, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(ln - lk - lr - float64(n)*math.Ln2)
}

// meanError returns the standard error of the mean; NaN below 2 values.
func meanError(x []float64) float64 {
	m, ss := special.Mean(x), 0.0
	for _, v := range x {
		ss += (v - m) * (v - m)
	}
	n := float64(len(x))
	return math.Sqrt(ss / (n - 1) / n)
}

// walsh returns the sorted means of all pairs of x, each value with itself
// included.
func walsh(x []float64) []float64 {
	w := make([]float64, 0, len(x)*(len(x)+1)/2)
	for i := range x {
		for j := i; j < len(x); j++ {
			w = append(w, (x[i]+x[j])/2)
		}
	}
	slices.Sort(w)
	return w
}

// signedRank inverts Wilcoxon's signed-rank test: the Hodges-Lehmann estimate
// of the centre of x and an interval of at least the wanted confidence. ok is
// false when there are too few values for it, below 6 for 95 %.
func signedRank(x []float64, confidence float64) (point, low, high float64, ok bool) {
	w := walsh(x)
	point = median(slices.Clone(w))
	k := signedRankCritical(len(x), (1-confidence)/2)
	if k == 0 {
		return point, math.Inf(-1), math.Inf(1), false
	}
	return point, w[k-1], w[len(w)-k], true
}

// signedRankCritical returns the largest k with P(T < k) <= alpha for the signed-rank statistic T
// of n values under the null hypothesis, from its exact distribution.
func signedRankCritical(n int, alpha float64) int {
	sum := 0.0
	for k, q := range signedRanks(n) {
		if sum += q; sum > alpha {
			return k
		}
	}
	return 0
}

var signedRankTables sync.Map // of n to []float64

// signedRanks returns the distribution of T: each of the ranks 1 to n is in or out with probability
// 1/2.
func signedRanks(n int) []float64 {
	if p, ok := signedRankTables.Load(n); ok {
		return p.([]float64)
	}
	p := []float64{1}
	for r := 1; r <= n; r++ {
		next := make([]float64, len(p)+r)
		for i, q := range p {
			next[i] += q / 2
			next[i+r] += q / 2
		}
		p = next
	}
	signedRankTables.Store(n, p)
	return p
}
