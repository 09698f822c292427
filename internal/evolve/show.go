package evolve

import "math"

// IslandBests returns the screened ratio of each island's best, for watchers.
func (pop *population) IslandBests() []float64 {
	out := make([]float64, len(pop.Archives))
	for i := range pop.Archives {
		out[i] = 1
		if b := best(pop.elites(i)); b != nil {
			out[i] = math.Exp(b.Score)
		}
	}
	return out
}
