package similarity

import "math"

// Mix finds the weights with which parts' shapes add up to a whole most likely: the weights are
// shares of the time, and their sum is 1. start holds the weights to begin with. A part with the
// weight 0 keeps it.
//
// It climbs the likelihood of the whole's samples as a mixture (expectation maximisation). Each
// round makes the mixture no less likely. Mix stops when weights move no more than 1e-6.
func Mix(whole Shape, parts []Shape, start []float64) []float64 {
	total := whole.Total()
	w := normal(start)
	if !(total > 0) || len(parts) == 0 {
		return w
	}
	sums := make([]float64, len(parts))
	for i := range parts {
		sums[i] = parts[i].Total()
	}
	const rounds = 500
	for range rounds {
		next := make([]float64, len(w))
		for name, v := range whole.Parts {
			mixed := 0.0
			for i := range parts {
				mixed += w[i] * shareAt(parts[i], sums[i], name)
			}
			if mixed <= 0 {
				continue // no part has it
			}
			for i := range parts {
				next[i] += v / total * w[i] * shareAt(parts[i], sums[i], name) / mixed
			}
		}
		next = normal(next)
		moved := 0.0
		for i := range w {
			moved = max(moved, math.Abs(next[i]-w[i]))
		}
		if w = next; moved < 1e-6 {
			break
		}
	}
	return w
}

// shareAt returns the share of a name. A little is left to names that a part does not have: few
// samples show no more than that it is small.
func shareAt(s Shape, sum float64, name string) float64 {
	if sum <= 0 {
		return 0
	}
	const floor = 1e-6
	return max(s.Parts[name]/sum, floor)
}

func normal(w []float64) []float64 {
	out := make([]float64, len(w))
	sum := 0.0
	for _, v := range w {
		sum += max(0, v)
	}
	for i, v := range w {
		if sum > 0 {
			out[i] = max(0, v) / sum
		} else {
			out[i] = 1 / float64(len(w))
		}
	}
	return out
}
