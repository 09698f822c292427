package rt

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"time"
)

// The timing loop. One process times all the variants of a request together:
//
//   - The inputs are a weighted, shuffled sequence of records, cut into
//     windows. A round visits one window, and every variant runs over that
//     same window in one slice, of about 100 µs for the first one: long against
//     the clock, short against the time between two preemptions. The order within a round is
//     random, so that nobody profits from its neighbour.
//   - One number of calls is shared by all. It is calibrated as a minimum of
//     several, because a number that was found in a preempted moment biases
//     everything that follows. Each goes through its inputs once a slice: a
//     second time it would know its branches.
//   - The cost of a call of each variant, in time and memory, is measured once for sets that are
//     alike: with many variants that takes longer than the slices.
//   - Before the slices of a round an untimed pass over the window brings the
//     inputs into the cache, so that being first costs nothing.
//   - The collector runs between slices only. The cost of collections is reported apart from it
//     (Timing.GCByte).
//   - A slice ends when the goroutines that its calls started have ended: nobody
//     else pays for them.
//   - Each slice is timed by the wall clock and by the thread's own processor
//     clock, or by that of the process when goroutines are started. Where they
//     differ, the slice was preempted; the parent decides what to do with it. No
//     statistics happen here: raw samples go back.

// Time is the request of the time mode.
type Time struct {
	Variants []int     `json:"variants"` // indexes into the harness's variants; the first one calibrates
	Sets     []TimeSet `json:"sets"`
	// of the sequence and of the order; two processes with one seed see the same inputs
	Seed       uint64 `json:"seed"`
	Slice      int64  `json:"slice_ns"`    // wanted length of a slice; 0 is 100 µs
	Calls      int    `json:"calls"`       // calls a slice; 0 calibrates
	Windows    int    `json:"windows"`     // windows in the sequence; 0 chooses
	Mutates    bool   `json:"mutates"`     // the target changes its arguments: they are put back before every slice
	SkipPanics bool   `json:"skip_panics"` // leave out records on which the original panics
	GC         bool   `json:"gc"`          // measure GCByte too
	Profile    int64  `json:"profile_ns"`  // take a CPU profile of the variants for so long instead of timing them
	Turns      *Turns `json:"turns"`       // begin rounds in these turns only, while another process has the others
	Cold       bool   `json:"cold"`        // short slices, each after other work that has emptied the caches
}

// A TimeSet is a file of records with the time to spend on it.
type TimeSet struct {
	Records string `json:"records"`
	Budget  int64  `json:"budget_ns"`
	// its inputs are like those of the first set, whose calibration of the variants holds for it
	Alike bool `json:"alike,omitempty"`
	// it may hold no record, or none on which the original returns; it is not timed then
	Optional bool `json:"optional,omitempty"`
}

// TimeReply holds one Timing a set, or the profile.
type TimeReply struct {
	Sets    []Timing `json:"sets,omitempty"`
	GCByte  float64  `json:"gc_ns_byte,omitempty"` // processor time that collections take for each byte allocated
	Profile []byte   `json:"profile,omitempty"`    // pprof format
}

// A Timing is the raw samples of one set. The outer index of Wall, CPU,
// Passes, Allocs and Bytes is that of Time.Variants.
type Timing struct {
	Calls int `json:"calls"` // calls of one pass over a window
	// passes that one slice makes; above 1 for variants too fast for the slice
	Passes   []int     `json:"passes"`
	Windows  int       `json:"windows"`           // windows in the sequence
	Weights  []float64 `json:"weights,omitempty"` // weight of each window; none: all the same
	Distinct int       `json:"distinct"`
	Skipped  int       `json:"skipped"` // records on which the original panics
	Empty    [2]int64  `json:"empty"`   // readings of the two clocks for a slice without calls, to be subtracted
	Window   []int     `json:"window"`  // of each round
	Turn     []int64   `json:"turn"`    // in which each round began, with Time.Turns
	Wall     [][]int64 `json:"wall"`    // nanoseconds of each slice, by variant and round
	CPU      [][]int64 `json:"cpu"`     // the same by the thread's clock; empty where there is none
	Allocs   []float64 `json:"allocs"`  // allocations a call
	Bytes    []float64 `json:"bytes"`   // bytes allocated a call
	Millis   float64   `json:"millis"`  // spent on all of this set, hardly counting waits for a processor
}

