package bench

import (
	"cmp"
	"math"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/special"
)

// A copyPair is the comparison of one copy of the original with one copy of a
// candidate in one linked binary.
type copyPair struct {
	copies [2]int // their numbers, each among those of its version
	align  [2]int // entry addresses of the two modulo 64
	est    Estimate
}

// A layoutResult is one layout's comparison with one candidate.
type layoutResult struct {
	seed        uint64
	align       [2]int
	est         Estimate         // mean over the alignments that were matched
	byAlignment map[int]Estimate // of the matched pairs, by entry address modulo 64
}

// stratify compares like with like: only copies that start at the same
// address modulo 64. ok is false when this layout has no such pair.
func stratify(seed uint64, pairs []copyPair) (r layoutResult, ok bool) {
	matched := map[int][]copyPair{}
	for _, p := range pairs {
		if p.align[0] == p.align[1] && !math.IsInf(p.est.SE, 0) {
			matched[p.align[0]] = append(matched[p.align[0]], p)
		}
	}
	if len(matched) == 0 {
		return r, false
	}
	r = layoutResult{seed: seed, byAlignment: map[int]Estimate{}}
	entries := inorder.Keys(matched)
	for _, entry := range entries {
		r.byAlignment[entry] = poolPairs(matched[entry])
	}
	r.est = r.pooled(entries)
	r.align = [2]int{entries[0], entries[0]}
	return r, true
}

// pooled returns the mean over some alignments.
func (r *layoutResult) pooled(entries []int) Estimate {
	es := make([]Estimate, len(entries))
	for i, entry := range entries {
		es[i] = r.byAlignment[entry]
	}
	e := mean(es)
	// No copy has two alignments, so these share no slices: their errors are independent.
	e.SE /= math.Sqrt(float64(len(es)))
	return e
}

// poolPairs returns the mean of pairs of copies of one alignment. A pair's error comes from the
// slices of both copies. Each copy has slices of its own, but is in several pairs: the error
// shrinks with the number of copies of either side, and not with that of pairs.
func poolPairs(pairs []copyPair) Estimate {
	es := make([]Estimate, len(pairs))
	var sides [2]map[int]bool
	for side := range sides {
		sides[side] = map[int]bool{}
	}
	for i, p := range pairs {
		es[i] = p.est
		for side, c := range p.copies {
			sides[side][c] = true
		}
	}
	e := mean(es)
	e.SE *= math.Sqrt((1/float64(len(sides[0])) + 1/float64(len(sides[1]))) / 2)
	return e
}

// mean returns the plain mean of estimates and of their errors.
func mean(es []Estimate) Estimate {
	var m Estimate
	n := float64(len(es))
	for _, e := range es {
		m.Log += e.Log / n
		m.SE += e.SE / n
		m.Clean += e.Clean / n
		m.Pairs += e.Pairs
	}
	return m
}

// A Combined is the joint result of several layouts, each one observation.
type Combined struct {
	Log        float64 // Hodges-Lehmann estimate of the log ratio
	Mean       float64 // plain mean
	SE         float64 // of the mean
	N          int
	Ratio      beagle.Ratio // with its 95 % interval
	logs       []float64    // of the layouts
	sliceError float64      // standard error that the slices alone would give
}

// Combine makes one figure of the estimates of independent layouts.
func Combine(es []Estimate) Combined {
	c := Combined{N: len(es)}
	if c.N == 0 {
		return Combined{SE: math.Inf(1), Ratio: unknownRatio()}
	}
	// Estimate on logarithms, where a ratio and its inverse are equally far from 1.
	logs, within := make([]float64, c.N), make([]float64, c.N)
	for i, e := range es {
		logs[i], within[i] = e.Log, e.SE
	}
	// The point is that of a rank test, which one odd layout can't move far.
	point, _, _, _ := signedRank(logs, 0.95)
	c.Log, c.Mean, c.logs = point, special.Mean(logs), logs
	// One layout gives a point, but no spread between layouts.
	if c.N == 1 {
		c.SE, c.Ratio = math.Inf(1), unknownRatio()
		c.Ratio.Point = math.Exp(point)
		return c
	}
	// The error of a few layouts is at least what lies within them, since a few happen to agree now
	// and then. More show all of it by their spread. The slices of disturbed layouts say nothing of
	// the others: the median is an estimate that they can't move far.
	c.sliceError = median(within) / math.Sqrt(float64(c.N))
	if c.SE = meanError(logs); c.N < tellingLayouts {
		c.SE = math.Max(c.SE, c.sliceError)
	}
	low, high := c.bounds(0.95)
	c.Ratio = beagle.Ratio{Point: math.Exp(point), Low: math.Exp(low), High: math.Exp(high)}
	return c
}

