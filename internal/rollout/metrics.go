package rollout

import (
	"fmt"
	"math"
)

// A Metric names one thing that is compared between arms. More is worse in all
// of them.
type Metric string

// The metrics.
const (
	FunctionTime Metric = "function-time" // time of the function per call, up to a cap (see capShare)
	LateCalls    Metric = "late-calls"    // share of the function's calls that pass the cap
	LateTime     Metric = "late-time"     // time of calls beyond the cap, as a share of that up to it, of all arms
	ServiceCPU   Metric = "service-cpu"   // processor time of the process per request
	RequestTime  Metric = "request-time"  // time from a request's arrival to its answer
	ErrorRate    Metric = "errors"        // share of requests that failed
	SlowShare    Metric = "slow"          // share of requests slower than the plan's threshold
	AllocBytes   Metric = "alloc-bytes"   // allocated bytes per request
	LiveHeap     Metric = "live-heap"     // level of the live heap; shared by arms in one process
	HeapGrowth   Metric = "heap-growth"   // growth of the live heap in a slice, as a share of its level
	GCShare      Metric = "gc-share"      // the collector's share of processor time
)

// A Scale is the unit of a metric's effect.
type Scale string

const (
	Relative Scale = "relative" // as a share of the original's value
	Absolute Scale = "absolute" // as a difference of shares
)

// measures holds what the metrics read from an arm's counts: a value and
// whether there is one.
var measures = map[Metric]struct {
	scale Scale
	value func(Counts) (float64, bool)
	rare  bool // bounded by the number of requests: one more request could differ
	whole bool // of the process as a whole, whichever arms run in it
	calls bool // a share of the function's calls, not of requests
}{
	FunctionTime: {scale: Relative, value: func(c Counts) (float64, bool) { return ratio(c.FunctionNanos, c.Calls) }},
	LateCalls: {scale: Absolute, rare: true, calls: true, value: func(c Counts) (float64, bool) {
		if len(c.Times) == 0 {
			return 0, false
		}
		return ratio(c.late, c.Calls)
	}},
	LateTime: {scale: Absolute, value: func(c Counts) (float64, bool) {
		if len(c.Times) == 0 {
			return 0, false
		}
		return ratio(c.lateNanos, c.usualNanos)
	}},
	RequestTime: {scale: Relative, value: func(c Counts) (float64, bool) { return ratio(c.RequestNanos, c.Requests) }},
	ServiceCPU: {scale: Relative, whole: true,
		value: func(c Counts) (float64, bool) { return ratio(c.CPUNanos, c.Requests) }},
	ErrorRate: {scale: Absolute, rare: true,
		value: func(c Counts) (float64, bool) { return ratio(c.Errors, c.Requests) }},
	SlowShare: {scale: Absolute, rare: true,
		value: func(c Counts) (float64, bool) { return ratio(c.Slow, c.Requests) }},
	AllocBytes: {scale: Relative, whole: true, value: func(c Counts) (float64, bool) {
		return ratio(c.AllocBytes+leastAlloc*c.Requests, c.Requests)
	}},
	LiveHeap: {scale: Relative, whole: true,
		value: func(c Counts) (float64, bool) { return ratio(c.HeapBytes, c.Slices) }},
	HeapGrowth: {scale: Absolute, whole: true,
		value: func(c Counts) (float64, bool) { return ratio(c.HeapGrowth, c.HeapBytes) }},
	// The runtime books a whole cycle when it ends, which may be more than the processor time of a
	// short slice. Such a slice was all collection.
	GCShare: {scale: Absolute, whole: true,
		value: func(c Counts) (float64, bool) { return ratio(min(c.GCNanos, c.CPUNanos), c.CPUNanos) }},
}

// leastAlloc is added to the bytes that a request allocates. In a service that allocates next to
// nothing, the counter shows only the process's bookkeeping, whose ratio means nothing.
const leastAlloc = 16

func ratio(a, b float64) (float64, bool) {
	if b <= 0 {
		return 0, false
	}
	return a / b, true
}