const (
	defaultSlice = 100 * time.Microsecond
	// calls that the windows hold together, when time allows: twice the 4,096 inputs that keep a
	// branch predictor honest
	minSequence = 8192
	minWindows  = 4       // several windows, so that no single order is learnt
	maxWindow   = 1 << 14 // calls in a window: its arguments should stay in the second-level cache
	minVisits   = 9       // visits of each window: the parent takes a median with an interval over them
	fewVisits   = 3       // the same where a window is one call
	maxSlices   = 60000   // samples of a set: bounds the reply
	slowest     = 10      // times its wanted length that a slice may take
	minRounds   = 12      // below which a budget is overdrawn, up to overdraft times
	overdraft   = 6       //
	fewRounds   = 5       // below which nothing could be said: a slow function goes on until patience ends
	patience    = 20 * time.Second
	slowestCall = time.Second
	slowAtLeast = 250 * time.Millisecond // that a slow function may take, whatever its budget
	shortSlice  = 5000                   // ns: fifty times what reading the clocks takes
	coldSlice   = 1500                   // ns with warm caches; with cold ones it is several times as long
	maxPasses   = 4096                   //
	heapLimit   = 64 << 20               // bytes allocated between two collections

	// Targets that change their arguments need memory for every call. A window and all windows may
	// take these bytes, half of what they use.
	windowBytes   = 16 << 20
	sequenceBytes = 128 << 20
	lastResort    = 640 << 20 // bytes of heap at which the collector runs after all, even within a slice
)

