package evolve

import (
	"maps"
	"slices"
)

// Fork returns a copy of a search, which goes on as the search itself would. Neither sees what the
// other does.
func (s *Search) Fork() *Search {
	pcg := *s.pcg
	st := s.state
	// Both change these from here on. What follows from the members is computed anew.
	st.agenda.Pending = slices.Clone(s.agenda.Pending)
	st.population = population{Root: s.population.Root}
	for _, m := range s.population.Members {
		own := *m
		own.Tried = slices.Clone(m.Tried)
		st.population.Members = append(st.population.Members, &own)
	}
	for _, a := range s.population.Archives {
		st.population.Archives = append(st.population.Archives, maps.Clone(a))
	}
	st.merits = merits{Arms: cloneEach(s.merits.Arms), Kinds: cloneEach(s.merits.Kinds)}
	st.Seen, st.Asked = maps.Clone(s.Seen), maps.Clone(s.Asked)
	st.authors.Accounts = cloneEach(s.authors.Accounts)
	st.Samples, st.Behind = maps.Clone(s.Samples), maps.Clone(s.Behind)
	st.Fallen, st.Replies, st.Talks = slices.Clone(s.Fallen), slices.Clone(s.Replies), slices.Clone(s.Talks)
	st.Finals, st.Trims = slices.Clone(s.Finals), slices.Clone(s.Trims)
	fork := &Search{state: st, pcg: &pcg}
	fork.join()
	return fork
}

// cloneEach copies a map and the values that it points to.
func cloneEach[K comparable, V any](m map[K]*V) map[K]*V {
	out := make(map[K]*V, len(m))
	for k, v := range m {
		own := *v
		out[k] = &own
	}
	return out
}
