package simulate

import (
	"testing"

	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/sampletest"
)

// quick are rollouts that end soon: the full figures come from
// `go run ./bench/figures rollout`.
var quick = Settings{Horizon: 200, Most: 450, Step: 20}

func try(t *testing.T, s Scenario, n int) []Outcome {
	t.Helper()
	all, err := s.Try(n, quick)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestNothingShips: candidates that are the original hardly ever ship. At most 4 % of 40 rollouts
// under each noise may; in ours about 1 % do.
func TestNothingShips(t *testing.T) {
	shipped, rollouts := 0, 0
	for _, s := range sampletest.Of(t, NullScenarios(), noisesDrawn) {
		all := try(t, s, 40)
		n := Shipped(all)
		shipped, rollouts = shipped+n, rollouts+len(all)
		t.Logf("%s: %d of %d", s.Name, n, len(all))
	}
	if shipped*100 > rollouts*4 {
		t.Errorf("%d of %d rollouts of the original itself shipped", shipped, rollouts)
	}
}

// TestHarmIsRolledBack: no harm ships, and what users see is off soon.
func TestHarmIsRolledBack(t *testing.T) {
	for _, s := range Harms() {
		for i, o := range try(t, s, 10) {
			if o.Shipped {
				t.Errorf("%s, seed %d shipped: %s", s.Name, i+1, o.Cause)
			}
			truth, most := s.Truth(0), 100_000.0
			if truth.Bursts {
				most = 300_000
			}
			if (truth.Errors > 0 || truth.Slow > 0) && o.Exposure.Requests > most {
				t.Errorf("%s, seed %d: %.0f requests", s.Name, i+1, o.Exposure.Requests)
			}
		}
	}
}

// TestLossesDoNotShip: of losses drawn by chance none ships.
func TestLossesDoNotShip(t *testing.T) {
	for i, o := range try(t, Losses(), 60) {
		if o.Shipped {
			t.Errorf("seed %d shipped: %+v: %s", i+1, Losses().Truth(uint64(i+1)), o.Cause)
		}
	}
}

// TestGainsShip: a simulator in which nothing ships would show nothing.
func TestGainsShip(t *testing.T) {
	for _, s := range Gains() {
		gain := Truth{Service: -0.03}
		switch {
		case s.Service.Unit == rollout.Requests:
			gain = Truth{Function: -0.03}
		case s.Service.PodLuck > 0:
			gain.Service = -0.08
		}
		s.Truth = constantTruth(gain)
		if n := Shipped(try(t, s, 10)); n < 7 {
			t.Errorf("%s: only %d of 10 gains of %+v shipped", s.Name, n, gain)
		}
	}
}

// TestUsers: where users keep their arm the same judge ships what is the same. It is why requests
// must draw.
func TestUsers(t *testing.T) {
	if n := Shipped(try(t, Users(), 40)); n < 4 {
		t.Errorf("%d of 40 shipped: the trap is none", n)
	}
}

// TestSeeds: a seed says all.
func TestSeeds(t *testing.T) {
	a, b := try(t, NullScenarios()[7], 4), try(t, NullScenarios()[7], 4)
	for i := range a {
		if a[i] != b[i] {
			t.Errorf("seed %d: %+v and %+v", i+1, a[i], b[i])
		}
	}
}

// waitsDrawn and noisesDrawn are how many scenarios a run simulates.
const (
	waitsDrawn  = 2
	noisesDrawn = 4
)

// TestRareWaits: a candidate that is faster, and waits for long on calls of a rare class, is hardly
// ever released, however few of its calls a block times. The same without the class ships.
func TestRareWaits(t *testing.T) {
	const trials = 100
	type waits struct {
		name         string
		class, times float64
		least, most  int // released
	}
	for _, row := range sampletest.Of(t, []waits{
		{"20 ms on 0.05 % of the calls", 0.0005, 20_000, 0, 0},
		{"3 ms on 0.05 % of the calls", 0.0005, 3_000, 0, trials / 10}, // 1 by a bias that is mended, 5 to 9 without
		{"20 ms on 0.02 % of the calls", 0.0002, 20_000, 0, trials / 20},
		{"nowhere", 0, 0, trials * 4 / 5, trials},
	}, waitsDrawn) {
		truth := Truth{Function: -0.25, Class: row.class, Times: row.times, Waits: row.class > 0}
		settings := Usual
		settings.Holdout = true
		all, err := Scenario{row.name, Service{Memory: 0.5, Clock: true}, constantTruth(truth)}.Try(trials, settings)
		if err != nil {
			t.Fatal(err)
		}
		shipped, released := Shipped(all), 0
		for _, o := range all {
			if o.Finished {
				released++
			}
		}
		t.Logf("waits %s: %d rollouts, %d shipped, %d released", row.name, trials, shipped, released)
		if released < row.least || released > row.most {
			t.Errorf("waits %s: %d released", row.name, released)
		}
	}
}
