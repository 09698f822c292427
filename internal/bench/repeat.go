package bench

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/beagle-go/beagle/internal/rt"
)

// repeat measures what was found faster in other ways, which must not speak
// against it: in processes of their own, and with profile-guided optimisation.
func (m *confirmer) repeat(ctx context.Context, images []image) error {
	for _, t := range m.at(found) {
		for _, im := range images {
			if err := m.alone(ctx, im, t, len(images)); err != nil {
				return err
			}
		}
	}
	return m.withPGO(ctx, images[0])
}

// abba is the order of four processes: a drift of the machine cancels.
var abba = [4]int{0, 1, 1, 0}

// common is what two lists of windows have in common; nil is all.
func common(a, b []bool) []bool {
	if a == nil {
		return b
	}
	for w := range min(len(a), len(b)) {
		a[w] = a[w] && b[w]
	}
	return a[:min(len(a), len(b))]
}

// alone times the original and a candidate in processes of their own: ABBA,
// over the same inputs, with the joint process's number of calls.
func (m *confirmer) alone(ctx context.Context, im image, t *trial, images int) error {
	pairs := m.matched(im, t)
	if t.fail != "" || len(pairs) == 0 {
		return nil
	}
	m.o.Log("measuring in processes apart")
	q := m.request(nil, []set{{file: m.sets[0].file, share: apartShare}}, float64(images*4*len(m.at(found))))
	q.Calls, q.Windows = m.calls, m.apartWindows(q, t)
	var replies [4]*rt.Timing
	var both []bool // windows that every process came to
	for i, side := range abba {
		reply, failure, err := m.time(ctx, im, only(q, []int{pairs[0][side]}))
		if err != nil {
			return err
		}
		if failure != "" {
			t.fail = "it died while it was timed alone: " + failure
			return nil
		}
		replies[i] = &reply.Sets[0]
		both = common(both, visited(replies[i]))
	}
	if !slices.Contains(both, true) {
		t.fail = "processes apart came to no inputs that all of them share in their time"
		return nil
	}
	var best [2]float64
	for i, side := range abba {
		// The lower quartile: without a partner in the same moment there
		// is nothing to divide a slow moment by.
		if took := perCall(replies[i], 0, 0.25, both); best[side] == 0 || took < best[side] {
			best[side] = took
		}
	}
	t.apart = append(t.apart, Estimate{Log: math.Log(best[0] / best[1])})
	return nil
}

// apartWindows is how many windows the slower of two processes apart can visit
// three times, so that both see the same inputs.
func (m *confirmer) apartWindows(q *rt.Time, t *trial) int {
	slice := typical(t.baseline).Nanos * float64(m.calls)
	return min(max(int(float64(q.Sets[0].Budget)/(6*slice)), 1), m.windows)
}

// withPGO measures what was found on top of profile-guided optimisation. With
// a profile of the module's own, that is what all builds had.
func (m *confirmer) withPGO(ctx context.Context, im image) error {
	ts := m.at(found)
	if m.o.PGO != "" || len(ts) == 0 {
		return nil
	}
	m.o.Log("measuring with profile-guided optimisation")
	q := m.request(ts, m.sets[:1], 1)
	q.Profile = min(m.nanos(pgoShare/4), int64(time.Second))
	profile, err := m.lab.profile(ctx, im, q)
	if err != nil {
		return err
	}
	images, err := m.images(ctx, profile, found)
	if err != nil {
		return err
	}
	inputs := []set{{m.sets[0].file, pgoShare * 3 / 4, func(t *trial) *[]layoutResult { return &t.pgo }}}
	for _, im := range images {
		q := m.request(ts, inputs, float64(len(images)))
		reply, err := m.joint(ctx, im, q)
		if err != nil || reply == nil {
			return err
		}
		ts = m.at(found)
		m.collect(im, q, &reply.Sets[0], ts, inputs[0].into)
	}
	return nil
}
