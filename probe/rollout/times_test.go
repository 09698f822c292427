package rollout

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/beagle-go/beagle/probe/wire"
)

// TestBuckets checks that each time lies in the bucket whose bounds hold it.
func TestBuckets(t *testing.T) {
	for range 100_000 {
		n := rand.Uint64() >> (rand.IntN(40) + 24)
		b := bucketOf(n)
		if b < buckets-1 && float64(n) >= bucketBound(b) || b > 0 && float64(n) < bucketBound(b-1) {
			t.Fatalf("%d is in bucket %d, below %g", n, b, bucketBound(b))
		}
	}
	for n, want := range map[uint64]float64{0: 1, 1: 2, 2: 3, 3: 4, 4: 6, 6: 8, 100: 128, 1000: 1024} {
		if got := bucketBound(bucketOf(n)); got != want {
			t.Errorf("%d is below %g, want %g", n, got, want)
		}
	}
}

// TestEnterTimes checks that the shards' times come out by size, in order, whichever slice they
// came from.
func TestEnterTimes(t *testing.T) {
	s := &Switch{shards: make([]shard, 2)}
	var c wire.RolloutCounts
	sum, last := 0.0, times{}
	for round := range 3 {
		for i := range 100 {
			n := uint64((round + 1) * i * 7)
			s.shards[i%2].of[Candidate].times.add(n)
			sum += float64(n)
		}
		now := s.timesOf(Candidate)
		enterTimes(&c, &last, &now)
		last = now
	}
	calls, nanos, below := 0.0, 0.0, 0.0
	for _, x := range c.Times {
		if x.Below <= below || x.Nanos > x.Calls*x.Below {
			t.Errorf("%+v after %g", x, below)
		}
		calls, nanos, below = calls+x.Calls, nanos+x.Nanos, x.Below
	}
	if calls != 300 || c.Calls != 300 || nanos != sum || c.FunctionNanos != sum {
		t.Errorf("%g calls, %g ns; %+v", calls, nanos, c)
	}
}

// TestChosen checks that the same share of calls is timed, wherever they stand in a pattern, and
// that no call is chosen for both.
func TestChosen(t *testing.T) {
	for _, every := range []uint64{1, 2, 8, timeEvery} {
		const n, pattern = 1 << 20, 16
		var timed, checked [pattern]float64
		for i := range uint64(n) {
			a, b := chosen(i, one(every))
			if a {
				timed[i%pattern]++
			}
			if b {
				checked[i%pattern]++
			}
			if a && b && every > 2 {
				t.Fatalf("call %d is timed and checked", i)
			}
		}
		for at := range pattern {
			want := n / float64(every) / pattern
			if math.Abs(timed[at]-want) > 0.1*want || math.Abs(checked[at]-n/checkEvery/pattern) > 10 {
				t.Errorf("one in %d, at %d: %g timed, %g checked", every, at, timed[at], checked[at])
			}
		}
	}
}

// TestTune checks that all of few calls are timed, and not all of many.
func TestTune(t *testing.T) {
	var s Switch
	for calls, want := range map[float64]uint64{0: 1, 3000: 1, 5000: 2, 1e9: timeEvery} {
		if s.tune(calls); s.timed.Load() != one(want) {
			t.Errorf("%g calls: one in %d", calls, math.MaxUint64/max(1, s.timed.Load()))
		}
	}
}
