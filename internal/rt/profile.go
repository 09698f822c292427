package rt

import (
	"bytes"
	"runtime"
	"runtime/pprof"
	"time"
)

// profileRate is in samples a second. The default of 100 gives too few of
// them in half a second; most kernels cannot do more than this.
const profileRate = 1000

// profile takes a CPU profile of the variants, each for an equal share of the
// time, over windows as the timing uses them. The collector runs as in a
// service, so that its cost shows.
func (h *Harness[A, R]) profile(q *Time) (any, error) {
	set := q.Sets[0]
	set.Budget = q.Profile
	t, err := h.timer(q, set, 0)
	if err != nil {
		return nil, err
	}
	t.weigh()
	t.calibrate()
	t.cut(max(1, min(minWindows, minSequence/t.out.Calls, t.callsWithin(sequenceBytes)/t.out.Calls)))
	var buf bytes.Buffer
	// StartCPUProfile sets its own rate and keeps this one; its line on standard error goes
	// nowhere
	runtime.SetCPUProfileRate(profileRate)
	if err := pprof.StartCPUProfile(&buf); err != nil {
		return nil, err
	}
	share := time.Duration(q.Profile) / time.Duration(len(t.run1))
	for v := range t.run1 {
		t.busy(v, share)
	}
	pprof.StopCPUProfile()
	return &TimeReply{Profile: buf.Bytes()}, nil
}

// busy runs variant v for so long. Waits for a processor hardly count, as for a timing: the samples
// come by processor time.
func (t *timer[A, R]) busy(v int, d time.Duration) {
	t.start, t.used = time.Now(), cpuClock(ofProcess)
	for w := 0; t.spent() < d; w = (w + 1) % len(t.windows) {
		if t.mutable != nil {
			t.mutable[w].restore(t.windows[w])
		}
		t.run1[v](t.windows[w])
	}
}
