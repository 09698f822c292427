package probe

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestParts checks that durations of all sizes are counted in a part whose middle is near.
func TestParts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		d := max(1, r.Uint64()>>r.IntN(64))
		if d >= 4 && math.Abs(middle(part(d))/float64(d)-1) > 0.13 {
			t.Fatalf("%d is counted with %g", d, middle(part(d)))
		}
	}
}

// TestInFlight simulates a service in which calls of very different lengths overlap. The captured
// calls must give the number in flight when a call begins.
func TestInFlight(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const rate = 2000.0
	var l lasting
	now, ends, inside, n := 0.0, []float64{}, 0.0, 0
	for i := range 200_000 {
		now += r.ExpFloat64() / rate
		ends = slices.DeleteFunc(ends, func(end float64) bool { return end <= now })
		length := 0.001 * math.Exp(r.NormFloat64()) // a millisecond, and 20 now and then
		if i > 1000 {
			inside += float64(len(ends))
			n++
			if i%100 == 0 {
				l.enter(int64(length * 1e9))
			}
		}
		ends = append(ends, now+length)
	}
	got, want := l.inFlight(rate), inside/float64(n)
	if math.Abs(got.Mean/want-1) > 0.1 || got.Calls < 1900 {
		t.Errorf("%+v; %g calls are in flight when one begins", got, want)
	}
	if math.Abs(got.Median/2-1) > 0.15 || got.P95 < 2*got.Median || got.P99 < got.P95 || got.Most < got.P99 {
		t.Errorf("%+v", got)
	}
	if l.inFlight(0) != nil || new(lasting).inFlight(rate) != nil {
		t.Error("something is said of nothing")
	}
}

// TestSettle checks that the calls which are still under way after the time are few enough.
func TestSettle(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var l lasting
	var all []float64
	for range 20_000 {
		d := 1e5 * math.Exp(1.5*r.NormFloat64())
		all = append(all, d)
		l.enter(int64(d))
	}
	for _, rate := range []float64{10, 100, 1000, 10_000} {
		settle, unseen := float64(l.settle(rate)), 0.0
		for _, d := range all {
			unseen += max(0, d-settle) / 1e9 * rate / float64(len(all))
		}
		if unseen > 1.3*maxUnseen || settle > 1e5 && unseen < 0.3*maxUnseen {
			t.Errorf("at %g calls a second %.4f are under way after %.3g ns", rate, unseen, settle)
		}
	}
	if new(lasting).settle(100) != 0 {
		t.Error("something is said of nothing")
	}
}
