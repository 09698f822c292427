package datadog

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
)

// agentKey returns the bin that Datadog's agent puts a value into (pkg/util/quantile, eps 1/128,
// min 1e-9), written down from its rules.
func agentKey(v float64) int32 {
	if v < 0 {
		return -agentKey(-v)
	}
	if least := math.Pow(1.015625, -1337); v < least {
		return 0
	}
	return int32(min(math.RoundToEven(math.Log(v)/math.Log1p(1.0/64))+1338, math.MaxInt16))
}

func summary(rate float64, values ...float64) *aggregate.Summary {
	a := aggregate.New(1, aggregate.Limits{})
	a.Add(&aggregate.Sample{Context: aggregate.Context{Name: "d", Type: dogstatsd.Distribution}, Values: values,
		Rate: rate}, 0)
	return a.Drain()[0].Summary
}

// TestBinsAreThoseOfTheAgent compares values over the whole range that sketches hold.
func TestBinsAreThoseOfTheAgent(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		v := math.Exp(rng.Float64()*120-20) * float64(1-2*rng.IntN(2))
		b := binsOf(summary(1, v))
		if len(b.keys) != 1 || b.keys[0] != agentKey(v) || b.counts[0] != 1 {
			t.Fatalf("%v is in %v, the agent has it in %d", v, b, agentKey(v))
		}
	}
	for v, want := range map[float64]int32{0: 0, 1e-10: 0, -1e-12: 0, 1: 1338, -1: -1338, 1e300: math.MaxInt16,
		-1e300: -math.MaxInt16} {
		if b := binsOf(summary(1, v)); len(b.keys) != 1 || b.keys[0] != want {
			t.Errorf("%v is in %v, want %d", v, b.keys, want)
		}
	}
}

// TestWithoutSketchesNothingIsCopied checks that without sketches the same slice of points is
// handed on: a flush may have a million.
func TestWithoutSketchesNothingIsCopied(t *testing.T) {
	points := []aggregate.Point{distribution(1), count("c", 1)}
	bodies, rest := new(Output).packSketches(points)
	if bodies != nil || len(rest) != 2 || &rest[0] != &points[0] {
		t.Errorf("%d bodies, %d points", len(bodies), len(rest))
	}
}

func TestBinsAreInOrderAndWhole(t *testing.T) {
	b := binsOf(summary(1, 3, -2, 0, 1e-11, 3, -70, 1))
	want := []int32{agentKey(-70), agentKey(-2), 0, agentKey(1), agentKey(3)}
	if !slices.Equal(b.keys, want) || !slices.Equal(b.counts, []uint32{1, 1, 2, 1, 2}) || b.total != 7 {
		t.Errorf("%+v, want keys %v", b, want)
	}
	// Five bins of 3.33 each: the total is right although no bin can be.
	b = binsOf(summary(0.3, 1, 2, 4, 8, 16))
	if sum(b.counts) != 17 || b.total != 17 || slices.Min(b.counts) != 3 || slices.Max(b.counts) != 4 {
		t.Errorf("%+v", b)
	}
	// Like the agent, use further bins of the same number for counts above 16 bits.
	b = binsOf(summary(1.0/200_000, 5))
	if k := agentKey(5); !slices.Equal(b.keys, []int32{k, k, k, k}) ||
		!slices.Equal(b.counts, []uint32{3395, 65535, 65535, 65535}) {
		t.Errorf("%+v", b)
	}
}

// TestSketchesAreBounded checks that the payload stays bounded when a sample rate says that a line
// stands for more values than there are atoms.
func TestSketchesAreBounded(t *testing.T) {
	for _, rate := range []float64{1e-9, 1e-15, 1e-200} {
		b := binsOf(summary(rate, 1, 2, 3, 4))
		if len(b.keys) > 5000 || b.total != maxCount || sum(b.counts) != b.total || !b.over {
			t.Errorf("at a rate of %v: %d bins, %d values", rate, len(b.keys), b.total)
		}
	}
}

func sum(counts []uint32) (n int64) {
	for _, c := range counts {
		n += int64(c)
	}
	return n
}
