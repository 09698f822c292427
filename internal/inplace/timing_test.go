package inplace

import (
	"math"
	"testing"

	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/rt"
)

// TestWaitsDoNotCount: a version that is twice as fast comes out twice as fast, however often it
// waits for a processor, and whatever the number of calls in a slice.
func TestWaitsDoNotCount(t *testing.T) {
	const us = 1000
	for _, calls := range []int{1, 100_000} {
		for _, every := range []int{1, 2, 20} { // a slice of the faster version has to wait
			s := newSliceResult(2)
			s.calls = calls
			for r := range 60 {
				base, fast, wait := int64(100*us+r), int64(50*us+r), int64(0)
				if r%every == 0 {
					wait = 500 * us
				}
				s.wall[0], s.cpu[0] = append(s.wall[0], base), append(s.cpu[0], base)
				s.wall[1], s.cpu[1] = append(s.wall[1], fast+wait), append(s.cpu[1], fast)
			}
			out := emptyTiming()
			s.addRounds(out, 0, 1, 1)
			if ratio := math.Exp(bench.Compare(out, 0, 1).Log); math.Abs(ratio-2) > 0.02 {
				t.Errorf("%d calls, one slice of %d waits: %.2fx", calls, every, ratio)
			}
		}
	}
}

// TestOneClockARound: where a version slept, no clock tells its processor time. Both versions then
// pay for their waits for a processor, not that one alone.
func TestOneClockARound(t *testing.T) {
	const us = 1000
	s := newSliceResult(2)
	s.calls = perCalls
	for r := range int64(60) {
		s.wall[0], s.cpu[0] = append(s.wall[0], 1500*us+r), append(s.cpu[0], -1)
		s.wall[1], s.cpu[1] = append(s.wall[1], 500*us+r), append(s.cpu[1], 50*us)
	}
	out := emptyTiming()
	s.addRounds(out, 0, 1, 1)
	if ratio := math.Exp(bench.Compare(out, 0, 1).Log); math.Abs(ratio-3) > 0.02 {
		t.Errorf("%.2fx, want 3x by the wall clock", ratio)
	}
}

// emptyTiming returns a timing of two versions with one window, without rounds.
func emptyTiming() *rt.Timing {
	return &rt.Timing{
		Calls: perCalls, Windows: 1, Passes: []int{1, 1}, Weights: make([]float64, 1),
		Wall: make([][]int64, 2), CPU: make([][]int64, 2),
		Allocs: make([]float64, 2), Bytes: make([]float64, 2),
	}
}
