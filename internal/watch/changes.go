package watch

import (
	"math"
	"slices"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/special"
)

// A ChangePoint is an index at which a series begins to have another mean.
type ChangePoint struct {
	Index  int     `json:"index"` // of the first value after the change
	P      float64 `json:"p"`     // of Student's t-test on both sides
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}

// Options are the parameters of the search for change points. Its zero value has no meaning: see
// [DefaultOptions].
type Options struct {
	Window    int     `json:"window"`     // values that are looked at together
	P         float64 `json:"p"`          // largest p-value of a change
	LeastStep float64 `json:"least_step"` // least relative change
}

// DefaultOptions are those of Hunter with its window of 50.
var DefaultOptions = Options{Window: 50, P: 0.001}

// ChangePoints returns the changes in the mean of a series. It is E-divisive (Matteson and James, A
// nonparametric approach for multiple change point analysis of multivariate data, arXiv 1306.4933).
// Student's t-test takes the place of permutations, so the result is deterministic. As in Hunter
// (Fleming et al., Hunter: using change point detection to hunt for performance regressions, doi
// 10.1145/3578244.3583719), a first pass splits windows at a weak level of significance, and a
// second one merges the weakest points away.
func ChangePoints(series []float64, o Options) []ChangePoint {
	return merge(series, firstPass(series, o), o)
}

// firstPass returns the points of the first pass.
func firstPass(series []float64, o Options) []ChangePoint {
	weak := o.P
	switch {
	case o.P < 0.05:
		weak = 10 * o.P
	case o.P < 0.5:
		weak = 2 * o.P
	}
	var at []int
	for start := 0; start < len(series); {
		end := min(start+o.Window, len(series))
		found := divide(series[start:end], weak)
		last := 0
		for _, i := range found {
			last = start + i
			if !slices.Contains(at, last) {
				at = append(at, last)
			}
		}
		start = max(last, start+o.Window/2)
	}
	inorder.Sort(at)
	points := make([]ChangePoint, len(at))
	for i := range at {
		points[i] = compareSides(series, at, i)
	}
	return points
}

// compareSides compares the pieces on both sides of the point number i.
func compareSides(series []float64, at []int, i int) ChangePoint {
	from, _ := bounds(at, i, len(series))
	_, to := bounds(at, i+1, len(series))
	c := compareMeans(series[from:at[i]], series[at[i]:to])
	c.Index = at[i]
	return c
}

// divide splits a window at its best points for as long as those are
// significant, and returns them in order.
func divide(z []float64, level float64) []int {
	var cuts []int
	for {
		best, at, from, to := math.Inf(-1), -1, 0, 0
		for i := range len(cuts) + 1 {
			a, b := bounds(cuts, i, len(z))
			if b-a < 2 {
				continue
			}
			if tau, q := bestCut(z[a:b]); q > best {
				best, at, from, to = q, a+tau, a, b
			}
		}
		if at < 0 || compareMeans(z[from:at], z[at:to]).P > level {
			return cuts
		}
		cuts = append(cuts, at)
		inorder.Sort(cuts)
	}
}

// bounds returns the piece number i between cuts.
func bounds(cuts []int, i, n int) (from, to int) {
	to = n
	if i > 0 {
		from = cuts[i-1]
	}
	if i < len(cuts) {
		to = cuts[i]
	}
	return from, to
}

// bestCut returns the tau that maximises, over all kappa, the energy distance
// between z[:tau] and z[tau:kappa], and that distance.
func bestCut(z []float64) (tau int, q float64) {
	n := len(z)
	// above[i][k] is the sum of |z[t]-z[k]| over t < i.
	above := make([][]float64, n+1)
	above[0] = make([]float64, n)
	for i := range n {
		above[i+1] = make([]float64, n)
		for k := range n {
			above[i+1][k] = above[i][k] + math.Abs(z[i]-z[k])
		}
	}
	tau, q = 1, math.Inf(-1)
	left := 0.0 // sum of distances within z[:t]
	for t := 1; t < n; t++ {
		left += above[t-1][t-1]
		between, right := 0.0, 0.0
		for k := t; k < n; k++ { // kappa is k+1
			between += above[t][k]
			right += above[k][k] - above[t][k]
			if e := energy(float64(t), float64(k+1-t), between, left, right); e > q {
				tau, q = t, e
			}
		}
	}
	return tau, q
}

// energy returns the empirical divergence of two samples of sizes n and m from the sums of
// distances between and within them.
func energy(n, m, between, left, right float64) float64 {
	e := 2 / (n + m) * between
	if n > 1 {
		e -= 2 * m / ((n + m) * (n - 1)) * left
	}
	if m > 1 {
		e -= 2 * n / ((n + m) * (m - 1)) * right
	}
	return e
}

// merge drops the weakest point, by significance and then by size, until all
// that are left hold.
func merge(series []float64, points []ChangePoint, o Options) []ChangePoint {
	at := make([]int, len(points))
	for i, c := range points {
		at[i] = c.Index
	}
	test := func(i int) {
		if i >= 0 && i < len(at) {
			points[i] = compareSides(series, at, i)
		}
	}
	for len(at) > 0 {
		// Take the point that chance explains best.
		weakest := 0
		for i := range points {
			if points[i].P > points[weakest].P {
				weakest = i
			}
		}
		// If chance explains none, take the smallest step, and end if it is large enough.
		if points[weakest].P < o.P {
			for i := range points {
				if points[i].step() < points[weakest].step() || i == 0 {
					weakest = i
				}
			}
			if points[weakest].step() > o.LeastStep {
				break
			}
		}
		// Drop it, and test its neighbours again: their series are longer now.
		at = slices.Delete(at, weakest, weakest+1)
		points = slices.Delete(points, weakest, weakest+1)
		test(weakest - 1)
		test(weakest)
	}
	return points
}

// step returns the size of a change, relative to the smaller side.
func (c ChangePoint) step() float64 {
	one, two := 0.0, 0.0
	if c.Before != 0 {
		one = math.Abs(c.After/c.Before - 1)
	}
	if c.After != 0 {
		two = math.Abs(c.Before/c.After - 1)
	}
	return max(one, two)
}

// compareMeans returns Student's t-test with equal variances. As in Hunter, the spread of each side
// is that of the values themselves, without Bessel's correction.
func compareMeans(a, b []float64) ChangePoint {
	ma, va := spread(a)
	mb, vb := spread(b)
	c := ChangePoint{P: 1, Before: ma, After: mb}
	na, nb := float64(len(a)), float64(len(b))
	freedom := na + nb - 2
	if freedom <= 0 {
		return c
	}
	pooled := ((na-1)*va + (nb-1)*vb) / freedom
	if pooled == 0 {
		if ma != mb {
			c.P = 0
		}
		return c
	}
	t := (ma - mb) / math.Sqrt(pooled*(1/na+1/nb))
	c.P = special.IncompleteBeta(freedom/2, 0.5, freedom/(freedom+t*t))
	return c
}

func spread(z []float64) (mean, variance float64) {
	for _, v := range z {
		mean += v / float64(len(z))
	}
	for _, v := range z {
		variance += (v - mean) * (v - mean) / float64(len(z))
	}
	return mean, variance
}
