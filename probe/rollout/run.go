package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/beagle-go/beagle/probe/wire"
)

// A run is a rollout under way in this process.
type run struct {
	process  *process
	function *Switch
	lease    string
	pod      string
	stream   string
	over     chan struct{}
	told     bool // the program tells of its requests
	fixed    bool // a flag chose the version: no controller beats
	timer    *time.Timer
	misses   misses   // requests without an arm; it has a mutex of its own
	start    baseline // the watch compares with it

	// The mutex of the process guards these.
	orders  wire.RolloutOrders
	beat    time.Time
	ends    time.Time
	blocks  []wire.RolloutBlock
	dropped int
	seq     int64
	span    span
}

// A baseline holds the counts and sizes at a rollout's start.
type baseline struct {
	candidate, original tally
	heap, goroutines    float64
}

// A span is a time as long as a call may take, see [run.hung].
type span struct {
	odd   uint32    // oddBit in every other span
	began time.Time // of the watch alone
}

// maxBlocks bounds the blocks that wait for the controller.
const maxBlocks = 256

// set lets an arm run. It returns false when the rollout is over.
func (r *run) set(arm Arm) bool {
	r.process.mu.Lock()
	defer r.process.mu.Unlock()
	if r.process.run != r {
		return false
	}
	requests.arm.Store(uint32(arm))
	return r.open(uint32(arm) + 1)
}

// open sets the word of the switch, unless a call failed. The caller holds the mutex.
func (r *run) open(word uint32) bool {
	if r.function.faults.Load() != nil {
		return false
	}
	r.function.word.Store(word | r.span.odd)
	if r.function.faults.Load() != nil { // a call failed in between
		r.function.word.Store(0)
		return false
	}
	return true
}

// wait is called by turns alone. It keeps its timer: what it allocates would count for an arm.
func (r *run) wait(d time.Duration) bool {
	if r.timer == nil {
		r.timer = time.NewTimer(d)
	} else {
		r.timer.Reset(d)
	}
	select {
	case <-r.over:
		return false
	case <-r.timer.C:
		return true
	}
}

// turns lets the arms take turns until the rollout is over.
func (r *run) turns() {
	in := newReader()
	for n := 0; ; n++ {
		r.process.mu.Lock()
		o := r.orders
		r.process.mu.Unlock()
		kind, _ := armsOf(o.Arms[n%len(o.Arms)])
		b := &wire.RolloutBlock{ID: r.stream}
		for _, arm := range kind {
			b.Planned = append(b.Planned, armNames[arm])
			b.Slices = append(b.Slices, wire.RolloutSlice{Arm: armNames[arm], Pod: r.pod, Build: r.function.build})
		}
		before := map[Arm]uint64{}
		for _, arm := range kind {
			before[arm] = r.function.compared(arm).entered
		}
		for range o.Turns {
			if !r.turn(o, kind, b, in) {
				return
			}
		}
		r.function.tune(r.function.fewest(kind, before))
		r.publish(b)
	}
}

// turn gives each arm a slice, in random order, and then the base arm the time that is left of the
// candidate's share.
func (r *run) turn(o wire.RolloutOrders, kind []Arm, b *wire.RolloutBlock, in *reader) bool {
	began := time.Now()
	for _, i := range rand.Perm(len(kind)) {
		if !r.slice(o, kind[i], &b.Slices[i], in) {
			return false
		}
	}
	base, part := armOf(o.Base), o.Share
	if base == Candidate {
		part = 1 - o.Share
	}
	rest := time.Duration((o.Slice+o.Guard)/part*float64(time.Millisecond)) - time.Since(began)
	if rest <= 0 {
		return true
	}
	return r.set(base) && r.wait(rest)
}

// slice runs an arm and adds its counts. Calls that began before are given the guard time to end.
func (r *run) slice(o wire.RolloutOrders, arm Arm, out *wire.RolloutSlice, in *reader) bool {
	ms := float64(time.Millisecond)
	if !r.set(arm) || !r.wait(time.Duration(o.Guard*ms)) {
		return false
	}
	start, before := time.Now(), in.read(r.function, arm, &requests.tallies)
	if !r.wait(time.Duration(o.Slice * ms)) {
		return false
	}
	sliceDifference(out, before, in.read(r.function, arm, &requests.tallies), r.told)
	if out.Start.IsZero() {
		out.Start = start
	}
	out.End = time.Now()
	return r.function.faults.Load() == nil
}

// publish numbers a block and keeps it for the controller. A block that the rollout's end overtook
// is dropped: the block of a trip is the last one.
func (r *run) publish(b *wire.RolloutBlock) {
	r.process.mu.Lock()
	defer r.process.mu.Unlock()
	if r.process.run == r {
		r.number(b)
	}
}

