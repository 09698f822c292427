package bench

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/special"
)

const (
	// SiftLayouts are the link layouts of a sifting. One alone moves the same code by up to 40 %,
	// and all candidates of a screening share it.
	SiftLayouts = 6
	// siftCopies of each version are in a binary. Two start at different addresses often enough for
	// most layouts to hold a pair that starts alike.
	siftCopies = 2
	// fewLayouts must do where the function is so slow that more would take too long.
	fewLayouts = 3
	// sharp is the half width of an interval, in logarithms, that asks for no further round of
	// layouts: that of twice the least gain of a step that is worth reading.
	sharp = 0.02
)

// A Sifting says how fast candidates are over a few link layouts, or how good by another score. The
// low end is 0 where nothing is known.
type Sifting struct {
	Ratios []beagle.Ratio `json:"ratios"` // of each candidate, to the original
	Over   []beagle.Ratio `json:"over"`   // of each pair, the first to the second, layout by layout
}

// Sift compares candidates over link layouts, in less time than [Confirm] and without its rule of
// decision: it says which of them are worth a full measurement. pairs are of candidates.
func Sift(
	ctx context.Context, e *Env, u *source.Unit, cs []beagle.Candidate, pairs [][2]int, c *beagle.Corpus, o Options,
) (*Sifting, error) {
	l := &realRig{env: e, u: u, n: siftCopies, files: map[string]string{}, pgo: o.PGO}
	l.copies("original", u.Target.Source)
	for _, x := range cs {
		l.copies(x.ID, x.Source)
	}
	defer l.close()
	if err := l.add("train", timed(c)); err != nil {
		return nil, err
	}
	m := newSifter(l, len(cs), "train", o)
	m.mutates, m.panics = len(c.Facets.Mutates) > 0, c.Facets.Panics > 0
	return m.sift(ctx, pairs)
}

// SiftIn does what [Sift] does in a place.
func SiftIn(
	ctx context.Context, p Place, u *source.Unit, cs []beagle.Candidate, pairs [][2]int, o Options,
) (*Sifting, error) {
	l := &placeRig{place: p, u: u, n: siftCopies}
	l.copies("original", u.Target.Source)
	for _, x := range cs {
		l.copies(x.ID, x.Source)
	}
	defer l.close()
	m := newSifter(l, len(cs), "benchmarks", o)
	m.inPlace = true
	return m.sift(ctx, pairs)
}

// SiftTime returns the time that a sifting of this many candidates takes.
func SiftTime(candidates int) time.Duration {
	const each = 20 * time.Millisecond // of a copy in a layout
	return each * SiftLayouts * siftCopies * time.Duration(candidates+1)
}

// newSifter prepares a sifting of n candidates on one set of inputs.
func newSifter(l rig, n int, inputs string, o Options) *confirmer {
	m := newConfirmer(l, n, o.defaults())
	m.copies = siftCopies
	for i, t := range m.finalists {
		t.copies = numbersFrom((i+1)*siftCopies, siftCopies)
	}
	m.sets = []set{{inputs, 1, func(t *finalist) *[]layoutResult { return &t.train }}}
	return m
}

// sift times all candidates in each layout.
func (m *confirmer) sift(ctx context.Context, pairs [][2]int) (*Sifting, error) {
	// All layouts link the same objects, so one build serves for all.
	first, failed, err := m.rig.build(ctx, m.options.PGO, m.layoutSeed())
	if err != nil {
		return nil, err
	}
	for i, why := range failed {
		m.finalists[i].fail = "it does not compile in a batch: " + why
	}
	more, err := m.relink(ctx, first, SiftLayouts-1)
	if err != nil {
		return nil, err
	}
	// Go round the layouts until the candidates can be told apart, or the rounds or the time are
	// over. A few layouts are always measured.
	for images, round := append([]image{first}, more...), 1; ; round++ {
		for k, im := range images {
			if k >= fewLayouts && m.timeBudget.spent > time.Duration(2*round)*m.options.Budget {
				return m.sifting(pairs), nil
			}
			if err := m.siftIn(ctx, im); err != nil {
				return nil, err
			}
			m.rig.discard(im)
		}
		// End when the typical interval of the undecided is narrow enough.
		out := m.sifting(pairs)
		if round >= m.options.Rounds || m.options.Brief || typicalWidth(m.undecided(out.Over, pairs)) <= sharp {
			return out, nil
		}
		if images, err = m.relink(ctx, first, SiftLayouts); err != nil {
			return nil, err
		}
	}
}