// time measures the variants on each set of records. Without variants or records it refuses,
// because a measurement of nothing looks like one of something fast.
func (h *Harness[A, R]) time(q *Time) (any, error) {
	if len(q.Variants) == 0 || len(q.Sets) == 0 {
		return nil, fmt.Errorf("time: no variants or no records are named")
	}
	for _, v := range q.Variants {
		if v < 0 || v >= len(h.Variants) {
			return nil, fmt.Errorf("time: variant %d of %d", v, len(h.Variants))
		}
		if h.Variants[v].Time == nil {
			return nil, fmt.Errorf("time: variant %d (%s) was not built", v, h.Variants[v].ID)
		}
	}
	// One thread on one processor, without collections: their cost is measured apart and added by
	// the bytes that a variant allocates.
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread() // the thread's clock belongs to one thread
	if q.Profile > 0 {
		return h.profile(q)
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(lastResort)
	reply := &TimeReply{}
	if q.GC {
		reply.GCByte = collectionCost()
	}
	// A set that is like the first one takes over its costs, which saves the calibration.
	var known *costs
	for i, set := range q.Sets {
		t, err := h.timer(q, set, uint64(i))
		if err != nil {
			return nil, err
		}
		if len(t.records) == 0 {
			if !set.Optional {
				return nil, fmt.Errorf("time: %s holds no record that can be timed", set.Records)
			}
			reply.Sets = append(reply.Sets, untimed(len(q.Variants), t.out.Skipped))
			continue
		}
		if set.Alike {
			t.known = known
		}
		timing, err := t.run()
		if err != nil {
			return nil, err
		}
		if known == nil {
			known = &costs{t.cost, timing.Allocs, timing.Bytes}
		}
		reply.Sets = append(reply.Sets, timing)
		// Start the next set with an empty heap.
		runtime.GC()
	}
	return reply, nil
}

// costs are the time and allocations of a call of each variant.
type costs struct{ nanos, allocs, bytes []float64 }

// A timer times the variants on one set.
type timer[A, R any] struct {
	q         *Time
	known     *costs      // where this set is like the first one
	run1      []func([]A) // the variants' Time functions
	rng       *rand.Rand  // of the windows and of the order
	aside     *rand.Rand  // for draws beside them
	records   []A
	weights   []float64
	mutable   []*restorer[A] // one a window, when the target changes its arguments
	windows   [][]A
	cost      []float64 // estimated ns a call, by variant
	pending   float64   // bytes allocated since the last collection, as estimated
	least     int       // rounds that the plan needs, overdrawn or not
	footprint float64   // bytes of a call's arguments, when the target changes them
	clock     uintptr   // of processor time: the thread's, or the process's when goroutines are started
	alive     int       // goroutines that there are without those of a call
	budget    time.Duration
	start     time.Time
	used      int64     // processor time of the process at the start; -1 where there is no clock
	begin     time.Time // of the rounds
	out       Timing
}

// timer prepares the measurement of one set. The order of calls and the checks aside draw from
// sources of their own, so that one does not shift the other.
func (h *Harness[A, R]) timer(q *Time, set TimeSet, i uint64) (*timer[A, R], error) {
	t := &timer[A, R]{
		q:      q,
		rng:    rand.New(rand.NewPCG(q.Seed, i)),
		aside:  rand.New(rand.NewPCG(^q.Seed, i)),
		budget: time.Duration(set.Budget),
		start:  time.Now(),
		used:   cpuClock(ofProcess),
	}
	for _, v := range q.Variants {
		t.run1 = append(t.run1, h.Variants[v].Time)
	}
	var err error
	if t.records, t.weights, err = LoadArgs[A](set.Records, h.Types); err != nil {
		return nil, err
	}
	if q.SkipPanics {
		t.out.Skipped = h.dropPanics(q.Variants[0], &t.records, &t.weights)
	}
	return t, nil
}

// untimed returns the timing of a set on all of whose records the original panics.
func untimed(variants, skipped int) Timing {
	return Timing{Skipped: skipped, Passes: make([]int, variants), Wall: make([][]int64, variants),
		CPU: make([][]int64, variants), Allocs: make([]float64, variants), Bytes: make([]float64, variants)}
}

// dropPanics removes the records on which variant v panics: a panic cannot be
// timed from outside without the cost of recovering from it.
func (h *Harness[A, R]) dropPanics(v int, records *[]A, weights *[]float64) int {
	kept, keptWeights := (*records)[:0:0], (*weights)[:0:0]
	for i := range *records {
		if !h.panics(v, Clone(&(*records)[i])) {
			kept = append(kept, (*records)[i])
			keptWeights = append(keptWeights, (*weights)[i])
		}
	}
	dropped := len(*records) - len(kept)
	*records, *weights = kept, keptWeights
	return dropped
}

func (h *Harness[A, R]) panics(v int, a *A) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	var r R
	h.Variants[v].Eval(a, &r)
	return false
}

