package similarity

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// A Shape is the division of a function's time among parts, as this many samples show it.
type Shape struct {
	Parts   map[string]float64 // by name, in any unit
	Samples float64            // that stand behind it, of equal weight
}

// Total returns the sum of the parts.
func (s Shape) Total() float64 {
	sum := 0.0
	for _, v := range s.Parts {
		sum += v
	}
	return sum
}

const (
	draws   = 300 // pairs of profiles at each point of the line
	steps   = 24  // points of the line up to the seen difference
	beyond  = 2.5 // how far the line goes, in seen differences
	sureFor = 2.0 // standard errors from which on a part differs clearly
)

// Compare returns how alike two shapes are. Shapes without time or samples are unlike in nothing
// that could be seen: the interval is then 0 to 1.
func Compare(production, benchmark Shape) beagle.Similarity {
	p, q, names := shares(production, benchmark)
	out := beagle.Similarity{
		Samples: production.Samples, BenchSamples: benchmark.Samples, High: 1,
		Parts: parts(names, p, q, production.Samples, benchmark.Samples),
	}
	if len(p) == 0 || production.Samples < 1 || benchmark.Samples < 1 {
		return out
	}
	seen := distance(p, q)
	out.Plain = tidy(1 - seen)
	line := walk(p, q, production.Samples, benchmark.Samples)
	out.Noise = tidy(1 - line[0].mean)
	out.Chance = tidy(1 - line.distanceAt(line[0].high, func(a point) float64 { return a.mean }))
	out.Estimate = tidy(1 - line.distanceAt(seen, func(a point) float64 { return a.mean }))
	out.High = tidy(1 - line.distanceAt(seen, func(a point) float64 { return a.high }))
	// A distance below what chance makes is luck. It must not make the interval narrow.
	usual := max(seen, line[0].median)
	out.Low = tidy(1 - line.distanceAt(usual, func(a point) float64 { return a.low }))
	return out
}

// Worst returns the less alike of two comparisons of the same profiles.
func Worst(a, b beagle.Similarity) beagle.Similarity {
	if b.Estimate < a.Estimate || b.Estimate == a.Estimate && b.Low < a.Low {
		return b
	}
	return a
}

// shares lists both shapes over the same names, each with the sum 1.
func shares(a, b Shape) (p, q []float64, names []string) {
	for name := range a.Parts {
		names = append(names, name)
	}
	for name := range b.Parts {
		if _, ok := a.Parts[name]; !ok {
			names = append(names, name)
		}
	}
	inorder.Sort(names)
	ta, tb := a.Total(), b.Total()
	if !(ta > 0) || !(tb > 0) {
		return nil, nil, nil
	}
	for _, name := range names {
		p, q = append(p, a.Parts[name]/ta), append(q, b.Parts[name]/tb)
	}
	return p, q, names
}

// distance returns the total variation distance.
func distance(p, q []float64) float64 {
	sum := 0.0
	for i := range p {
		sum += math.Abs(p[i] - q[i])
	}
	return sum / 2
}

// A point of the line is a pair of true shapes, with the distances that profiles of them show.
type point struct {
	truth        float64 // their distance
	mean, median float64
	low, high    float64 // of 95 % of the pairs of profiles
}

type line []point

// walk draws profiles along the line from no difference to more than the seen one.
func walk(p, q []float64, n, m float64) line {
	r := rand.New(rand.NewPCG(1, 2))
	var out line
	both := make([]float64, len(p))
	for i := range p {
		both[i] = (n*p[i] + m*q[i]) / (n + m)
	}
	p, q = spread(both, p, q, chance(r, both, n, m))
	seen := make([]float64, draws)
	for k := 0; float64(k) <= beyond*steps; k++ {
		a, b := interpolate(both, p, float64(k)/steps), interpolate(both, q, float64(k)/steps)
		sum := 0.0
		for i := range seen {
			seen[i] = distance(draw(r, a, n), draw(r, b, m))
			sum += seen[i]
		}
		inorder.Sort(seen)
		at := point{
			truth: distance(a, b), mean: sum / draws, median: seen[draws/2],
			low: seen[draws/40], high: seen[draws-1-draws/40],
		}
		if k > 0 { // farther apart in truth is farther apart in the profiles; draws may not say so
			last := out[k-1]
			at.mean, at.low, at.high = max(at.mean, last.mean), max(at.low, last.low), max(at.high, last.high)
			at.truth = max(at.truth, last.truth)
		}
		out = append(out, at)
	}
	return out
}