// number is publish for a caller that holds the mutex.
func (r *run) number(b *wire.RolloutBlock) {
	r.seq++
	b.Seq = r.seq
	if r.blocks = append(r.blocks, *b); len(r.blocks) > maxBlocks {
		r.blocks = slices.Delete(r.blocks, 0, 1)
		r.dropped++
	}
}

// watchEvery is the time between looks of the watch: a fault of a call acts at once, without it.
const watchEvery = 50 * time.Millisecond

// watch ends the rollout when it must not go on.
func (r *run) watch() {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	in := newReader()
	for {
		select {
		case <-r.over:
			return
		case <-t.C:
		}
		now := time.Now()
		trip := r.trips(now, in)
		r.process.mu.Lock()
		switch {
		case r.process.run != r: // it ended meanwhile
		case trip != "":
			r.trip(trip, now)
			r.process.finish(r, trip, true)
		case !r.fixed && now.Sub(r.beat) > seconds(r.orders.Lease):
			r.process.finish(r, fmt.Sprintf("no heartbeat of the controller for %g s", r.orders.Lease), false)
		case now.After(r.ends):
			r.process.finish(r, "its time to live is over", false)
		}
		r.process.mu.Unlock()
	}
}

// trip tells the controller by a last block, which its next heartbeat takes out.
func (r *run) trip(why string, now time.Time) {
	candidate := r.function.sum(Candidate)
	r.number(&wire.RolloutBlock{ID: r.stream, Planned: []string{wire.Candidate},
		Slices: []wire.RolloutSlice{{Arm: wire.Candidate, Pod: r.pod, Build: r.function.build,
			Start: now.Add(-watchEvery), End: now, Tripped: why,
			Panics:     int(candidate.panics - r.start.candidate.panics),
			Mismatches: int(candidate.mismatches - r.start.candidate.mismatches)}}})
}

// leastErrors is the number of the candidate's failures before its share of them counts.
const leastErrors = 10

// leastGoroutines is the least number of goroutines that the process counts as its start.
const leastGoroutines = 1000

// trips returns why the candidate must be taken out of service, or "".
func (r *run) trips(now time.Time, in *reader) string {
	if why := r.function.faults.Load(); why != nil {
		return *why
	}
	r.process.mu.Lock()
	o := r.orders
	r.process.mu.Unlock()
	c, orig := r.function.sum(Candidate), r.function.sum(Original)
	calls, failed := float64(c.entered-r.start.candidate.entered), float64(c.errors-r.start.candidate.errors)
	was, wasFailed := float64(orig.entered-r.start.original.entered), float64(orig.errors-r.start.original.errors)
	if failed >= leastErrors && failed/calls > wasFailed/max(1, was)+o.MostErrors {
		return fmt.Sprintf("%.0f of %.0f calls of the candidate failed, and %.0f of %.0f of the original", failed,
			calls,
			wasFailed, was)
	}
	is := in.read(r.function, Candidate, &requests.tallies)
	if is.heap > o.MostHeap*max(r.start.heap, 32<<20) {
		return fmt.Sprintf("the live heap grew from %.0f to %.0f MB", r.start.heap/(1<<20), is.heap/(1<<20))
	}
	if is.goroutines > o.MostHeap*max(r.start.goroutines, leastGoroutines) {
		return fmt.Sprintf("the goroutines grew from %.0f to %.0f", r.start.goroutines, is.goroutines)
	}
	return r.hung(now, o)
}

// hung checks for hung calls of the candidate. It cuts time into spans as long as a call may take.
// A call of the previous span that is still under way when this one ends hangs, unless calls of the
// original do so too.
func (r *run) hung(now time.Time, o wire.RolloutOrders) string {
	if now.Sub(r.span.began) < seconds(o.Stuck) {
		return ""
	}
	r.process.mu.Lock()
	defer r.process.mu.Unlock()
	before := 1 - r.span.odd/oddBit
	// Look at the candidate last: calls of all versions may end together meanwhile.
	others := r.function.sum(Original).open[before] + r.function.sum(Placebo).open[before]
	n := r.function.sum(Candidate).open[before]
	if n == 0 {
		r.flip(now)
		return ""
	}
	if others > 0 {
		return ""
	}
	return fmt.Sprintf("%d calls of the candidate did not return for %g s; their goroutines cannot be ended", n,
		o.Stuck)
}

// flip begins the next span of time. The caller holds the mutex.
func (r *run) flip(now time.Time) {
	r.span.odd ^= oddBit
	r.span.began = now
	if w := r.function.word.Load(); w != 0 {
		r.function.word.CompareAndSwap(w, w&armBits|r.span.odd) // a fault stays
	}
}
