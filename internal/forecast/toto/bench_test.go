package toto

import (
	"math"
	"math/rand/v2"
	"testing"
)

// size4M returns the shape of the published model of 4 million parameters.
func size4M() config {
	return config{Patch: 32, Width: 256, Heads: 4, Groups: 4, KeyWidth: 64, ValueWidth: 64, Hidden: 688, Layers: 4,
		Period: 4, Across: 1, Epsilon: 1e-4, AttnBias: true, Outputs: 1, ScaleQueries: true, Stretch: true}
}

// random draws weights: what they are does not change how long a forecast takes.
func random(c config) *net {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(rng.NormFloat64())
		}
		return out
	}
	drawn := func(in, out int) linear {
		l := linear{in, out, draw(in * out), draw(out)}
		for i := range l.weight {
			l.weight[i] /= float32(math.Sqrt(float64(in)))
		}
		return l
	}
	across := func(in, hidden, out int) bypass { return bypass{drawn(in, hidden), drawn(hidden, out), drawn(in, out)} }
	n := &net{config: c, embed: across(2*c.Patch, 4*c.Width, c.Width), last: norm{epsilon: c.Epsilon},
		head: across(c.Width, 4*c.Width, c.Patch*len(Levels))}
	for i := range c.Layers {
		a := &attention{config: c, across: c.looksAcross(i), scale: draw(c.KeyWidth),
			in:    drawn(c.Width, (c.Heads+c.Groups)*c.KeyWidth+c.Groups*c.ValueWidth),
			leave: drawn(c.Heads*c.ValueWidth, c.Width)}
		if !a.across {
			a.turns = newRotation(c)
		}
		n.layers = append(n.layers, layer{norm{epsilon: c.Epsilon}, norm{epsilon: c.Epsilon}, a,
			gated{drawn(c.Width, 2*c.Hidden), drawn(c.Hidden, c.Width)}, 0.5, 0.5})
	}
	return n
}

// BenchmarkMonth forecasts from a month of hours: the month after it, and a day after it.
func BenchmarkMonth(b *testing.B) {
	m := &Model{random(size4M()), usualContext}
	series := make([]float64, 30*24)
	for i := range series {
		series[i] = 100 + 10*math.Sin(2*math.Pi*float64(i)/24)
	}
	for name, horizon := range map[string]int{"month": 30 * 24, "day": 24} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := m.Forecast(series, horizon); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
