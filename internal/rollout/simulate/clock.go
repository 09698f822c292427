package simulate

import (
	"math"

	"github.com/beagle-go/beagle/internal/rollout"
)

// These describe the times of a function on a busy machine.
const (
	timedCalls     = 120  // of an arm in a block
	preempted      = 2e-4 // share of the calls
	preemptedNanos = 4e6  // mean time until the call goes on
	callNoise      = 0.4  // of the logarithm of a call's time
)

// clock times calls one by one, and enters them by size as package probe/rollout does.
func (w *world) clock(c *rollout.Counts, arm rollout.Arm, truth Truth, factor float64) {
	timed := w.Timed
	if timed == 0 {
		timed = timedCalls
	}
	c.Calls = float64(timed)
	for range timed {
		nanos := functionNanos * factor * (1 + truth.Function + w.luck[arm]) * math.Exp(callNoise*w.rng.NormFloat64())
		if truth.Class > 0 && w.rng.Float64() < truth.Class {
			nanos *= truth.Times
		}
		if w.rng.Float64() < preempted {
			nanos += preemptedNanos * w.rng.ExpFloat64()
		}
		c.FunctionNanos += nanos
		enter(c, nanos)
	}
}

// enter adds a call to those of its size: two sizes for each power of two.
func enter(c *rollout.Counts, nanos float64) {
	fraction, exponent := math.Frexp(nanos)
	below := math.Ldexp(1, exponent)
	if fraction < 0.75 {
		below = math.Ldexp(0.75, exponent)
	}
	c.AddTimes(rollout.Times{Below: below, Calls: 1, Nanos: nanos})
}