// run times the set.
func (t *timer[A, R]) run() (Timing, error) {
	// Find out what a call costs and allocates before anything is timed.
	n := len(t.run1)
	t.out.Wall, t.out.CPU = make([][]int64, n), make([][]int64, n)
	t.alive, t.clock = runtime.NumGoroutine(), ofThread
	t.weigh()
	// A version that starts goroutines is measured by the process's clock.
	if t.starts() {
		t.clock = ofProcess
	}
	t.out.Empty = t.empty()
	if err := t.calibrate(); err != nil {
		return t.out, err
	}
	// Cut the calls into windows, and have other processes meet here, so that all measure at the
	// same time.
	t.cut(t.plan())
	t.prepare()
	if t.q.Turns != nil {
		t.q.Turns.meet()
		t.start = time.Now()
		t.used = -1 // another process has the other turns
	}
	t.begin = time.Now()
	// Go through the windows in an order that is shuffled anew each time.
	order := t.rng.Perm(len(t.windows))
	for round := 0; t.goesOn(round); round++ {
		if round%len(order) == 0 {
			t.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		t.round(order[round%len(order)])
	}
	t.out.Millis = float64(t.spent().Microseconds()) / 1000
	return t.out, nil
}

// spent returns the time that was spent on the set.
func (t *timer[A, R]) spent() time.Duration {
	wall := time.Since(t.start)
	if t.used < 0 {
		return wall
	}
	return spentOf(time.Duration(cpuClock(ofProcess)-t.used), wall)
}

// waitFactor is how many times a budget a process that waits for its processor may take.
const waitFactor = 3

// spentOf returns the time that a process spent of a budget. Waiting for a processor does not
// count, within a bound: on a loaded machine a measurement takes longer, and shows as much.
func spentOf(used, wall time.Duration) time.Duration { return min(wall, max(used, wall/waitFactor)) }

// goesOn reports whether there is time for one more round. A slow function
// may overdraw the budget, the more the fewer rounds there are.
func (t *timer[A, R]) goesOn(rounds int) bool {
	spent := t.spent()
	switch {
	case rounds*len(t.run1) >= maxSlices:
		return false
	case rounds < fewRounds:
		return time.Since(t.begin) < patience
	case rounds < max(minRounds, t.least):
		return spent < max(overdraft*t.budget, patience/8)
	}
	return spent < t.budget
}

// round visits one window with every variant, in random order.
func (t *timer[A, R]) round(w int) {
	if t.q.Turns != nil {
		t.out.Turn = append(t.out.Turn, t.q.Turns.wait())
	}
	t.out.Window = append(t.out.Window, w)
	if slice := t.cost[0] * float64(t.out.Calls); !t.q.Mutates && !t.q.Cold && slice < float64(slowest*t.sliceNanos()) {
		t.run1[t.rng.IntN(len(t.run1))](t.windows[w]) // never always the same variant
	}
	for _, v := range t.rng.Perm(len(t.run1)) {
		wall, cpu := t.slice(v, w)
		t.out.Wall[v] = append(t.out.Wall[v], wall)
		if cpu >= 0 {
			t.out.CPU[v] = append(t.out.CPU[v], cpu)
		}
	}
}

// slice runs variant v over window w and times it.
func (t *timer[A, R]) slice(v, w int) (wall, cpu int64) {
	f, a := t.run1[v], t.windows[w]
	passes := t.out.Passes[v]
	if t.collect(v, passes*len(a)) && !t.q.Mutates {
		f(a) // the collection emptied the caches
	}
	if t.mutable != nil {
		t.mutable[w].restore(a)
	}
	if t.q.Cold {
		emptyCaches()
	}
	return t.clocked(func() {
		for range passes {
			f(a)
		}
	})
}

// clocked times f and the goroutines that it leaves behind by both clocks; cpu is -1 where there is
// no clock of processor time. The cheap wall clock is read inside the expensive one, so that it
// sees f alone.
func (t *timer[A, R]) clocked(f func()) (wall, cpu int64) {
	c := cpuClock(t.clock)
	s := time.Now()
	f()
	t.join()
	wall = int64(time.Since(s))
	if c < 0 {
		return wall, -1
	}
	return wall, cpuClock(t.clock) - c
}

// collect runs the collector when the next slice could pass the limit. It
// reports whether it did.
func (t *timer[A, R]) collect(v, calls int) bool {
	return t.room(t.out.Bytes[v] * float64(calls))
}

// room makes room for further bytes, and reports whether that took a collection.
func (t *timer[A, R]) room(bytes float64) bool {
	t.pending += bytes
	if t.pending < heapLimit {
		return false
	}
	t.pending = bytes
	runtime.GC()
	return true
}

// empty returns the clocks' readings for a slice without calls.
func (t *timer[A, R]) empty() [2]int64 {
	best := [2]int64{1 << 40, 1 << 40}
	for range 100 {
		wall, cpu := t.clocked(func() { t.run1[0](nil) })
		best = [2]int64{min(best[0], wall), min(best[1], cpu)}
	}
	return best
}

// otherWork is larger than the caches that a processor has for itself.
const otherWork = 8 << 20

var work = make([]byte, 0)

// emptyCaches stands for the other work that a service does between two calls:
// it reads and writes so much memory that nothing of the variant stays in the
// caches of one processor.
func emptyCaches() {
	if len(work) == 0 {
		work = make([]byte, otherWork)
	}
	for i := 0; i < len(work); i += 64 {
		work[i]++
	}
}
