package bench

import (
	"context"
	"math"
	"slices"
)

// looks holds the risk of a false win at each look. A measurement looks at its
// result now and then and ends as soon as the answer is clear: most candidates
// are either much faster or not at all.
//
// Frequent looks would find a gain by chance, so the looks share the risk of a false win
// (Bonferroni): together 1 in 200 for a candidate that gains nothing, and over all finalists of a
// run together.
var looks = [...]float64{0.003, 0.001, 0.001}

const (
	layoutsALook = 10 // or more at the first look, see firstLook
	// layouts below which nothing is called faster: fewer agree by chance more often than the first
	// look may err
	minLayouts = 9
	// negligible is the gain that is not looked for any longer once it can be
	// excluded that there is more.
	negligible = 0.01
)

// A knowledge says what the looks at a candidate have shown so far.
type knowledge int

const (
	knowledgeOpen   knowledge = iota // to be measured on
	knowledgeFaster                  // surely faster
	knowledgeFutile                  // surely not by as much as would count
	knowledgeRested                  // open, but the time goes to others, which look better
)

// judge looks at the measurement of one finalist. It decides to go on if the layouts agree and the
// interval does not exclude that there is no gain: a few of them were disturbed.
func judge(train Combined, look, finalists, tried int, minGain float64) knowledge {
	switch {
	case detects(train.logs, looks[look]/float64(max(finalists, 1))) && train.Correct(finalists, tried).Low > 1:
		return knowledgeFaster
	case train.N >= layoutsALook && math.Log(train.Ratio.High) < math.Log1p(math.Max(negligible, minGain)):
		return knowledgeFutile
	}
	return knowledgeOpen
}

// detects applies Wilcoxon's signed-rank test, one-sided: it reports whether layouts favour the
// candidate more than chance would with the given probability. Copies of the same code are
// exchangeable, since their places are drawn, so the test is exact for them, whatever the
// distribution.
func detects(logs []float64, alpha float64) bool {
	k := signedRankCritical(len(logs), alpha)
	return k > 0 && walsh(logs)[k-1] > 0
}

// withKnowledge returns the live candidates in this state of knowledge.
func (m *confirmer) withKnowledge(f knowledge) []*finalist {
	return slices.DeleteFunc(m.live(), func(t *finalist) bool { return t.knowledge != f })
}

// timed returns the candidates that the next layout times: those that are open, and those that are
// faster while it is not clear by how much.
func (m *confirmer) timed() []*finalist {
	return slices.DeleteFunc(m.live(), func(t *finalist) bool {
		return t.knowledge != knowledgeOpen && (t.knowledge != knowledgeFaster || !m.blunt(t))
	})
}

// keptGain is the share of a gain, in logarithms, that the low end of its interval must keep for
// the gain to count as known.
const keptGain = 0.85

// blunt reports whether a candidate that is faster may gain much less than it seems. A few layouts
// can show that it is faster, and leave open whether by 3 % or by 12 %. More of them also take back
// what a lucky first look added.
func (m *confirmer) blunt(t *finalist) bool {
	if t.settled || !m.options.Score.TimeAlone() {
		return false
	}
	r := caseFrom(t.train).Train.Correct(len(m.finalists), m.tried)
	return math.Log(r.Low) < keptGain*math.Log(r.Point)
}

// measure adds layouts until every candidate is decided and its gain is known, or the plan or the
// time is at its end.
func (m *confirmer) measure(ctx context.Context, images []image) error {
	first := images[0]
	// Each further look has new layouts, as many as the plan has and are not measured yet.
	for look := range looks {
		if look > 0 {
			m.thin()
			var err error
			if images, err = m.linkMore(ctx, first, max((look+1)*layoutsALook-m.timeBudget.layouts, 1)); err != nil {
				return err
			}
		}
		if err := m.look(ctx, images, look); err != nil {
			return err
		}
		// Some evidence needs particular layouts: complete it before judging.
		if err := m.complete(ctx, first, look); err != nil {
			return err
		}
		for _, t := range m.withKnowledge(knowledgeOpen) {
			t.knowledge = m.judgeScore(t, look)
			if m.hasOriginalCode(t) {
				t.knowledge = knowledgeFutile
			}
		}
		// The time budget may grow for a candidate that looks faster, and ends the looks when it is
		// overdrawn.
		m.timeBudget.looked = m.timeBudget.spent
		m.timeBudget.extend(look, m.looksFaster())
		m.timeBudget.hurried = m.timeBudget.hurried || look < len(looks)-1 && m.overdrawn()
		if len(m.timed()) == 0 || m.timeBudget.hurried {
			return nil
		}
	}
	return nil
}

// hasOriginalCode reports whether a candidate has the original's machine code: further looks can
// show no difference.
func (m *confirmer) hasOriginalCode(t *finalist) bool {
	return !m.options.Blind && m.rig.sameCode(slices.Index(m.finalists, t))
}

// look measures a look's layouts, or those that there is time for.
func (m *confirmer) look(ctx context.Context, images []image, look int) error {
	m.rng.Shuffle(len(images), func(i, j int) { images[i], images[j] = images[j], images[i] })
	for _, im := range images {
		if m.timeBudget.hurried = look > 0 && m.overdrawn(); m.timeBudget.hurried {
			break // a function so slow, or a machine so busy, that the least number of rounds costs too much
		}
		if err := m.layout(ctx, im); err != nil {
			return err
		}
		if look > 0 {
			m.rig.discard(im) // the first look's are used again
		}
	}
	return nil
}

// complete adds layouts for candidates that were faster in all layouts so far, while these are too
// few for the look to decide: some could not be compared, or the time was short.
func (m *confirmer) complete(ctx context.Context, first image, look int) error {
	for range layoutsALook {
		lacks := func(t *finalist) bool { return m.lacks(t, look) }
		if !slices.ContainsFunc(m.withKnowledge(knowledgeOpen), lacks) {
			return nil
		}
		images, err := m.linkMore(ctx, first, 1)
		if err != nil || len(images) == 0 {
			return err
		}
		if err := m.layout(ctx, images[0]); err != nil {
			return err
		}
		m.rig.discard(images[0])
	}
	return nil
}
