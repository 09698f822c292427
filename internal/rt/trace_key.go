package rt

import "math/bits"

// maxTracedKeys bounds the keys of a map that one look-up logs: the search tries them in place of
// the key that was looked up.
const maxTracedKeys = maxSitePairs

// TraceKeyText traces a look-up of key k in a map. If the map has no such key, it logs some that
// it has, for the search to try.
func TraceKeyText[M ~map[K]V, K ~string, V any](id uint32, m M, k K) K {
	s, missing := traceLookup(id, m, k)
	if missing {
		s.markMet(&s.near, bits.Len(uint(len(k))))
	}
	if missing && s.logs() {
		for _, key := range pickedKeys(m, func(key K) uint64 { return mixedText(string(key), trace.run) }) {
			comparedTexts(s, id, k, key)
		}
	}
	return k
}

// TraceKeyInt does what TraceKeyText does for integers.
func TraceKeyInt[M ~map[K]V, K integer, V any](id uint32, m M, k K) K {
	if s, missing := traceLookup(id, m, k); missing && s.logs() {
		for _, key := range pickedKeys(m, func(key K) uint64 { return mixed(uint64(key), trace.run) }) {
			s.pair(id, pairInt, uint64(k), uint64(key))
		}
	}
	return k
}

// traceLookup counts a question and reports whether the map has no such key.
func traceLookup[M ~map[K]V, K comparable, V any](id uint32, m M, k K) (s *traceSite, missing bool) {
	if s = siteOf(id); s == nil {
		return nil, false
	}
	if _, ok := m[k]; ok {
		s.count[0]++
		s.markMet(&s.alike, 63)
		return s, false
	}
	s.count[1]++
	return s, true
}

// logs reports whether a site has room for more keys in this run's log.
func (s *traceSite) logs() bool { return trace.logging && s.logged < maxTracedKeys }

// pickedKeys returns the keys of the smallest weights, so that the choice does not depend on the
// order of the map. Another run weighs otherwise: in the course of a search every key has its turn.
func pickedKeys[M ~map[K]V, K comparable, V any](m M, weight func(K) uint64) []K {
	var keys [maxTracedKeys]K
	var weights [maxTracedKeys]uint64
	n := 0
	// Insert each key at its place among the smallest, without memory of its own: this runs during
	// a call.
	for key := range m {
		w := weight(key)
		i := n
		for i > 0 && weights[i-1] > w {
			i--
		}
		if i == maxTracedKeys {
			continue
		}
		n = min(n+1, maxTracedKeys)
		copy(keys[i+1:n], keys[i:])
		copy(weights[i+1:n], weights[i:])
		keys[i], weights[i] = key, w
	}
	return keys[:n]
}

// mixed returns a hash of a number for a run.
func mixed(x uint64, run uint32) uint64 {
	x = (x ^ uint64(run)) * 0x9e3779b97f4a7c15
	x ^= x >> 32
	return x * 0xd6e8feb86659fd93
}

func mixedText(s string, run uint32) uint64 {
	h := uint64(len(s))
	for i := range len(s) {
		h = h*0x100000001b3 ^ uint64(s[i])
	}
	return mixed(h, run)
}
