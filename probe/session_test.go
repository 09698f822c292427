package probe

import (
	"testing"
	"time"

	"github.com/beagle-go/beagle/probe/wire"
)

// TestAfford checks that calls that are costly to record are captured less often, and others not.
func TestAfford(t *testing.T) {
	type load struct {
		nanos int64
		calls uint64  // a second
		want  float64 // quota, in calls a second
	}
	for name, c := range map[string][]load{
		"nothing is known yet":     {{0, 0, 1000}, {0, 0, 1000}},
		"0.15 % of a core each":    {{500, 5000, 1000}, {500, 5000, 1000}},
		"3 % each":                 {{10_000, 5000, 66.7}, {10_000, 5000, 66.7}},
		"few calls":                {{10_000, 50, 1000}, {10_000, 50, 1000}},
		"few calls, 1.5 % each":    {{100_000, 50, 6.67}, {100_000, 50, 6.67}},
		"one that is never called": {{100_000, 0, 1000}, {1000, 5000, 1000}},
		"a cheap one beside":       {{100_000, 5000, 8.33}, {500, 5000, 1000}},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := newProber()
			var sites [2]Site
			add[one, struct{}](p, &sites[0], "m/p.F")
			add[one, struct{}](p, &sites[1], "m/p.G")
			s := begin(t, p, wire.Start{Sites: []string{"m/p.F", "m/p.G"}, Rate: 1000})
			for i, a := range s.sites {
				a.nanos.Store(c[i].nanos)
				if c[i].nanos > 0 {
					a.counted.Store(int64(time.Second))
				}
				a.window.Store(c[i].calls)
			}
			var got [2]float64
			const ticks = 13 * 20
			for k := range ticks {
				s.tick(2+k%13, time.Now()) // none opens or closes a window
				for i, a := range s.sites {
					got[i] += float64(a.quota.Swap(0)) / (ticks * tick.Seconds())
				}
			}
			for i := range c {
				if got[i] < 0.9*c[i].want || got[i] > 1.1*c[i].want {
					t.Errorf("site %d: %.1f calls a second may be captured, want %.1f", i, got[i], c[i].want)
				}
			}
		})
	}
}

// TestSpent checks that the estimate of the median soon forgets the first call, and that calls
// which the kernel interrupts do not move it.
func TestSpent(t *testing.T) {
	for _, c := range []struct {
		first, usual, seldom time.Duration // one call in ten is the last
		calls                int
	}{
		{10 * time.Millisecond, 2 * time.Microsecond, 2 * time.Microsecond, 20},
		{time.Microsecond, 500 * time.Microsecond, 500 * time.Microsecond, 30},
		{2 * time.Microsecond, 2 * time.Microsecond, 5 * time.Millisecond, 500},
	} {
		var a arming
		for i := range c.calls {
			d := c.usual
			if i == 0 {
				d = c.first
			} else if i%10 == 5 {
				d = c.seldom
			}
			a.taken.Add(1)
			a.addCost(d)
		}
		if got := time.Duration(a.nanos.Load()); got < c.usual/3 || got > 3*c.usual {
			t.Errorf("%v, then %v and seldom %v: the median is %v", c.first, c.usual, c.seldom, got)
		}
	}
}