// chance returns the distance that profiles of one shape show, the median.
func chance(r *rand.Rand, shape []float64, n, m float64) float64 {
	seen := make([]float64, draws/3)
	for i := range seen {
		seen[i] = distance(draw(r, shape, n), draw(r, shape, m))
	}
	inorder.Sort(seen)
	return seen[len(seen)/2]
}

// spread moves two shapes apart to at least the distance that chance makes. Profiles that look the
// same by luck would otherwise have a line that ends where it begins, and so an empty interval.
func spread(both, p, q []float64, least float64) (a, b []float64) {
	seen := distance(p, q)
	switch {
	case seen >= least:
		return p, q
	case seen > least/100:
		return interpolate(both, p, least/seen), interpolate(both, q, least/seen)
	}
	// Any direction will do: from the largest part to all others, by their size.
	top := slices.Index(both, slices.Max(both))
	a, b = slices.Clone(both), slices.Clone(both)
	rest := 1 - both[top]
	if rest <= 0 {
		return p, q // one part alone cannot differ
	}
	for i := range both {
		step := least / 2 * both[i] / rest
		if i == top {
			step = -least / 2
		}
		a[i], b[i] = max(0, both[i]+step), max(0, both[i]-step)
	}
	return a, b
}

// SamplesNeeded returns how many samples of production show a likeness, if the shapes are truly
// alike and the benchmark has as many samples. It is 0 if no profile of a sensible length does.
func SamplesNeeded(production, benchmark Shape, needed float64) float64 {
	p, q, _ := shares(production, benchmark)
	n, m := production.Samples, benchmark.Samples
	if len(p) == 0 || n < 1 || m < 1 {
		return 0
	}
	both := make([]float64, len(p))
	for i := range p {
		both[i] = (n*p[i] + m*q[i]) / (n + m)
	}
	shows := func(n float64) bool {
		l := walk(both, both, n, n)
		return 1-l.distanceAt(l[0].median, func(a point) float64 { return a.low }) >= needed
	}
	const most = 10_000_000
	n = 100
	for ; !shows(n); n *= 2 {
		if n > most {
			return 0
		}
	}
	low, high := n/2, n
	for range 2 { // halve the gap twice
		if middle := math.Sqrt(low * high); shows(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return math.Round(high)
}

// distanceAt returns the true distance at which a figure of the profiles reaches a value.
func (l line) distanceAt(value float64, figure func(point) float64) float64 {
	for k, at := range l {
		if figure(at) < value {
			continue
		}
		if k == 0 {
			return at.truth
		}
		before := l[k-1]
		step := figure(at) - figure(before)
		if step <= 0 {
			return at.truth
		}
		return before.truth + (at.truth-before.truth)*(value-figure(before))/step
	}
	return l[len(l)-1].truth
}

// interpolate returns the shape at c times the way from one shape to another.
func interpolate(from, to []float64, c float64) []float64 {
	out := make([]float64, len(from))
	sum := 0.0
	for i := range from {
		out[i] = max(0, from[i]+c*(to[i]-from[i]))
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// draw draws the shares that n samples of a shape show.
func draw(r *rand.Rand, p []float64, n float64) []float64 {
	out := make([]float64, len(p))
	sum := 0.0
	for i := range p {
		out[i] = poisson(r, n*p[i])
		sum += out[i]
	}
	if sum == 0 {
		return slices.Clone(p)
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// poisson draws a count. Large ones are normal to less than a count's error.
func poisson(r *rand.Rand, mean float64) float64 {
	if mean > 50 {
		return max(0, math.Round(mean+math.Sqrt(mean)*r.NormFloat64()))
	}
	limit, product := math.Exp(-mean), r.Float64()
	n := 0.0
	for product > limit {
		product *= r.Float64()
		n++
	}
	return n
}

// parts lists where the shapes differ, the largest difference first.
func parts(names []string, p, q []float64, n, m float64) []beagle.SimilarPart {
	out := []beagle.SimilarPart{}
	for i, name := range names {
		both := (n*p[i] + m*q[i]) / max(n+m, 1)
		se := math.Sqrt(both * (1 - both) * (1/max(n, 1) + 1/max(m, 1)))
		out = append(out, beagle.SimilarPart{
			Name: name, Production: tidy(p[i]), Benchmark: tidy(q[i]),
			Clear: math.Abs(p[i]-q[i]) > sureFor*se,
		})
	}
	inorder.By(out, func(a, b beagle.SimilarPart) int {
		return cmp.Compare(math.Abs(b.Production-b.Benchmark), math.Abs(a.Production-a.Benchmark))
	})
	return out
}

// tidy rounds to the precision of a share.
func tidy(v float64) float64 { return math.Round(v*1e5) / 1e5 }
