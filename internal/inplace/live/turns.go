//go:build go1.21

package live

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Turns says how processes, one for each version, take turns in one benchmark: the process with
// the baton runs, and the others wait.
type Turns struct {
	Dir string `json:"dir"` // of the pipes, one for each process, called 0, 1, ...
	Own int    `json:"own"` // number of this process; 0 finds the length of a slice
	Of  int    `json:"of"`  // how many there are
}

// A round are the iterations that the testing package asks for at once.
type round struct {
	b any
	n int
}

// A turner counts the iterations of a benchmark's loop, and passes the baton.
type turner struct {
	left       int // iterations until the slice ends
	calls      int // of a slice
	holds      bool
	seeking    bool // the length of a slice is sought
	pipes      []int
	order      []int
	at         int // in order
	began      time.Time
	opened     reading // of the thread's clock, when the slice began
	blank      int64   // what that reading takes by the thread's clock
	timeBudget timeBudget
	told       time.Time
	from       [2]uint64
	own        Slices
	round      round // whose loop began last
	rng        *rand.Rand
	allocs     allocations
}

var (
	turns      turner
	alternates bool
)

// Loop marks the beginning of a benchmark's loop over its iterations and, for b.N, their number.
// The testing package asks a benchmark for more each time.
func Loop(b any, n int) {
	switch plan.Mode {
	case Alternate:
		turns.loop(round{b, n})
	case Count:
		counted.begin(b)
	case Time:
		clock.loop()
	}
}

// Over marks the end of such a loop.
func Over() {
	switch plan.Mode {
	case Count:
		counted.endLoop()
	case Time:
		clock.rest()
	}
}

// Tick marks the beginning of an iteration.
func Tick() {
	if alternates {
		if turns.left--; turns.left < 0 {
			turns.turn()
		}
	}
}

// stop is the baton that ends all processes.
const stop = -1

// begin opens the pipes to the other processes and deals the first turns.
func (t *turner) begin() {
	n := plan.Turns
	if n == nil {
		fmt.Fprintf(os.Stderr, "beagle: %s: no turns\n", PlanEnv)
		os.Exit(exitPlan)
	}
	for i := 0; i < n.Of; i++ {
		fd, err := openPipe(filepath.Join(n.Dir, strconv.Itoa(i)))
		if err != nil {
			fmt.Fprintf(os.Stderr, "beagle: pipe %d: %v\n", i, err)
			os.Exit(exitPlan)
		}
		t.pipes = append(t.pipes, fd)
	}
	alternates = true
	t.rng = rand.New(rand.NewSource(int64(plan.Seed)))
	t.allocs = newAllocations()
	checkClocks()
	t.blank, _ = blanks()
	t.calls, t.left = firstCalls, -1 // the first iteration begins a slice
	t.holds = n.Own == 0
	t.seeking = t.holds
	t.forget()
	t.deal()
}

// loop begins a slice anew: all work since the last loop is preparation. A second loop in one round
// does other work, and processes would compare one with the other.
func (t *turner) loop(r round) {
	if r == t.round {
		fmt.Fprintln(os.Stderr, "beagle: a benchmark has two loops over its iterations, and is not timed")
		os.Exit(exitPlan)
	}
	t.round = r
	if t.holds {
		t.open()
		return
	}
	t.left = -1 // the first iteration waits for the baton
	t.began = time.Time{}
}

// open begins a slice.
func (t *turner) open() {
	t.left = t.calls
	t.from = t.allocs.read()
	t.opened = readThread()
	t.began = time.Now()
}

// took returns the time of the slice that ends now, by the wall clock and without waits for a
// processor.
func (t *turner) took(now time.Time) (wall, cpu time.Duration) {
	end := readThread()
	wall = now.Sub(t.began)
	return wall, busy(wall, t.opened, end, end.cpu-t.opened.cpu, t.blank)
}

// turn ends a slice, lets the other processes run, and begins the next one.
func (t *turner) turn() {
	now := time.Now()
	switch {
	case !t.holds:
		t.await()
	case t.began.IsZero():
	case t.seeking:
		wall, cpu := t.took(now)
		t.seek(cpuOrWall(cpu, wall))
	default:
		t.endSlice(now)
	}
	t.open()
	t.left-- // the iteration that is about to begin
}

