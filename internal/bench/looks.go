package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// looks holds the risk of a false win at each look. A measurement looks at its
// result now and then and ends as soon as the answer is clear: most candidates
// are either much faster or not at all.
//
// Looking often would find something by chance, so the risk of a false win is
// shared out over the looks before they begin (Bonferroni): together 1 in 200
// for a candidate that gains nothing, and over all finalists of a run together.
var looks = [...]float64{0.003, 0.001, 0.001}

const (
	layoutsALook = 10
	// layouts below which nothing is called faster: fewer agree by chance more often than the first
	// look may err
	minLayouts = 9
	// negligible is the gain that is not looked for any longer once it can be
	// excluded that there is more.
	negligible = 0.01
)

// A finding is what is known of a candidate so far.
type finding int

const (
	open   finding = iota // to be measured on
	found                 // surely faster
	futile                // surely not by as much as would count
)

// judge looks at what was measured of one of some finalists, chosen from the
// candidates that were tried. It goes on where the layouts agree and the
// interval does not exclude that there is no gain: a few of them were disturbed.
func judge(train Combined, look, finalists, tried int, minGain float64) finding {
	switch {
	case detects(train.logs, looks[look]/float64(max(finalists, 1))) && train.Correct(finalists, tried).Low > 1:
		return found
	case train.N >= layoutsALook && math.Log(train.Ratio.High) < math.Log1p(math.Max(negligible, minGain)):
		return futile
	}
	return open
}

// detects is Wilcoxon's signed-rank test, one-sided: whether layouts favour the
// candidate more than chance would with the given probability. Copies of the
// same code are exchangeable, since their places are drawn, so the test is
// exact for them, whatever the distribution.
func detects(logs []float64, alpha float64) bool {
	k := signedRankCritical(len(logs), alpha)
	return k > 0 && walsh(logs)[k-1] > 0
}

// at are the live candidates of which so much is known.
func (m *confirmer) at(f finding) []*finalist {
	return slices.DeleteFunc(m.live(), func(t *finalist) bool { return t.finding != f })
}

// measure adds layouts until every candidate is decided or the plan is done.
func (m *confirmer) measure(ctx context.Context, images []image) error {
	first := images[0]
	for look := range looks {
		if look > 0 {
			var err error
			if images, err = m.more(ctx, first, layoutsALook); err != nil {
				return err
			}
		}
		m.rng.Shuffle(len(images), func(i, j int) { images[i], images[j] = images[j], images[i] })
		for i, im := range images {
			m.o.Log(fmt.Sprintf("measuring layout %d", look*layoutsALook+i+1))
			if err := m.layout(ctx, im); err != nil {
				return err
			}
			if look > 0 && m.overdrawn() {
				break // a function so slow, or a machine so busy, that the least number of rounds costs too much
			}
			if look > 0 {
				m.lab.discard(im) // the first look's are used again
			}
		}
		for _, t := range m.at(open) {
			t.finding = m.judged(t, look)
		}
		if len(m.at(open)) == 0 || m.overdrawn() {
			return nil
		}
	}
	return nil
}

// overdrawn reports whether the layouts have used up their share of the time.
func (m *confirmer) overdrawn() bool {
	return m.spent > time.Duration(layoutShare*float64(m.o.Budget))
}
