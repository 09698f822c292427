//go:build go1.21

package live

import (
	"math/rand"
	"os"
	"runtime"
	"runtime/metrics"
	"time"
)

// Slices are some rounds of a timing: in each, every version had one slice.
type Slices struct {
	Calls  int       `json:"calls"`  // of the target, in a slice
	Wall   [][]int64 `json:"wall"`   // nanoseconds of each slice, by version and round
	CPU    [][]int64 `json:"cpu"`    // the same without waits for a processor; -1 where no clock measures it
	Allocs []float64 `json:"allocs"` // objects, and bytes, that a call of each version allocates
	Bytes  []float64 `json:"bytes"`
	Worked bool      `json:"worked,omitempty"` // they are of a loop over the benchmark's iterations
}

// A timer lets versions take turns. One goroutine calls the target while it runs.
type timer struct {
	left       int // calls until the slice ends
	calls      int // of a slice
	order      []int
	at         int // in order; -1 while the length of a slice is sought
	began      time.Time
	opened     reading // of the thread's clock, when the slice began
	entered    time.Time
	within     time.Duration // in the calls of the slice, when these alone are timed
	depth      int
	current    int // version that runs, when calls alone are timed
	wall       [][]int64
	cpu        [][]int64
	memory     [][2]float64
	slices     int
	from       [2]uint64
	timeBudget timeBudget
	told       time.Time
	rested     time.Time // since when the benchmark prepares; zero while it works
	worked     bool      // it told where a loop over its iterations begins
	rng        *rand.Rand
	allocs     allocations

	// the same as entered and within, by the thread's clock
	enteredCPU, withinCPU int64
	// time of readings by the thread's clock: of one at the end of a slice, or at that of a call
	blank, blankCall int64
}

var clock timer

const (
	enoughRounds = 24 // of one report
	oftenEnough  = 50 * time.Millisecond
	firstCalls   = 1
	maxCalls     = 1 << 22
)

func (t *timer) begin() {
	t.rng = rand.New(rand.NewSource(int64(plan.Seed)))
	t.allocs = newAllocations()
	checkClocks()
	t.blank, t.blankCall = blanks()
	t.reset()
	t.at, t.calls, t.current = -1, firstCalls, plan.Versions[0]
	timing = true
	if word = t.current; plan.Inside {
		timing, word = false, inside // the dispatcher calls Begin
	}
	t.left = -1 // the first call begins a slice
}

func (t *timer) reset() {
	n := len(plan.Versions)
	t.wall, t.cpu, t.memory = make([][]int64, n), make([][]int64, n), make([][2]float64, n)
	t.slices = 0
}

// tick counts a call, and ends the slice before the call when it is over.
func tick() {
	t := &clock
	if t.left--; t.left >= 0 {
		return
	}
	now := time.Now()
	if !t.began.IsZero() {
		t.endSlice(now)
	} else {
		t.start(now)
	}
	t.open()
	word = t.current
}

// start begins the budget with the first slice.
func (t *timer) start(now time.Time) {
	if t.timeBudget.began.IsZero() {
		t.timeBudget.began = now
	}
}

// loop begins a slice anew: all work since the last loop is preparation. Before the first one even
// the length of the slices is that of other work.
func (t *timer) loop() {
	if !t.worked {
		t.worked = true
		t.reset()
		t.at, t.calls, t.current = -1, firstCalls, plan.Versions[0]
		t.timeBudget = timeBudget{}
	}
	if !t.rested.IsZero() && !t.timeBudget.began.IsZero() {
		t.timeBudget.began = t.timeBudget.began.Add(time.Since(t.rested))
	}
	t.rested, t.began = time.Time{}, time.Time{}
	t.left = -1
}

// rest lets one version run until the next loop.
func (t *timer) rest() {
	t.rested = time.Now()
	t.left = restful
}

// restful is more calls than a preparation makes.
const restful = 1 << 60

