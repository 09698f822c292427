package aggregate

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/metricsd/dogstatsd"
)

// TestSketchesAreInTheBudget sends pairs of values so far apart that the bins between them
// take 32 KB a sketch, and enough of them that they go to the bins at once: what is allocated for
// them stays within limits.bytes, serves as many contexts in every bucket, and comes back.
func TestSketchesAreInTheBudget(t *testing.T) {
	const bound = 16 << 20
	samples := make([]*Sample, 2000)
	for i := range samples {
		samples[i] = sample(t, fmt.Sprintf("m%d%s|d", i, strings.Repeat(":1e-9:1e20", handful)))
	}
	before := heap()
	a := New(2, Limits{Bytes: bound, Expiry: 1})
	for now := int64(0); now < 60; now += 10 { // open and last buckets both have sketches
		for _, s := range samples {
			a.Add(s, now)
		}
		if s := a.Stats(); s.Bytes > bound || s.Bytes < bound*9/10 || s.DroppedBytes == 0 {
			t.Errorf("at %d: %d bytes of %d, %d dropped", now, s.Bytes, bound, s.DroppedBytes)
		}
		if grown := heap() - before; grown > bound || grown < bound/2 {
			t.Errorf("at %d: the heap has %d bytes more, the bound is %d", now, grown, bound)
		}
		if n := len(a.Flush(now + BucketSeconds)); n < bound*8/10/(40<<10) {
			t.Errorf("at %d: %d contexts had points", now, n)
		}
	}
	for i := range int64(4) {
		a.Flush(70 + 10*i)
	}
	if s := a.Stats(); s.Contexts != 0 || s.Bytes != 0 {
		t.Errorf("when all is gone: %+v", s)
	}
	runtime.KeepAlive(samples)
}

// TestKnownBinsNeedNoRoom has a sketch in a full budget: what falls into its span is taken,
// of both signs apart, and what does not is dropped and counted as such.
func TestKnownBinsNeedNoRoom(t *testing.T) {
	a := New(1, Limits{Bytes: contextBytes(&Context{Name: "d", Type: dogstatsd.Distribution}) + 2*2000})
	feed(t, a, 0, "d:1:2|d", "d:-1|d", "d:1.5:0|d", "d:1e20|d", "d:1:-1e20|d")
	s := one(t, a.Drain()).Summary
	if stats := a.Stats(); s.Count != 6 || s.Max != 2 || s.Min != -1 || stats.DroppedBytes != 2 || stats.Samples != 4 || stats.Untrackable != 0 {
		t.Errorf("%+v, %+v", s, stats)
	}
}

// A context of which nothing can be taken any more shows nothing of before, and gives its room
// to others.
func TestWhatIsShownIsOfTheLastBucket(t *testing.T) {
	a := New(1, DefaultLimits())
	feed(t, a, 0, "d:1:2|d")
	a.Flush(10)
	before := a.Stats().Bytes
	feed(t, a, 10, "d:1.7e308|d")
	if points := a.Flush(20); len(points) != 0 {
		t.Errorf("points of nothing: %+v", points)
	}
	s := a.States()[0]
	if s.Last != nil || s.Count != 2 || a.Stats().Bytes >= before {
		t.Errorf("got %+v, %d bytes after %d", s, a.Stats().Bytes, before)
	}
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
