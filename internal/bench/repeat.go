package bench

import (
	"context"
	"math"
	"slices"
	"time"
)

// repeat measures faster candidates in other ways, which must not contradict the gain: in processes
// of their own, and with profile-guided optimisation.
func (m *confirmer) repeat(ctx context.Context, images []image) error {
	if m.inPlace {
		return nil
	}
	for _, t := range m.withKnowledge(knowledgeFaster) {
		for _, im := range images {
			if showsGainApart(t) {
				break
			}
			if err := m.timeApart(ctx, im, t, len(images)*len(m.withKnowledge(knowledgeFaster))); err != nil {
				return err
			}
		}
		// A few values show little, and a candidate could choose them: it may be what
		// keeps the processes from meeting.
		if t.missed > len(t.apartEstimates) {
			t.fail = "on most layouts, processes apart came to no inputs that both of them share in their time"
		}
	}
	if err := m.withColdCaches(ctx, images); err != nil {
		return err
	}
	for _, im := range images {
		if m.useful(im, m.withKnowledge(knowledgeFaster)) {
			return m.withPGO(ctx, im)
		}
	}
	return nil
}

// leastApartLayouts is the number of layouts from which on processes apart may show the gain.
const leastApartLayouts = 6

// showsGainApart reports whether processes apart have surely shown as much of the gain as the
// decision wants of them. More layouts would cost time and change nothing.
func showsGainApart(t *finalist) bool {
	if len(t.apartEstimates) < leastApartLayouts {
		return false
	}
	return math.Log(Combine(t.apartEstimates).Ratio.Low) > caseFrom(t.train).Train.Log/2
}

// largeTable is the size in bytes above which a candidate's tables must pay in a
// cold cache too: a benchmark keeps them hot, a service evicts them, or they evict
// the service's data.
const largeTable = 4 << 10

// coldLayouts is the number of layouts in a measurement with cold caches.
const coldLayouts = 6

// withColdCaches measures the candidates that have large tables with other work
// between the slices.
func (m *confirmer) withColdCaches(ctx context.Context, images []image) error {
	// Without a table a candidate has nothing that the caches could hold for it.
	ts := slices.DeleteFunc(m.withKnowledge(knowledgeFaster), func(t *finalist) bool { return t.table <= largeTable })
	if len(ts) == 0 {
		return nil
	}
	m.options.Log("measuring with cold caches")
	inputs := []set{{m.sets[0].file, coldShare, func(t *finalist) *[]layoutResult { return &t.cold }}}
	images = images[:min(len(images), coldLayouts)]
	// The candidates of interest are timed together in each image. A process that dies drops its
	// candidates.
	for _, im := range images {
		variants := m.cast(im, ts)
		if len(variants) == 0 {
			continue
		}
		q := m.request(variants, inputs, float64(len(images)))
		q.Cold = true
		reply, err := m.joint(ctx, im, q)
		if err != nil {
			return err
		}
		if ts = liveFinalists(ts); reply != nil {
			m.collect(im, q, &reply.Sets[0], ts, inputs[0].into)
		}
	}
	return nil
}

// withPGO measures faster candidates on top of profile-guided optimisation. With a profile of the
// module's own, all builds had that.
func (m *confirmer) withPGO(ctx context.Context, im image) error {
	ts := m.withKnowledge(knowledgeFaster)
	// Brief measurements have no time for it.
	if m.options.PGO != "" || len(ts) == 0 || m.options.Brief {
		return nil
	}
	m.options.Log("measuring with profile-guided optimisation")
	// First take a profile with the candidates at work.
	q := m.request(m.cast(im, ts), m.sets[:1], 1)
	q.Profile = min(m.nanos(pgoShare/4), int64(time.Second))
	profile, err := m.rig.profile(ctx, im, q)
	if err != nil {
		return err
	}
	// Then build new layouts with the profile, and time those candidates that still count as
	// faster.
	images, err := m.images(ctx, profile, knowledgeFaster, layoutsALook)
	if err != nil {
		return err
	}
	inputs := []set{{m.sets[0].file, pgoShare * 3 / 4, func(t *finalist) *[]layoutResult { return &t.pgo }}}
	for _, im := range images {
		variants := m.cast(im, ts)
		if len(variants) == 0 {
			continue
		}
		q := m.request(variants, inputs, float64(len(images)))
		reply, err := m.joint(ctx, im, q)
		if err != nil {
			return err
		}
		if ts = m.withKnowledge(knowledgeFaster); reply != nil {
			m.collect(im, q, &reply.Sets[0], ts, inputs[0].into)
		}
	}
	return nil
}
