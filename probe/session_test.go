package probe

import (
	"testing"
	"time"

	"github.com/beagle-go/beagle/probe/wire"
)

// TestAfford checks that calls that are costly to record are captured less often, over all sites.
func TestAfford(t *testing.T) {
	p, _ := newProber()
	var sites [2]Site
	add[one, struct{}](p, &sites[0], "m/p.F")
	add[one, struct{}](p, &sites[1], "m/p.G")
	s := begin(t, p, wire.Start{Sites: []string{"m/p.F", "m/p.G"}, Rate: 1000})
	allowed := func() (perSecond float64) {
		for n := 2; n < 12; n++ {
			s.tick(n, time.Now())
			for _, a := range s.sites {
				perSecond += float64(a.quota.Load()) / (10 * tick.Seconds())
			}
		}
		return perSecond
	}
	for _, c := range []struct {
		nanos int64
		calls uint64  // a second
		want  float64 // calls a second of both sites
	}{
		{0, 0, 2000},                // nothing is known yet
		{500, 0, 2000},              // 0.15 % of a core each
		{10_000, 0, 133},            // 3 % each would be 15 times too much
		{10_000, 50, 2000},          // few calls come, and are not costly together
		{100_000, 50, 2000 * 0.133}, // 1.5 % each
	} {
		for _, a := range s.sites {
			a.nanos.Store(c.nanos)
			a.counted.Store(int64(time.Second))
			a.window.Store(c.calls)
		}
		if got := allowed(); got < 0.9*c.want || got > 1.1*c.want {
			t.Errorf("%d ns a call, %d calls a second: %.0f are captured, want %.0f", c.nanos, c.calls, got, c.want)
		}
	}
}