// Begin marks the beginning of a call, if calls alone are timed. It returns the version that runs.
func Begin() int {
	t := &clock
	t.depth++
	if t.depth > 1 {
		return t.current
	}
	if t.left--; t.left < 0 {
		if !t.began.IsZero() {
			t.endSlice(time.Now())
		} else {
			t.start(time.Now())
		}
		t.open()
	}
	t.enteredCPU = threadCPU()
	t.entered = time.Now()
	return t.current
}

// End marks the end of a call.
func End() {
	t := &clock
	if t.depth--; t.depth == 0 {
		t.within += time.Since(t.entered)
		t.withinCPU += threadCPU() - t.enteredCPU
	}
}

// open begins the next slice.
func (t *timer) open() {
	t.left, t.within, t.withinCPU = t.calls-1, 0, 0
	t.from = t.allocs.read()
	t.opened = readThread()
	t.began = time.Now()
}

// took returns the time of the slice that ends now, by the wall clock and without waits for a
// processor, and the time that it takes of the budget.
func (t *timer) took(now time.Time) (wall, cpu, used time.Duration) {
	end := readThread()
	wall = now.Sub(t.began)
	cpu = busy(wall, t.opened, end, end.cpu-t.opened.cpu, t.blank)
	used = cpuOrWall(cpu, wall)
	if plan.Inside {
		wall, cpu = t.within, busy(t.within, t.opened, end, t.withinCPU, t.blankCall*int64(t.calls))
	}
	return wall, cpu, used
}

// endSlice ends a slice and decides the next step.
func (t *timer) endSlice(now time.Time) {
	wall, cpu, used := t.took(now)
	t.timeBudget.used += used
	if t.at < 0 {
		t.sought(cpuOrWall(cpu, wall))
		return
	}
	to := t.allocs.read()
	v := t.order[t.at]
	t.wall[v], t.cpu[v] = append(t.wall[v], int64(wall)), append(t.cpu[v], int64(cpu))
	for i := range to {
		t.memory[v][i] += float64(to[i]-t.from[i]) / float64(t.calls)
	}
	if t.at++; t.at == len(t.order) {
		t.slices++
		if t.slices == enoughRounds || now.Sub(t.told) > oftenEnough || t.timeBudget.empty(now) {
			t.told = now
			t.tell()
		}
		if t.timeBudget.empty(now) {
			report.add(&Line{Done: true})
			os.Exit(0) // nothing is measured in the rest of the benchmark
		}
		t.deal()
	}
	t.current = plan.Versions[t.order[t.at]]
}

// sought doubles the calls of a slice until it is long enough.
func (t *timer) sought(took time.Duration) {
	if int64(took) < plan.Slice && t.calls < maxCalls {
		t.calls *= 2
		if took > 0 && int64(took)*16 < plan.Slice {
			t.calls *= 4
		}
		return
	}
	t.deal()
	t.current = plan.Versions[t.order[0]]
}

// deal draws the order of a round.
func (t *timer) deal() { t.order, t.at = t.rng.Perm(len(plan.Versions)), 0 }

// allocations are the process's allocation counters.
type allocations []metrics.Sample

func newAllocations() allocations {
	return allocations{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/allocs:bytes"}}
}

// read returns the objects and bytes allocated so far. The quick way counts a processor's cache of
// objects only when it is full: over many slices it is right in the mean only.
func (a allocations) read() [2]uint64 {
	if plan.Exact {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return [2]uint64{m.Mallocs, m.TotalAlloc}
	}
	metrics.Read(a)
	return [2]uint64{a[0].Value.Uint64(), a[1].Value.Uint64()}
}

// tell reports the rounds so far, and forgets them.
func (t *timer) tell() {
	s := &Slices{Calls: t.calls, Wall: t.wall, CPU: t.cpu, Worked: t.worked}
	for v := range t.memory {
		s.Allocs = append(s.Allocs, t.memory[v][0]/float64(t.slices))
		s.Bytes = append(s.Bytes, t.memory[v][1]/float64(t.slices))
	}
	report.add(&Line{Slices: s})
	t.reset()
}