// seek doubles the iterations of a slice until it is long enough.
func (t *turner) seek(took time.Duration) {
	if int64(took) < plan.Slice && t.calls < maxCalls {
		t.calls *= 2
		return
	}
	t.seeking = false
	t.pass(t.order[0])
}

// endSlice takes a slice down, and passes the baton on.
func (t *turner) endSlice(now time.Time) {
	wall, cpu := t.took(now)
	t.own.Wall[0], t.own.CPU[0] = append(t.own.Wall[0], int64(wall)), append(t.own.CPU[0], int64(cpu))
	t.timeBudget.used += cpuOrWall(cpu, wall) * time.Duration(plan.Turns.Of) // the others' slices are about as long
	for i, to := range t.allocs.read() {
		n := float64(to-t.from[i]) / float64(t.calls)
		if i == 0 {
			t.own.Allocs[0] += n
		} else {
			t.own.Bytes[0] += n
		}
	}
	if len(t.own.Wall[0]) == enoughRounds || now.Sub(t.told) > oftenEnough {
		t.tell(now)
	}
	t.next(now)
}

// next chooses the process whose turn it is.
func (t *turner) next(now time.Time) {
	if t.at++; t.at < len(t.order) {
		t.pass(t.order[t.at])
		return
	}
	if t.timeBudget.began.IsZero() {
		t.timeBudget.began = now
	}
	if t.timeBudget.empty(now) {
		for i := range t.pipes {
			if i != plan.Turns.Own {
				t.write(i, stop)
			}
		}
		t.finish()
	}
	t.deal()
	t.pass(t.order[0])
}

// pass gives the baton to a process and waits for it.
func (t *turner) pass(to int) {
	if to == plan.Turns.Own {
		return
	}
	t.holds = false
	t.write(to, t.calls)
	t.await()
}

// await waits for the baton.
func (t *turner) await() {
	b, err := readBaton(t.pipes[plan.Turns.Own])
	if err != nil {
		fmt.Fprintf(os.Stderr, "beagle: the baton: %v\n", err)
		os.Exit(exitPlan)
	}
	calls := decode(b)
	if calls == stop {
		t.finish()
	}
	t.calls, t.holds = calls, true
	for t.order[t.at] != plan.Turns.Own { // the turns of the others are over
		if t.at++; t.at == len(t.order) {
			t.deal()
		}
	}
	if t.timeBudget.began.IsZero() {
		t.timeBudget.began = time.Now()
	}
}

func (t *turner) write(to, calls int) {
	if err := writeBaton(t.pipes[to], encode(calls)); err != nil {
		fmt.Fprintf(os.Stderr, "beagle: the baton: %v\n", err)
		os.Exit(exitPlan)
	}
}

// encode writes a number in the bytes of a baton.
func encode(n int) (b [8]byte) {
	for i := range b {
		b[i] = byte(int64(n) >> (8 * i))
	}
	return b
}

func decode(b [8]byte) int {
	n := int64(0)
	for i := range b {
		n |= int64(b[i]) << (8 * i)
	}
	return int(n)
}

// deal draws the order of the next round. Every process draws the same.
func (t *turner) deal() { t.order, t.at = t.rng.Perm(plan.Turns.Of), 0 }

// finish ends the process: nothing is measured in the rest of the benchmark.
func (t *turner) finish() {
	t.tell(time.Now())
	report.add(&Line{Done: true})
	os.Exit(0)
}

// tell reports the slices so far, and forgets them.
func (t *turner) tell(now time.Time) {
	t.told = now
	n := len(t.own.Wall[0])
	if n == 0 {
		return
	}
	t.own.Calls = t.calls
	t.own.Allocs[0] /= float64(n)
	t.own.Bytes[0] /= float64(n)
	report.add(&Line{Slices: &t.own})
	t.forget()
}

func (t *turner) forget() {
	t.own = Slices{
		Wall: make([][]int64, 1), CPU: make([][]int64, 1), Allocs: make([]float64, 1), Bytes: make([]float64, 1),
	}
}