// mostMean returns the mean of the log ratios without the one that is farthest off.
func (c Combined) mostMean() float64 {
	if len(c.logs) == 0 {
		return c.Log
	}
	off := func(x float64) float64 { return math.Abs(x - c.Log) }
	far := slices.MaxFunc(c.logs, func(a, b float64) int { return cmp.Compare(off(a), off(b)) })
	return (special.Mean(c.logs)*float64(c.N) - far) / float64(max(c.N-1, 1))
}

// tellingLayouts is the number of layouts from which on their spread tells the error: the
// signed-rank test has 95 % bounds then. The slices' own error is in the spread, and slices with
// heavy tails claim two or three times as much as they have.
const tellingLayouts = 6

// bounds returns the bounds of the log ratio: of the signed-rank test, or Student's if there are
// too few layouts for it. One layout that was disturbed widens Student's beyond use. The bounds of
// a few layouts never claim less error than the slices themselves had.
func (c Combined) bounds(confidence float64) (low, high float64) {
	_, low, high, ok := signedRank(c.logs, confidence)
	if !ok {
		half := studentQuantile((1+confidence)/2, float64(c.N-1)) * c.SE
		return math.Min(c.Mean, c.Log) - half, math.Max(c.Mean, c.Log) + half
	}
	if c.N >= tellingLayouts {
		return low, high
	}
	half := normalQuantile((1+confidence)/2) * c.sliceError
	return math.Min(low, c.Log-half), math.Max(high, c.Log+half)
}

// unknownRatio returns the ratio of an unmeasured version. It is finite, because JSON is.
func unknownRatio() beagle.Ratio { return beagle.Ratio{Point: 1, Low: 0, High: math.MaxFloat64} }

// Correct returns the ratio after the winner's-curse correction. finalists were compared on this
// sample, and the best of them is quoted. If all were equally good, its point would be too high by
// the expected maximum of their errors, which Correct takes off (never past no difference). tried
// candidates competed: the interval holds for all of them at once, and at every look at the
// finalists.
func (c Combined) Correct(finalists, tried int) beagle.Ratio {
	if math.IsInf(c.SE, 1) {
		return c.Ratio
	}
	bias := expectedMaximum(finalists) * c.SE
	log := c.Log
	if log > 0 {
		log = math.Max(0, log-bias)
	}
	low, high := c.bounds(simultaneous(finalists, tried))
	return beagle.Ratio{
		Point: math.Exp(log),
		Low:   math.Exp(math.Min(low, log)),
		High:  math.Min(math.Exp(math.Max(high, log)), math.MaxFloat64),
	}
}

// simultaneous returns the confidence of an interval that holds for all that was tried, and for the
// finalists at every look. A measurement ends at the look whose interval is narrow and far from 1,
// so the one that is quoted was chosen among those of all looks.
func simultaneous(finalists, tried int) float64 {
	return sidak(0.95, max(tried, len(looks)*max(finalists, 1)))
}

// among returns the ratio with an interval that holds for n such ratios at once.
func (c Combined) among(n int) beagle.Ratio {
	low, high := c.bounds(sidak(0.95, n))
	return beagle.Ratio{Point: c.Ratio.Point, Low: math.Exp(low), High: math.Min(math.Exp(high), math.MaxFloat64)}
}

// caseFrom combines the layouts, over all and by alignment.
func caseFrom(results []layoutResult) *Case {
	e := &Case{}
	var all []Estimate
	var byHalf [2][]Estimate
	// Each layout counts once, as a whole and in each half of a cache line in which it has pairs.
	for _, r := range results {
		all = append(all, r.est)
		e.Layouts = append(e.Layouts, beagle.Layout{Seed: r.seed, Align: r.align, Ratio: r.est.Ratio()})
		var halves [2][]int
		// Maps have no order: go through the alignments by their addresses.
		for _, entry := range inorder.Keys(r.byAlignment) {
			halves[entry/32] = append(halves[entry/32], entry)
		}
		for h, entries := range halves {
			if len(entries) > 0 {
				byHalf[h] = append(byHalf[h], r.pooled(entries))
			}
		}
	}
	e.Train = Combine(all)
	e.Halves = [2]Combined{Combine(byHalf[0]), Combine(byHalf[1])}
	return e
}