// A Guardrail is a metric that must not get worse by its margin or more.
type Guardrail struct {
	Metric Metric  `json:"metric"`
	Margin float64 `json:"margin"` // in the metric's scale
	// HarmOnly is for metrics whose noise leaves no proof that they are non-inferior. Such a
	// guardrail rolls back when it is worse beyond doubt, and holds the ship while a single look
	// would say so.
	HarmOnly bool `json:"harm_only,omitempty"`
}

// DefaultGuardrails returns those of a plan that names none.
func DefaultGuardrails(unit Unit) []Guardrail {
	if unit == Requests {
		return []Guardrail{{Metric: ErrorRate, Margin: 0.001}, {Metric: SlowShare, Margin: 0.002},
			{Metric: FunctionTime, Margin: 0.02}, {Metric: RequestTime, Margin: 0.05}}
	}
	heap := Guardrail{Metric: HeapGrowth, Margin: 0.005}
	if unit == Pods {
		heap = Guardrail{Metric: LiveHeap, Margin: 0.02}
	}
	return []Guardrail{
		{Metric: ErrorRate, Margin: 0.001}, {Metric: SlowShare, Margin: 0.002}, {Metric: ServiceCPU, Margin: 0.005},
		{Metric: AllocBytes, Margin: 0.01}, heap, {Metric: GCShare, Margin: 0.005},
	}
}

// A pair holds the values of two arms in a block, on a metric's scale.
type pair struct{ first, second float64 }

// pairOf reads a metric of two arms. It is false where an arm has no value.
func pairOf(m Metric, a, b Counts) (pair, bool) {
	first, okA := measures[m].value(a)
	second, okB := measures[m].value(b)
	return pair{first, second}, okA && okB
}

// level returns the mean of both arms.
func (p pair) level() float64 { return (p.first + p.second) / 2 }

// difference returns how much worse the second arm is, as a share of the baseline for relative
// metrics. A baseline that was known before the block leaves a mean of zero to chance alone.
// Without one it is the level.
func (p pair) difference(scale Scale, baseline float64) float64 {
	if scale == Absolute {
		return p.second - p.first
	}
	if baseline == 0 {
		baseline = p.level()
	}
	if baseline == 0 {
		return 0 // both are zero
	}
	return (p.second - p.first) / baseline
}

// memory is the length of a pod's baseline, in blocks. It is short against a day, so that
// differences do not follow the load, and long enough that the baseline's own noise hardly widens
// the interval.
const memory = 50

// A Track follows the difference of two arms in one metric.
type Track struct {
	Moments  Moments `json:"moments"`
	Signs    signs   `json:"signs"`
	Requests float64 `json:"requests,omitempty"` // of the arm in question; calls, for a share of calls
	// Own relates a difference to the level of its own block. That is fair where the arms of a
	// block may be exchanged: then the effects of the load on all of them cancel.
	Own  bool                  `json:"own,omitempty"`
	Pods map[string]*PodMemory `json:"pods,omitempty"`
}

// A PodMemory is a track's memory of a pod.
type PodMemory struct {
	Baseline float64 `json:"baseline"` // level of the first arm before the next block
	Blocks   int     `json:"blocks"`   // that the baseline rests on
	Effect   Moments `json:"effect"`   // of its differences
	// Runs are its differences, each related to its own level: single blocks, and runs of 2, 4, 8,
	// ... merged into their means.
	Runs []Run `json:"runs,omitempty"`
}

// add takes one block of a pod.
func (t *Track) add(m Metric, pod string, a, b Counts) {
	if t.Pods == nil {
		t.Pods = map[string]*PodMemory{}
	}
	// Find what the pod has shown so far.
	r := t.Pods[pod]
	if r == nil {
		r = new(PodMemory)
		t.Pods[pod] = r
	}
	baseline := r.Baseline
	if t.Own {
		baseline = 0
	}
	// Compare the arms of this block, if both have data.
	arms, ok := pairOf(m, a, b)
	x := arms.difference(measures[m].scale, baseline)
	if !ok || math.IsInf(x, 0) || math.IsNaN(x) {
		return
	}
	// Add the difference to the sums. The pod's own level moves slowly.
	r.Blocks = min(r.Blocks+1, memory)
	r.Baseline += (arms.first - r.Baseline) / float64(r.Blocks)
	t.Moments.add(x)
	r.Effect.add(x)
	t.Signs.add(x)
	scaled := x
	if level := arms.level(); measures[m].scale == Relative && baseline > 0 && level > 0 {
		scaled = x * baseline / level
	}
	r.merge(scaled)
	if measures[m].calls {
		t.Requests += b.Calls
	} else {
		t.Requests += b.Requests
	}
}

