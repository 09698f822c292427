package bench

import "slices"

// fewCopies of a version are timed when the function is slow.
const fewCopies = 2

// cast chooses the variants of an image to time, the original's copies first. It takes all of them
// unless the function is slow. Then it takes, for each candidate, a few of one alignment, so that
// there is something to compare. It returns none if this image has nothing to compare.
func (m *confirmer) cast(im image, ts []*finalist) []int {
	var originals, copies []int
	for _, t := range ts {
		base, cand := m.originals(), t.copies
		if m.slow {
			base, cand = m.sameAddress(im, t, originals)
		}
		originals = union(originals, base)
		copies = append(copies, cand...)
	}
	return slices.Concat(originals, copies)
}

// sameAddress returns a few copies of the original and of a candidate that start at the same
// address modulo 64: the address that most copies of both have. It prefers copies of the original
// that are timed anyhow, or those in the half with less evidence.
func (m *confirmer) sameAddress(im image, t *finalist, timed []int) (base, cand []int) {
	best, known := 0, caseFrom(t.train).Halves
	// Take each address at which both have copies, and value it: by the number of pairs first, then
	// by copies that are timed already, and by the half with less evidence.
	for _, p := range m.matched(im, t) {
		at := im.align(p[0])
		of := func(copies []int) []int {
			return slices.DeleteFunc(slices.Clone(copies), func(v int) bool { return im.align(v) != at })
		}
		b, c := of(m.originals()), of(t.copies)
		value := 4 * min(len(b), len(c), fewCopies)
		if slices.ContainsFunc(timed, func(v int) bool { return slices.Contains(b, v) }) {
			value += 2
		}
		if half := max(at, 0) / 32; known[half].N < known[1-half].N {
			value++
		}
		if value > best {
			best, base, cand = value, b[:min(len(b), fewCopies)], c[:min(len(c), fewCopies)]
		}
	}
	return base, cand
}

// union returns a, followed by the elements that only b has.
func union(a, b []int) []int {
	for _, v := range b {
		if !slices.Contains(a, v) {
			a = append(a, v)
		}
	}
	return a
}

// intersect returns those of some variants that are in a list.
func intersect(list, variants []int) []int {
	return slices.DeleteFunc(slices.Clone(variants), func(v int) bool { return !slices.Contains(list, v) })
}
