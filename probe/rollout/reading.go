package rollout

import (
	"runtime/metrics"

	"github.com/beagle-go/beagle/probe/wire"
)

// A reading holds the counters of the process and one arm so far.
type reading struct {
	cpu, gc, allocated, heap float64
	goroutines               float64
	arm                      tally
	times                    times
	all, failed, slow, nanos uint64
}

// A reader reads without allocating.
type reader struct{ samples [4]metrics.Sample }

func newReader() *reader {
	return &reader{[...]metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/gc/heap/allocs:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/sched/goroutines:goroutines"}}}
}

func (r *reader) read(s *Switch, arm Arm, from *tallies) reading {
	metrics.Read(r.samples[:])
	of := &from.of[arm]
	return reading{
		cpu: processorNanos(), gc: 1e9 * number(r.samples[0].Value), allocated: number(r.samples[1].Value),
		heap: number(r.samples[2].Value), goroutines: number(r.samples[3].Value), arm: s.compared(arm),
		times: s.timesOf(arm),
		all:   of.all.Load(), failed: of.failed.Load(), slow: of.slow.Load(), nanos: of.nanos.Load(),
	}
}

// number is 0 for a metric that this runtime does not have.
func number(v metrics.Value) float64 {
	switch v.Kind() {
	case metrics.KindFloat64:
		return v.Float64()
	case metrics.KindUint64:
		return float64(v.Uint64())
	}
	return 0
}

// sliceDifference enters what happened between two readings into a slice. Where the program does
// not tell of requests, each call of the function counts as one.
func sliceDifference(out *wire.RolloutSlice, a, b reading, told bool) {
	c := &out.Counts
	c.CPUNanos += b.cpu - a.cpu
	c.GCNanos += max(0, b.gc-a.gc)
	c.AllocBytes += b.allocated - a.allocated
	c.HeapBytes += b.heap
	c.HeapGrowth += b.heap - a.heap
	enterTimes(c, &a.times, &b.times)
	c.Slices++
	out.Panics += int(b.arm.panics - a.arm.panics)
	out.Mismatches += int(b.arm.mismatches - a.arm.mismatches)
	if told {
		enterRequests(c, &a, &b)
		return
	}
	// A call that is counted as failed may have entered before the slice began.
	calls := float64(b.arm.entered - a.arm.entered)
	c.Requests += calls
	c.Errors += min(calls, float64(b.arm.errors-a.arm.errors+b.arm.panics-a.arm.panics))
}

// enterRequests adds the requests between two readings. One that ended during a reading may be
// counted before it, and fail after it.
func enterRequests(c *wire.RolloutCounts, a, b *reading) {
	all := float64(b.all - a.all)
	c.Requests += all
	c.Errors += min(all, float64(b.failed-a.failed))
	c.Slow += min(all, float64(b.slow-a.slow))
	c.RequestNanos += float64(b.nanos - a.nanos)
}
