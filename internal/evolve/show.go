package evolve

import "math"

// IslandBests returns the screened ratio of each island's best, for watchers.
func (s *Search) IslandBests() []float64 {
	out := make([]float64, len(s.Archives))
	for i := range s.Archives {
		out[i] = 1
		if b := best(s.elites(i)); b != nil {
			out[i] = math.Exp(b.Score)
		}
	}
	return out
}
