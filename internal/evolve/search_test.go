package evolve

import (
	"testing"
)

const seeds = 200

func rates(t *testing.T) {
	for _, name := range []string{"staircase", "needle", "trap", "validator", "noisy"} {
		for _, st := range Strategies {
			ok, sum, steps, used := 0, 0.0, 0, 0
			for seed := range uint64(seeds) {
				w := landscape(name, seed)
				s := New(Config{Seed: seed, Strategy: st, Budget: 60})
				got := w.run(s, 8+int(seed%9))
				if got >= 2.7 {
					ok++
					steps += len(s.Best().Steps)
				}
				sum += got
				used += s.Spent
			}
			t.Logf("%-10s %-18s %2d of %d, mean ratio %.2f, steps of a winner %.1f, used %.0f", name, st, ok, seeds, sum/seeds, float64(steps)/max(1, float64(ok)), float64(used)/seeds)
		}
	}
}

func TestRates(t *testing.T) { rates(t) }
