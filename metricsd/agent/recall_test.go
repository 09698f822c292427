package agent

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/beagle-go/beagle/metricsd/aggregate"
)

func fastWorker(cache int, limits aggregate.Limits) *Worker {
	in := NewIntake(aggregate.New(2, limits), "", 7)
	in.Cache = cache
	return in.Worker()
}

// value returns the value that a scrape shows of a metric.
func value(w *Worker, name string) float64 {
	for _, s := range w.Aggregator.States() {
		if s.Name == name {
			return s.Value
		}
	}
	return -1
}

// TestContextsThatGoWhileSamplesWait expires contexts between reading and settling. Handles that
// were valid when they were looked up are stale then.
func TestContextsThatGoWhileSamplesWait(t *testing.T) {
	w := fastWorker(1000, aggregate.Limits{Expiry: 1})
	lines := []byte("g:1|g|#a,b\ng:2|g|#b,a\nc:3|c")
	for range 3 {
		w.Datagram(lines, false, "udp", 1000)
	}
	w.Read([]byte("g:5|g|#a,b\nc:7|c\ng:6|g|#b,a"), false, 1001)
	if n := w.recall.batch.Len(); n != 3 {
		t.Fatalf("%d samples wait, want 3", n)
	}
	for now := int64(1010); now < 1050; now += 10 {
		w.Aggregator.Flush(now)
	}
	w.Settle(1050)
	if g, c := value(w, "g"), value(w, "c"); g != 6 || c != 7 {
		t.Errorf("the gauge is %v, want the last value, 6; the count %v, want 7", g, c)
	}
	if s := w.Aggregator.Stats(); s.Expired != 2 || s.Contexts != 2 || w.Counters.Metrics.Load() != 12 {
		t.Errorf("%+v, %d metrics", s, w.Counters.Metrics.Load())
	}
	before := w.Counters.Known.Load()
	w.Datagram(lines, false, "udp", 1051)
	if known := w.Counters.Known.Load() - before; known != 3 {
		t.Errorf("%d of 3 lines are known again", known)
	}
}

// TestCacheIsBoundedAndLetsGo fills a cache with more lines than it has room for, and then expires
// them.
func TestCacheIsBoundedAndLetsGo(t *testing.T) {
	const lines = 1000
	w := fastWorker(lines, aggregate.Limits{Expiry: 1})
	for i := range 20 * lines {
		w.Datagram(fmt.Appendf(nil, "m%d:1|c\nm%d:2|c", i, i), false, "udp", 1000)
	}
	c := w.recall.cache
	if places := len(c.sets) * placesPerSet; places < lines || places > 2*lines || c.filled > places {
		t.Errorf("%d places, %d are in use; asked were %d", places, c.filled, lines)
	}
	for now := int64(1010); now < 1050; now += 10 {
		w.Aggregator.Flush(now)
	}
	w.Datagram(nil, false, "udp", 1050)
	if w.recall.cache.filled != 0 || slices.ContainsFunc(c.sets, func(s cachedSet) bool { return s != cachedSet{} }) {
		t.Errorf("%d lines keep contexts that have gone", w.recall.cache.filled)
	}
}

// TestLinesThatComeAgainAreKnown checks that as many lines stay as there is room for, in whichever
// order they come, and that frequent lines stay among many that come once.
func TestLinesThatComeAgainAreKnown(t *testing.T) {
	const lines = 20_000
	share := func(next func(i int) int) float64 {
		w := fastWorker(lines, aggregate.Limits{})
		known := uint64(0)
		for i := range 10 * lines {
			if i == 8*lines {
				known = w.Counters.Known.Load()
			}
			w.Datagram(fmt.Appendf(nil, "m%d:1|c|#a:b", next(i)), false, "udp", 1000)
		}
		return float64(w.Counters.Known.Load()-known) / (2 * lines)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	if s := share(func(i int) int { return i % lines }); s < 0.9 {
		t.Errorf("of lines in turn %.1f %% are known", 100*s)
	}
	if s := share(func(int) int { return rng.IntN(lines) }); s < 0.95 {
		t.Errorf("of lines at random %.1f %% are known", 100*s)
	}
	often := func(i int) int {
		if i%2 == 0 {
			return lines + i
		}
		return rng.IntN(1000)
	}
	if s := share(often); s < 0.47 {
		t.Errorf("of 1,000 lines among as many that come once %.1f %% are known", 200*s)
	}
}

// TestRandomLinesAreNotLookedUp checks that hardly any line is looked up where none repeats, and
// that lines are known soon after they repeat.
func TestRandomLinesAreNotLookedUp(t *testing.T) {
	w := fastWorker(10_000, aggregate.Limits{Contexts: 100})
	const random = 500_000
	looked, passing := 0, false
	for i := range random {
		if passing = w.recall.doubt.passed > 0; !passing {
			looked++
		}
		w.Datagram(fmt.Appendf(nil, "m:1|c|#id:%d", i), false, "udp", 1000)
	}
	if looked > random/10 {
		t.Errorf("%d of %d lines were looked up", looked, random)
	}
	for range 2 * stretch * longestPass {
		w.Datagram([]byte("m:1|c|#id:1"), false, "udp", 1000)
	}
	before := w.Counters.Known.Load()
	if w.Datagram([]byte("m:1|c|#id:1"), false, "udp", 1000); w.Counters.Known.Load() != before+1 {
		t.Error("a line that came again is not known")
	}
}

// TestKnownLinesCostNoAllocation checks the purpose of the cache.
func TestKnownLinesCostNoAllocation(t *testing.T) {
	w := fastWorker(1000, aggregate.Limits{})
	datagram := []byte("a:1|c|#x,y\nb:2.5:3|g|@0.5\nc:7|ms|c:ci-1")
	for range 50 {
		w.Datagram(datagram, false, "udp", 1000)
	}
	before := w.Counters.Known.Load()
	allocs := testing.AllocsPerRun(100, func() { w.Datagram(datagram, false, "udp", 1000) })
	if known := w.Counters.Known.Load() - before; allocs > 0 || known != 3*101 {
		t.Errorf("%v allocations a datagram, %d lines known", allocs, known)
	}
}