// undecided returns the ratios of the pairs whose faster candidate is not shown. Only these are
// timed on.
func (m *confirmer) undecided(over []beagle.Ratio, pairs [][2]int) (out []beagle.Ratio) {
	for _, t := range m.live() {
		t.knowledge = knowledgeFaster
	}
	for k, r := range over {
		a, b := m.finalists[pairs[k][0]], m.finalists[pairs[k][1]]
		if a.fail == "" && b.fail == "" && r.Low <= 1 && 1 <= r.High {
			out = append(out, r)
			a.knowledge, b.knowledge = knowledgeOpen, knowledgeOpen
		}
	}
	return out
}

// typicalWidth returns the median half width of intervals, in logarithms; 0 of none.
func typicalWidth(rs []beagle.Ratio) float64 {
	if len(rs) == 0 {
		return 0
	}
	widths := make([]float64, len(rs))
	for i, r := range rs {
		widths[i] = math.Log(r.High/max(r.Low, math.SmallestNonzeroFloat64)) / 2
	}
	return median(widths)
}

// siftIn times the candidates in one layout.
func (m *confirmer) siftIn(ctx context.Context, im image) error {
	variants := m.cast(im, m.withKnowledge(knowledgeOpen))
	if len(variants) == 0 {
		return nil
	}
	q := m.request(variants, m.sets, SiftLayouts)
	reply, err := m.joint(ctx, im, q)
	if err != nil || reply == nil {
		return err
	}
	m.collectBy(m.options.Score, im, q, &reply.Sets[0], m.withKnowledge(knowledgeOpen), m.sets[0].into)
	m.slow = m.slow || len(reply.Sets[0].Window) < enoughPairs
	return nil
}

// sifting sums up the layouts. It has no ratio for a candidate that could not be timed, even if
// that died in the last layout only.
func (m *confirmer) sifting(pairs [][2]int) *Sifting {
	out := &Sifting{}
	for _, t := range m.finalists {
		if t.fail != "" {
			t.train = nil
		}
		out.Ratios = append(out.Ratios, caseFrom(t.train).Train.Ratio)
	}
	for _, p := range pairs {
		out.Over = append(out.Over, layoutRatio(m.finalists[p[0]].train, m.finalists[p[1]].train))
	}
	return out
}

// PairedRatio compares two finalists of one measurement in the layouts that have both.
func PairedRatio(a, b *beagle.Measurement) beagle.Ratio {
	results := func(m *beagle.Measurement) (out []layoutResult) {
		for _, l := range m.Layouts {
			e := Estimate{Log: math.Log(l.Ratio.Point), SE: math.Log(l.Ratio.High/l.Ratio.Low) / (2 * special.Normal95)}
			out = append(out, layoutResult{seed: l.Seed, est: e})
		}
		return out
	}
	return layoutRatio(results(a), results(b))
}

// layoutRatio compares two candidates in the layouts that have both. The effect of a layout on the
// original then cancels out.
func layoutRatio(a, b []layoutResult) beagle.Ratio {
	var es []Estimate
	for _, x := range a {
		i := slices.IndexFunc(b, func(y layoutResult) bool { return y.seed == x.seed })
		if i >= 0 {
			es = append(es, Estimate{Log: x.est.Log - b[i].est.Log, SE: max(x.est.SE, b[i].est.SE)})
		}
	}
	return Combine(es).Ratio
}
