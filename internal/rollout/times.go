package rollout

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Times are timed calls of one size: those below a time, and not below the size before.
type Times struct {
	Below float64 `json:"below"` // nanoseconds
	Calls float64 `json:"calls"`
	Nanos float64 `json:"nanos"` // their time, summed
}

// The clock also runs while the kernel gives the processor to others. On a busy machine, one timed
// call in 100,000 of a 20 ns function was preempted, and took as long as all others together. So
// the time of a call counts up to a cap, which all arms of a block share:
//
//   - The cap is capFactor the time that capShare of the block's calls, of all arms, do not reach.
//     To exchange two arms leaves it as it is, so that two copies of the original differ by chance
//     alone.
//   - Calls above the cap count up to it in the mean: a class of calls that is slow on the
//     candidate moves the mean, by capFactor an ordinary long call at most for each.
//   - How many calls pass the cap is compared as a metric of its own, [LateCalls]. A version that
//     is slow beyond the cap on more calls than the original shows there.
//   - Their time beyond the cap is a metric too, [LateTime]: a class of calls that is too rare for
//     LateCalls may still wait for longer than all others take. It is a share of what calls of all
//     arms take: the clock's own time is preempted, too, and of a candidate that takes half the
//     time that is a larger share of its own. Preempted calls make it noisy, so it shows harm, and
//     hardly ever shows that there is none.
const (
	capShare  = 0.99
	capFactor = 8
)

// leastTimed is the default of [Plan].LeastTimed. A class of one call in 5,000 is then among the
// timed calls ten times on average. With fewer calls a class that waits for long is often not among
// them, or too seldom to stand out from preempted calls, and no metric shows it.
const leastTimed = 50_000

// checkTimes refuses sizes that no source sends.
func (c *Counts) checkTimes() error {
	last := 0.0
	for _, t := range c.Times {
		for _, v := range []float64{t.Below, t.Calls, t.Nanos} {
			if math.IsNaN(v) || v < 0 || v > maxCount {
				return fmt.Errorf("times hold %g: send calls and nanoseconds by size", v)
			}
		}
		if t.Below <= last {
			return fmt.Errorf("times of calls below %g ns follow those below %g: send the smallest size first",
				t.Below, last)
		}
		last = t.Below
	}
	return nil
}

// addTimes adds calls by size.
func (c *Counts) addTimes(more []Times) {
	for _, t := range more {
		c.AddTimes(t)
	}
}

// AddTimes adds calls of one size. Calls by size stay in order.
func (c *Counts) AddTimes(t Times) {
	at, found := slices.BinarySearchFunc(c.Times, t.Below, func(t Times, below float64) int {
		return cmp.Compare(t.Below, below)
	})
	if !found {
		c.Times = slices.Insert(c.Times, at, Times{Below: t.Below})
	}
	c.Times[at].Calls += t.Calls
	c.Times[at].Nanos += t.Nanos
}

// capBlock bounds the times of calls in a block's sums, if every arm that was timed has them by
// size.
func capBlock(arms map[Arm]*Counts) {
	var all Counts
	for _, c := range arms {
		if len(c.Times) == 0 && c.Calls > 0 {
			return
		}
		all.addTimes(c.Times)
	}
	most, nanos, calls := all.cap(), 0.0, 0.0
	for _, c := range arms {
		if len(c.Times) > 0 {
			c.capped(most)
			nanos, calls = nanos+c.FunctionNanos, calls+c.Calls
		}
	}
	for _, c := range arms {
		if calls > 0 {
			c.usualNanos = c.Calls * nanos / calls
		}
	}
}

// cap returns the time up to which calls count.
func (c *Counts) cap() float64 {
	calls := 0.0
	for _, t := range c.Times {
		calls += t.Calls
	}
	reached := 0.0
	for _, t := range c.Times {
		if reached += t.Calls; reached >= capShare*calls {
			return capFactor * t.Below
		}
	}
	return math.Inf(1)
}

// capped sums the times of calls up to a cap, and counts the calls that pass it.
func (c *Counts) capped(most float64) {
	c.Calls, c.FunctionNanos, c.late, c.lateNanos = 0, 0, 0, 0
	for _, t := range c.Times {
		c.Calls += t.Calls
		if t.Below <= most {
			c.FunctionNanos += t.Nanos
			continue
		}
		c.late += t.Calls
		c.lateNanos += max(0, t.Nanos-t.Calls*most)
		c.FunctionNanos += t.Calls * most
	}
}

// Late are the calls of all arms that passed the cap, in all blocks.
type Late struct {
	Timed     float64 `json:"timed"`
	Late      float64 `json:"late"`
	Candidate float64 `json:"candidate"` // timed calls of the candidate alone
}

// tooFewCalls returns why too few calls of the candidate were timed, or "".
func (l Late) tooFewCalls(least int) string {
	if l.Timed == 0 || l.Candidate >= float64(least) {
		return ""
	}
	return fmt.Sprintf("%.0f of %d calls of the candidate are timed: with fewer, slow calls that are rare may "+
		"not be among them", l.Candidate, least)
}

// Text describes how many calls were capped, or nothing where none was timed by size.
func (l Late) Text() string {
	if l.Timed == 0 {
		return ""
	}
	return fmt.Sprintf("of %.0f timed calls %.0f (%.2g %%) took more than %d times what 99 %% of a block's calls "+
		"take, and count as that", l.Timed, l.Late, 100*l.Late/l.Timed, capFactor)
}
