package hotspots

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// drifting makes the profiles of a service whose share of F drifts around 30 %, with a share that
// spreads by drift from profile to profile.
func drifting(t *testing.T, r *rand.Rand, profiles, samples int, drift float64) []*Profile {
	var all []*Profile
	for i := range profiles {
		share := 0.3 + drift*r.NormFloat64()
		in := 0
		for range samples {
			if r.Float64() < share {
				in++
			}
		}
		p, err := From("slice", planned{Kind: CPU, Seconds: 1, Start: noon.Add(time.Duration(i) * 5 * time.Second),
			Stacks: []string{fmt.Sprintf("%d ex.com/svc/a.F@/a.go:1", in),
				fmt.Sprintf("%d ex.com/svc/a.G@/a.go:9", samples-in)}}.profile(t))
		if err != nil {
			t.Fatal(err)
		}
		p.Group, p.Instance = "host", "host"
		all = append(all, p)
	}
	return all
}

// TestSpreadBetweenProfiles: intervals hold the share that a long profile would show, also when
// shares drift from one slice to the next. The number of samples alone holds only where they do
// not.
func TestSpreadBetweenProfiles(t *testing.T) {
	const trials = 80
	r := rand.New(rand.NewPCG(17, 3))
	for _, drift := range []float64{0, 0.1} {
		inside, counted := 0, 0
		for range trials {
			h, err := Rank(drifting(t, r, 20, 150, drift), Options{Checkout: &Checkout{Module: svc}})
			if err != nil {
				t.Fatal(err)
			}
			if h.Spread != 20 {
				t.Fatalf("the intervals hold the spread of %d profiles", h.Spread)
			}
			f := find(t, h, svc+"/a.F")
			if f.NetLow <= 0.3 && 0.3 <= f.NetHigh {
				inside++
			}
			if low, high := wilson(f.Net, h.Effective); low <= 0.3 && 0.3 <= high {
				counted++
			}
			if f.Effective > h.Effective*(1+1e-9) {
				t.Fatalf("%g samples tell more than all %g", f.Effective, h.Effective)
			}
		}
		if inside < trials*90/100 {
			t.Errorf("drift %g: %d of %d intervals hold the true share", drift, inside, trials)
		}
		if drift > 0 && counted > trials*3/4 {
			t.Errorf("drift %g: %d of %d hold it by counting alone: the trial shows nothing", drift, counted, trials)
		}
	}
}

// TestSpreadNeedsProfiles: one profile, or a few, show no spread, and the table says so.
func TestSpreadNeedsProfiles(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 4))
	// The warning of few samples speaks of their number alone: the interval may be far wider.
	few, err := Rank(drifting(t, r, 5, 50, 0.2), Options{Checkout: &Checkout{Module: svc}})
	if err != nil || !strings.Contains(strings.Join(few.Warnings, "\n"), "by their number alone") {
		t.Errorf("%v, %v", few, err)
	}
	for n, spread := range map[int]int{1: 0, 4: 0, 5: 5} {
		h, err := Rank(drifting(t, r, n, 1000, 0), Options{Checkout: &Checkout{Module: svc}})
		if err != nil {
			t.Fatal(err)
		}
		if f := find(t, h, svc+"/a.F"); h.Spread != spread || spread == 0 && math.Abs(f.Effective-h.Effective) > 1e-6 {
			t.Errorf("%d profiles: the spread of %d, %g of %g samples", n, h.Spread, f.Effective, h.Effective)
		}
	}
}

// TestSpreadOfHosts: that two hosts differ is no spread. Each is known by its own samples, and so
// is their sum.
func TestSpreadOfHosts(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 5))
	all := drifting(t, r, 10, 500, 0)
	for _, p := range drifting(t, r, 10, 500, 0) {
		p.Group, p.Instance = "other", "other"
		p.Pprof.Sample[0].Value, p.Pprof.Sample[1].Value = p.Pprof.Sample[1].Value, p.Pprof.Sample[0].Value
		all = append(all, p)
	}
	h, err := Rank(all, Options{Checkout: &Checkout{Module: svc}})
	if err != nil {
		t.Fatal(err)
	}
	if f := find(t, h, svc+"/a.F"); f.Effective < h.Effective/3 {
		t.Errorf("%g of %g samples", f.Effective, h.Effective)
	}
}

// minuteOf makes a slice of a second, taken in the minute i of one service.
func minuteOf(t *testing.T, i int, stacks ...string) *Profile {
	t.Helper()
	p := planned{Kind: CPU, Seconds: 1, Start: noon.Add(time.Duration(i) * time.Minute), Stacks: stacks}.
		parse(t, fmt.Sprint(i))
	p.Group, p.Instance = "host", "host"
	return p
}

// TestSpreadOfCollection: garbage collection that drifts widens the interval of the function that
// causes it.
func TestSpreadOfCollection(t *testing.T) {
	width := func(collect ...int) float64 {
		var all []*Profile
		for i := range 12 {
			gc := collect[i%len(collect)]
			all = append(all, minuteOf(t, i,
				"50 runtime.mallocgc@/m.go:1 ex.com/svc/a.F@/a.go:1", "350 ex.com/svc/a.G@/a.go:9",
				fmt.Sprintf("%d runtime.gcDrain@/g.go:1 runtime.gcBgMarkWorker@/g.go:2", gc)))
		}
		h, err := Rank(all, Options{Checkout: &Checkout{Module: svc}})
		if err != nil {
			t.Fatal(err)
		}
		f := find(t, h, svc+"/a.F")
		return f.NetHigh - f.NetLow
	}
	if even, uneven := width(100), width(10, 190); uneven < 2*even {
		t.Errorf("the interval is %g wide with drift and %g without", uneven, even)
	}
}

// TestSpreadBelow: the share with all callees has a spread of its own, which the net share need not
// have.
func TestSpreadBelow(t *testing.T) {
	var all []*Profile
	for i := range 12 {
		all = append(all, minuteOf(t, i,
			"100 ex.com/svc/a.F@/a.go:1", fmt.Sprintf("%d ex.com/svc/a.G@/a.go:9 ex.com/svc/a.F@/a.go:2", 100+150*(i%2)),
			fmt.Sprintf("%d ex.com/svc/a.H@/a.go:20", 200-150*(i%2))))
	}
	h, err := Rank(all, Options{Checkout: &Checkout{Module: svc}})
	if err != nil {
		t.Fatal(err)
	}
	below, err := h.Subtree("a.F")
	if err != nil {
		t.Fatal(err)
	}
	if f := find(t, h, svc+"/a.F"); f.Effective < h.Effective*0.99 || below.Known > h.Effective/10 {
		t.Errorf("of %g samples %g tell the net share, which is the same in all, and %g the cum", h.Effective,
			f.Effective, below.Known)
	}
}

// TestMovedBeyondDrift: shares that differ by no more than those of one service's profiles did not
// move.
func TestMovedBeyondDrift(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 6))
	moved, o := 0, Options{Checkout: &Checkout{Module: svc}}
	const trials = 20
	for range trials {
		old, err := Rank(drifting(t, r, 20, 200, 0.15), o)
		if err != nil {
			t.Fatal(err)
		}
		now, err := Rank(drifting(t, r, 20, 200, 0.15), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(now.Compare(old).Moves) > 0 {
			moved++
		}
	}
	if moved > trials/5 {
		t.Errorf("%d of %d comparisons of a service with itself find moves", moved, trials)
	}
}