// lag returns the lag-1 correlation of the blocks, each related to its own level. On a machine that
// is slow for a while, a true effect is larger in all blocks of that while. That is no memory of
// the noise, and does not change the effect's sign.
func (t *Track) lag() float64 { return t.poolRuns(0).lag }

// interval returns the confidence sequence of the mean difference, for this many times the variance
// of independent blocks of processes that are alike. For rare events the variance is at least that
// of one event in all blocks, so that no event in n requests bounds the rate by about 4/n and not
// by 0.
func (t *Track) interval(m Metric, rho, alpha, times float64) Interval {
	n := float64(t.Moments.N)
	out := Interval{Estimate: t.Moments.Mean, Low: -math.MaxFloat64, High: math.MaxFloat64, N: t.Moments.N}
	if n < 2 {
		return out
	}
	half := halfWidth(n, times*t.variance(m), rho, alpha)
	out.Low, out.High = out.Estimate-half, out.Estimate+half
	if t.Own && measures[m].scale == Relative {
		out.Estimate = relativeToFirst(out.Estimate)
		out.Low, out.High = relativeToFirst(out.Low), relativeToFirst(out.High)
	}
	return out
}

// relativeToFirst turns a difference as a share of the mean of two arms into one as a share of the
// first.
func relativeToFirst(x float64) float64 {
	switch {
	case x <= -2:
		return -1
	case x >= 2:
		return math.MaxFloat64
	}
	return 2 * x / (2 - x)
}

// variance returns the variance of a block's difference, at least that of one rare event.
func (t *Track) variance(m Metric) float64 { return max(t.Moments.variance(), t.leastVariance(m)) }

func (t *Track) leastVariance(m Metric) float64 {
	if !measures[m].rare || t.Requests == 0 || t.Moments.N == 0 {
		return 0
	}
	n := float64(t.Moments.N)
	perBlock := t.Requests / n
	return 1 / (perBlock * perBlock * n)
}

// oneLook is the quantile of the normal law that a one-sided test of level 5 % asks for, which
// looks once.
const oneLook = 1.645

// suspect reports whether a single look would say that the effect is above a guardrail's margin.
func (t *Track) suspect(g Guardrail) bool {
	return t.Moments.Mean-oneLook*math.Sqrt(t.variance(g.Metric)/float64(max(1, t.Moments.N))) > g.Margin
}

// pValue is always valid, for no difference. It is the inverse of interval, so both have the same
// variance; fewer than two blocks say nothing.
func (t *Track) pValue(m Metric, rho, times float64) float64 {
	if t.Moments.N < 2 {
		return 1
	}
	return pValue(float64(t.Moments.N), t.Moments.Mean, times*t.variance(m), rho)
}

// Text says a value of the metric's scale in words.
func (m Metric) Text(x float64) string {
	if measures[m].scale == Relative {
		return fmt.Sprintf("%+.2f %%", 100*x)
	}
	return fmt.Sprintf("%+.3f points", 100*x)
}

// Span says an interval of the metric in words.
func (m Metric) Span(i Interval) string {
	if i.N < 2 {
		return "unknown"
	}
	if i.High == math.MaxFloat64 {
		return fmt.Sprintf("%s (%s to no upper limit)", m.Text(i.Estimate), m.Text(i.Low))
	}
	return fmt.Sprintf("%s (%s to %s)", m.Text(i.Estimate), m.Text(i.Low), m.Text(i.High))
}
