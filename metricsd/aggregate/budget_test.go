package aggregate

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/metricsd/dogstatsd"
)

// TestSketchesAreInTheBudget sends pairs of values so far apart that the bins between them take 32
// KB a sketch. There are enough pairs to go to the bins at once. The sketches stay within
// limits.bytes, the same number of contexts fits in every bucket, and the bytes come back.
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

// TestKnownBinsNeedNoRoom fills the budget that a sketch is in. The sketch takes values within its
// span, for both signs, and drops and counts all others.
func TestKnownBinsNeedNoRoom(t *testing.T) {
	a := New(1, Limits{Bytes: contextBytes(&Context{Name: "d", Type: dogstatsd.Distribution}) + 2*2000})
	feed(t, a, 0, "d:1:2|d", "d:-1|d", "d:1.5:0|d", "d:1e20|d", "d:1:-1e20|d")
	s := one(t, a.Drain()).Summary
	if stats := a.Stats(); s.Count != 6 || s.Max != 2 || s.Min != -1 || stats.DroppedBytes != 2 || stats.Samples != 4 ||
		stats.Untrackable != 0 {
		t.Errorf("%+v, %+v", s, stats)
	}
}

// TestWhatIsShownIsOfTheLastBucket checks that a context that can take no more values shows no old
// ones, and gives its room to others.
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

// TestBytesAreOnTheSafeSide compares the budget with the heap, for contexts that share nothing:
// never less, and at most twice as much. The numbers of contexts lie before and after maps grow.
func TestBytesAreOnTheSafeSide(t *testing.T) {
	for _, test := range []struct {
		values string
		most   float64 // accounted for each byte of the heap
	}{
		{"1|c", 1.3}, {"1|g", 1.3}, {"x|s", 1.3}, {"1|c|#tag.%[1]d,t.%[1]d", 1.3}, {"0|d", 1.3}, {"5|d", 2}, {"-5:5|ms", 2}, {"1:1e6|h", 2},
	} {
		for _, n := range []int{1000, 1800, 3700} {
			before := heap()
			a := New(1, Limits{})
			for now := int64(0); now < 30; now += BucketSeconds {
				a.Flush(now)
				for i := range n {
					s := sample(t, fmt.Sprintf("name.%d:"+test.values, i))
					for range handful + 1 { // the bins have them, and one waits
						a.Add(s, now)
					}
				}
			}
			grown, accounted := float64(heap()-before)/float64(n), float64(a.Stats().Bytes)/float64(n)
			if accounted < grown || accounted > test.most*grown {
				t.Errorf("%s: %d contexts: %.0f bytes of the heap each, %.0f accounted", test.values, n,
					grown, accounted)
			}
			runtime.KeepAlive(a)
		}
	}
}

// TestBinsAreOnTheSafeSide lets sketches grow in steps, so that append allocates more than it
// needs.
func TestBinsAreOnTheSafeSide(t *testing.T) {
	const n = 50
	for _, step := range []int{1, 10, 64, 130, 500} {
		for _, bins := range []int{2, 70, 130, 260, 700, 2000, 4200} {
			before := heap()
			a := New(1, Limits{})
			for i := range n {
				s := sample(t, fmt.Sprintf("name.%d:1|d", i))
				for bin := 0; bin <= bins; bin += step {
					s.Values = slices.Repeat([]float64{math.Pow(SketchGamma, float64(bin-bins/4))}, handful)
					a.Add(s, 0)
				}
			}
			if grown, accounted := (heap()-before)/n, a.Stats().Bytes/n; accounted < grown {
				t.Errorf("%d bins in steps of %d: %d bytes of the heap, %d accounted", bins, step, grown, accounted)
			}
			runtime.KeepAlive(a)
		}
	}
}

func heap() int {
	var m runtime.MemStats
	for range 2 { // what a sync.Pool holds outlives one
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
