package main

import (
	"math"
	"slices"
)

// sum computes the figures from the turns. The unit is the layout: turns of one layout share its
// luck, so all of them are one observation.
func (m *finalFigure) sum(all []turn) {
	logs := map[string][]float64{} // by arm, a mean of each layout
	var after, same []float64
	for layout := range m.Layouts {
		of := map[string]float64{}
		for _, arm := range arms {
			var in []float64
			for _, t := range all {
				if t.Layout == layout && t.Arm == arm && t.Messages > 0 && t.Seconds > 0 {
					in = append(in, math.Log(1e9*t.Seconds/t.Messages))
				}
			}
			if len(in) > 0 {
				of[arm] = median(in) // one turn beside other work may cost twice as much
				logs[arm] = append(logs[arm], of[arm])
			}
		}
		if a, ok := of["new"]; ok {
			// The old text ran in two layouts: average them.
			after = append(after, a-(of["old"]+of["same"])/2)
		}
		same = append(same, of["same"]-of["old"])
	}
	m.Before = geometricMean(append(logs["old"], logs["same"]...))
	m.After = geometricMean(logs["new"])
	m.Proven, m.Same = savingOf(after), savingOf(same)
}

// geometricMean returns the geometric mean of logarithms, with its interval.
func geometricMean(logs []float64) estimate {
	if len(logs) == 0 {
		return estimate{}
	}
	at, half := mean(logs), halfWidth(logs)
	return estimate{math.Exp(at), math.Exp(at - half), math.Exp(at + half)}
}

// savingOf returns the saving for logarithms of ratios.
func savingOf(logs []float64) saving {
	if len(logs) == 0 {
		return saving{}
	}
	e := geometricMean(logs)
	return saving{1 - e.Mean, 1 - e.High, 1 - e.Low}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[len(v)/2] + v[(len(v)-1)/2]) / 2
}

func mean(v []float64) (sum float64) {
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// halfWidth returns half of the 95 % interval of a mean, by Student's t. A single value has none.
func halfWidth(v []float64) float64 {
	if len(v) < 2 {
		return math.Inf(1)
	}
	at, squares := mean(v), 0.0
	for _, x := range v {
		squares += (x - at) * (x - at)
	}
	n := float64(len(v))
	return student(len(v)-1) * math.Sqrt(squares/(n-1)/n)
}

// student returns the 97.5 % point of Student's t.
func student(free int) float64 {
	table := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201,
		2.179, 2.160, 2.145,
		2.131, 2.120, 2.110, 2.101, 2.093, 2.086}
	if free <= len(table) {
		return table[free-1]
	}
	return 1.96 + 2.5/float64(free)
}
