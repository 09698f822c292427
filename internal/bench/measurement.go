package bench

import (
	"fmt"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/special"
)

// measurement sums up a finalist.
func (m *confirmer) measurement(t *finalist, i int) beagle.Measurement {
	out := beagle.Measurement{
		Tried:   max(m.tried, len(m.finalists)),
		Why:     t.fail,
		Seconds: m.timeBudget.spent.Seconds(),
		MinGain: m.options.MinGain,
	}
	// A candidate that failed has no figures.
	if t.fail != "" {
		out.Train, out.Corrected = unknownRatio(), unknownRatio()
		return out
	}
	// Sum up the evidence: every figure that the report shows.
	e := m.caseOf(t, i)
	out.Train, out.Layouts = e.Train.Ratio, e.Layouts
	out.Holdout, out.Fresh = ratioOf(e.Holdout), ratioOf(e.Fresh)
	out.Apart, out.PGO, out.Cold = ratioOf(e.Apart), ratioOf(e.PGO), ratioOf(e.Cold)
	out.Notes = m.notes()
	out.Control = ratioOf(&e.Control)
	out.Baseline, out.Best = e.Baseline, e.Best
	// The interval of the best is corrected for the number of finalists and of candidates.
	out.Corrected = e.Train.Correct(len(m.finalists), m.tried)
	if m.held < minHoldout {
		e.Holdout = nil // too few inputs to decide anything; the figure is still shown
	}
	m.score(&out, e)
	return out
}

// notes list what the inputs of the timing lack.
func (m *confirmer) notes() (out []string) {
	if m.skipped > 0 {
		out = append(out, fmt.Sprintf("%d recorded calls on which the original panics are not timed", m.skipped))
	}
	if m.untimed["holdout"] {
		out = append(out, "held-out calls are not timed: the original panics on all of them")
	}
	if m.untimed["fresh"] {
		out = append(out, "calls drawn anew are not timed: the original panics on all of them")
	}
	if m.options.FreshGaps != "" {
		out = append(out, m.options.FreshGaps)
	}
	return out
}

// caseOf collects all that was measured of a finalist, for the decision.
func (m *confirmer) caseOf(t *finalist, i int) *Case {
	e := caseFrom(t.train)
	e.Possible, e.Found, e.MinGain = t.halves, t.knowledge == knowledgeFaster, m.options.MinGain
	// A candidate that was given up for lack of time says what was planned.
	if t.knowledge == knowledgeRested || m.timeBudget.hurried && t.knowledge == knowledgeOpen {
		e.Planned, e.Longer = planned, m.timeBudget.longer()
	}
	e.Control = caseFrom(m.control).Train
	e.Holdout, e.Fresh = combined(t.holdout), combined(t.fresh)
	e.PGO, e.Cold = combined(t.pgo), combined(t.cold)
	// With a profile given, all layouts were built with it.
	if m.options.PGO != "" && e.Found {
		e.PGO = &e.Train
	}
	// Processes apart are evidence only where they met.
	if len(t.apartEstimates) > 0 {
		c := Combine(t.apartEstimates)
		e.Apart = &c
	}
	e.Baseline, e.Best = typical(t.baseline), typical(t.best)
	e.SameCode = m.hasOriginalCode(t)
	e.Score = m.options.Score
	return e
}

func combined(results []layoutResult) *Combined {
	if len(results) == 0 {
		return nil
	}
	return &caseFrom(results).Train
}

func ratioOf(c *Combined) *beagle.Ratio {
	if c == nil || c.N == 0 {
		return nil
	}
	return &c.Ratio
}

// typical returns the median over layouts of each resource.
func typical(rs []beagle.Resources) beagle.Resources {
	of := func(get func(beagle.Resources) float64) float64 {
		var x []float64
		for _, r := range rs {
			x = append(x, get(r))
		}
		slices.Sort(x)
		return special.Quantile(x, 0.5)
	}
	if len(rs) == 0 {
		return beagle.Resources{}
	}
	return beagle.Resources{
		Nanos:  of(func(r beagle.Resources) float64 { return r.Nanos }),
		Allocs: of(func(r beagle.Resources) float64 { return r.Allocs }),
		Bytes:  of(func(r beagle.Resources) float64 { return r.Bytes }),
		GC:     of(func(r beagle.Resources) float64 { return r.GC }),
	}
}
