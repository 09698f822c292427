package similarity

import "math"

// Mix finds the weights with which parts' shapes add up to wholes that are most alike to these:
// shares of the time, whose sum is 1. wholes are shapes of one program in several divisions, such
// as by callee and by line; parts[i] has the same divisions of the i-th part. start holds the
// weights to begin with. No weight leaves the range from start/most to start*most, each its own.
//
// It makes the mean of the total variation distances least. A difference that is smaller than its
// standard error counts less, so that chance moves no weights. This makes the sum smooth, and a
// descent along its gradient ends at the least value, since the sum is convex.
func Mix(wholes []Shape, parts [][]Shape, start, most []float64) []float64 {
	w := within(start, start, most)
	var rows [][]float64 // of each name: the shares of the parts
	var goals, noise []float64
	for d, whole := range wholes {
		all := Shape{Parts: map[string]float64{}}
		for i := range parts {
			for name := range parts[i][d].Parts {
				all.Parts[name] = 1
			}
		}
		_, _, names := shares(whole, all)
		for _, name := range names {
			row := make([]float64, len(parts))
			for i := range parts {
				row[i] = share(parts[i][d], name)
			}
			goal := share(whole, name)
			rows, goals = append(rows, row), append(goals, goal)
			noise = append(noise, max(goal*(1-goal)/max(whole.Samples, 1), 1e-8))
		}
	}
	// value returns the distance at some weights, and its gradient.
	value := func(w []float64) (sum float64, slope []float64) {
		slope = make([]float64, len(w))
		for k, row := range rows {
			off := -goals[k]
			for i := range w {
				off += w[i] * row[i]
			}
			size := math.Sqrt(off*off + noise[k])
			sum += size
			for i := range w {
				slope[i] += off / size * row[i]
			}
		}
		return sum, slope
	}
	const rounds, least = 400, 1e-9
	now, slope := value(w)
	for step, round := 1.0, 0; round < rounds && step > least; round++ {
		next := make([]float64, len(w))
		for i := range w {
			next[i] = w[i] - step*slope[i]
		}
		next = within(next, start, most)
		if then, s := value(next); then < now {
			w, now, slope = next, then, s
			step *= 2
		} else {
			step /= 4
		}
	}
	return w
}

// within returns the nearest weights to w whose sum is 1 and that are within the ranges around
// start: it takes the same amount from each, as far as its range allows.
func within(w, start, most []float64) []float64 {
	total := 0.0
	for _, v := range start {
		total += v
	}
	out := make([]float64, len(w))
	low, high := -2.0, 2.0
	for _, v := range w {
		low, high = min(low, v-2), max(high, v+2)
	}
	for range 60 {
		shift, sum := (low+high)/2, 0.0
		for i := range w {
			s := start[i] / total
			out[i] = min(max(w[i]-shift, s/most[i]), s*most[i])
			sum += out[i]
		}
		if sum > 1 {
			low = shift
		} else {
			high = shift
		}
	}
	return out
}

func share(s Shape, name string) float64 {
	if sum := s.Total(); sum > 0 {
		return s.Parts[name] / sum
	}
	return 0
}

// Blend returns the shape that parts make together. weights are their shares of the time.
func Blend(parts []Shape, weights []float64) Shape {
	out := Shape{Parts: map[string]float64{}}
	for i, part := range parts {
		for name := range part.Parts {
			out.Parts[name] += weights[i] * share(part, name)
		}
		out.Samples += part.Samples
	}
	return out
}

// Plain returns 1 minus the total variation distance of two shapes, as their samples are.
func Plain(a, b Shape) float64 {
	p, q, _ := shares(a, b)
	return 1 - distance(p, q)
}
