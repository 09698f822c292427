package effects

import "math/bits"

// A set is a set of places in memory, by index.
type set []uint64

// add adds a member and reports whether the set grew.
func (s *set) add(i int) bool {
	for len(*s) <= i/64 {
		*s = append(*s, 0)
	}
	was := (*s)[i/64]
	(*s)[i/64] |= 1 << (i % 64)
	return was != (*s)[i/64]
}

// union adds the members of t and reports whether the set grew.
func (s *set) union(t set) bool {
	grew := false
	for len(*s) < len(t) {
		*s = append(*s, 0)
	}
	for i, w := range t {
		if (*s)[i]|w != (*s)[i] {
			(*s)[i] |= w
			grew = true
		}
	}
	return grew
}

func (s set) empty() bool {
	for _, w := range s {
		if w != 0 {
			return false
		}
	}
	return true
}

// all yields the members in order.
func (s set) all(yield func(int) bool) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			if !yield(i*64 + bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}

// has reports whether i is a member.
func (s set) has(i int) bool { return i/64 < len(s) && s[i/64]&(1<<(i%64)) != 0 }

// meets reports whether two sets have a common member.
func (s set) meets(t set) bool {
	for i := range min(len(s), len(t)) {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}

// covers reports whether t is a subset of s.
func (s set) covers(t set) bool {
	for i, w := range t {
		if w != 0 && (i >= len(s) || w&^s[i] != 0) {
			return false
		}
	}
	return true
}

// without returns the members of s that are not in t.
func (s set) without(t set) set {
	out := append(set(nil), s...)
	for i := range min(len(s), len(t)) {
		out[i] &^= t[i]
	}
	return out
}
