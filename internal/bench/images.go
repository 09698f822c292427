package bench

import (
	"context"
	"slices"
)

// images links a look's layouts. Every candidate in this state of knowledge must be comparable in
// the wanted number of them. Layouts without matching copies are drawn anew. The choice looks at
// addresses only, never at times.
func (m *confirmer) images(ctx context.Context, pgo string, of knowledge, wanted int) ([]image, error) {
	first, failed, err := m.rig.build(ctx, pgo, m.layoutSeed())
	if err != nil {
		return nil, err
	}
	for i, why := range failed {
		m.finalists[i].fail = "it does not compile in a batch: " + why
	}
	images := []image{first}
	for len(images) < 2*wanted && !m.hasLayouts(images, m.withKnowledge(of), wanted) {
		more, err := m.relink(ctx, first, max(wanted-len(images), 1))
		if err != nil {
			return nil, err
		}
		images = append(images, more...)
	}
	return slices.DeleteFunc(images, func(im image) bool { return !m.useful(im, m.withKnowledge(of)) }), nil
}

// linkMore links n further layouts, or fewer when too many are of no use.
func (m *confirmer) linkMore(ctx context.Context, like image, n int) ([]image, error) {
	var images []image
	for tries := 0; len(images) < n && tries < 2*n; {
		some, err := m.relink(ctx, like, min(n-len(images), 2*n-tries))
		if err != nil {
			return nil, err
		}
		tries += len(some)
		for _, im := range some {
			if m.useful(im, m.timed()) {
				images = append(images, im)
			} else {
				m.rig.discard(im)
			}
		}
	}
	return images, nil
}

// relink links n further layouts, several at a time: nothing is timed meanwhile.
func (m *confirmer) relink(ctx context.Context, like image, n int) ([]image, error) {
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = m.layoutSeed()
	}
	return m.rig.relink(ctx, like, seeds)
}

// layoutSeed draws the seed of a layout. It is never 0, which would mean the linker's own order.
func (m *confirmer) layoutSeed() uint64 { return m.rng.Uint64N(1<<31-1) + 1 }

// useful asks whether some of the candidates can be compared in an image.
func (m *confirmer) useful(im image, ts []*finalist) bool {
	return slices.ContainsFunc(ts, func(t *finalist) bool { return len(m.matched(im, t)) > 0 })
}

// hasLayouts asks, for every candidate, for the wanted layouts and for both
// alignments in at least one more than the decision needs.
func (m *confirmer) hasLayouts(images []image, ts []*finalist, wanted int) bool {
	for _, t := range ts {
		// Count the layouts with a pair of equal addresses, and those in either half of a cache
		// line.
		n, halves := 0, [2]int{}
		for _, im := range images {
			ps := m.matched(im, t)
			if len(ps) > 0 {
				n++
			}
			for h := range halves {
				if slices.ContainsFunc(ps, func(p [2]int) bool { return im.align(p[0])/32 == h }) {
					halves[h]++
				}
			}
		}
		// A candidate may only be able to start in one half.
		possible := m.possibleHalves(images, t)
		for h := range halves {
			if n < wanted || possible[h] && halves[h] <= minAlignment {
				return false
			}
		}
	}
	return true
}

// possibleHalves returns in which halves of 64 bytes both the original and the candidate were ever
// seen to start. The compiler may fix a function's alignment (hot ones, with a profile), and then
// there is no other to ask for.
func (m *confirmer) possibleHalves(images []image, t *finalist) (possible [2]bool) {
	seen := func(h int, copies []int) bool {
		return slices.ContainsFunc(images, func(im image) bool {
			return slices.ContainsFunc(copies, func(v int) bool { return im.align(v)/32 == h })
		})
	}
	for h := range possible {
		possible[h] = seen(h, m.originals()) && seen(h, t.copies)
	}
	return possible
}

// matched returns the pairs of copies that start at the same address modulo 64.
func (m *confirmer) matched(im image, t *finalist) (pairs [][2]int) {
	for _, b := range m.originals() {
		for _, c := range t.copies {
			if im.align(b) == im.align(c) {
				pairs = append(pairs, [2]int{b, c})
			}
		}
	}
	return pairs
}
