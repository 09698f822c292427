package rt

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"
)

type sortArgs struct{ A0 []int }

type sortResults struct{}

// testTimer times functions over records without a record file.
func testTimer(q *Time, records []sortArgs, weights []float64, run ...func([]sortArgs)) *timer[sortArgs, sortResults] {
	return &timer[sortArgs, sortResults]{
		q: q, rng: rand.New(rand.NewPCG(1, 2)), aside: rand.New(rand.NewPCG(3, 4)), records: records, weights: weights,
		budget: 30 * time.Millisecond, start: time.Now(), used: cpuClock(ofProcess), run1: run,
	}
}

func timed(t *testing.T, timer *timer[sortArgs, sortResults]) Timing {
	t.Helper()
	got, err := timer.run()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func unsorted(n, length int) ([]sortArgs, []float64) {
	rng := rand.New(rand.NewPCG(3, 4))
	records, weights := make([]sortArgs, n), make([]float64, n)
	for i := range records {
		records[i].A0, weights[i] = rng.Perm(length), 1
	}
	return records, weights
}

// TestTimePutsArgumentsBack: a function that sorts in place must get unsorted input in every slice.
func TestTimePutsArgumentsBack(t *testing.T) {
	records, weights := unsorted(40, 16)
	sorted := 0
	run := func(a []sortArgs) {
		for _, x := range a {
			if sort.IntsAreSorted(x.A0) {
				sorted++
			}
			sort.Ints(x.A0)
		}
	}
	got := timed(t, testTimer(&Time{Mutates: true}, records, weights, run, run))
	if sorted != 0 {
		t.Errorf("%d calls were given input that an earlier call had sorted", sorted)
	}
	if len(got.Wall[0]) < minRounds {
		t.Errorf("%d rounds in the budget, want at least %d", len(got.Wall[0]), minRounds)
	}
}

// TestTimeBoundsMemory checks that a quick function that writes into a large buffer gets short
// windows: each call has a buffer of its own.
func TestTimeBoundsMemory(t *testing.T) {
	records, weights := unsorted(50, 8192) // 64 KB each
	run := func(a []sortArgs) {
		for _, x := range a {
			x.A0[0]++
		}
	}
	got := timed(t, testTimer(&Time{Mutates: true}, records, weights, run))
	if size := got.Calls * got.Windows * 8 * 8192; size > 2*sequenceBytes || got.Calls < 2 {
		t.Errorf("%d windows of %d calls have %d MB of arguments", got.Windows, got.Calls, size>>20)
	}
	if len(got.Wall[0]) < fewRounds {
		t.Errorf("%d rounds, want at least %d", len(got.Wall[0]), fewRounds)
	}
}

func TestTimeSamples(t *testing.T) {
	records, weights := unsorted(5000, 8)
	sum := 0
	run := func(a []sortArgs) {
		for _, x := range a {
			sum += x.A0[0]
		}
	}
	grow := func(a []sortArgs) {
		for _, x := range a {
			sink = append([]int(nil), x.A0...)
		}
	}
	got := timed(t, testTimer(&Time{}, records, weights, run, grow))
	if got.Distinct < 4096 {
		t.Errorf("%d distinct inputs of 5,000, want at least 4,096", got.Distinct)
	}
	// The runtime's own allocations may fall into the count: a few bytes in thousands of calls.
	near := func(got, want float64) bool { return got >= want && got < want+1 }
	if !near(got.Allocs[0], 0) || !near(got.Allocs[1], 1) || !near(got.Bytes[1], 64) {
		t.Errorf("allocations %v, bytes %v; want 0 and 1 of 64 bytes", got.Allocs, got.Bytes)
	}
	for v := range got.Wall {
		if len(got.Wall[v]) != len(got.Window) {
			t.Errorf("variant %d: %d samples in %d rounds", v, len(got.Wall[v]), len(got.Window))
		}
	}
}

var sink []int

// TestTimeRepeatsFastVariants checks that a variant that is far too fast for the clock repeats its
// pass.
func TestTimeRepeatsFastVariants(t *testing.T) {
	records, weights := unsorted(1, 8)
	slow := func(a []sortArgs) {
		for range a {
			for s := time.Now(); time.Since(s) < 300*time.Microsecond; {
			}
		}
	}
	got := timed(t, testTimer(&Time{}, records, weights, slow, func(a []sortArgs) {}))
	if got.Calls > 2 || got.Passes[0] != 1 || got.Passes[1] < 1000 {
		t.Errorf("%d calls, %v passes; want one call, and many passes of the fast variant only", got.Calls, got.Passes)
	}
}

// TestCopiesPassAlike checks that copies of a fast version make one pass each, however their costs
// were read.
func TestCopiesPassAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, faster := range []float64{1, 3, 15, 30, 60, 90} {
		for _, cost := range []float64{1, 10, 100, 1000, 40000} {
			for range 200 {
				timer := testTimer(&Time{}, nil, nil, make([]func([]sortArgs), 8)...)
				for v := range 8 {
					c := cost * (1 + 0.05*rng.Float64())
					if v >= 4 {
						c /= faster
					}
					timer.cost = append(timer.cost, c)
				}
				calls := min(timer.calls(), maxWindow)
				for v, c := range timer.cost {
					if n := timer.passes(c * float64(calls)); n != 1 && c*maxWindow > 2*shortSlice {
						t.Fatalf("%v ns a call, %vx: variant %d makes %d passes of %d calls", cost, faster, v, n, calls)
					}
				}
			}
		}
	}
}

// TestTimeRefusesSlowCalls checks that a call that takes longer than can be compared is refused
// with a remedy.
func TestTimeRefusesSlowCalls(t *testing.T) {
	records, weights := unsorted(2, 8)
	timer := testTimer(&Time{}, records, weights, func(a []sortArgs) {
		time.Sleep(time.Duration(len(a)) * (slowestCall + 50*time.Millisecond))
	})
	if _, err := timer.run(); err == nil || !strings.Contains(err.Error(), "smaller inputs") {
		t.Errorf("a call of more than %v: %v", slowestCall, err)
	}
}

// TestPlanSeesEveryRecord checks that a slow function's sequence holds every record, or one that
// takes most of the time may be missing from it.
func TestPlanSeesEveryRecord(t *testing.T) {
	records, weights := unsorted(20, 8)
	timer := testTimer(&Time{Calls: 1}, records, weights, func([]sortArgs) {})
	timer.budget = 150 * time.Millisecond
	timer.out.Calls, timer.out.Passes, timer.cost = 1, []int{1}, []float64{1e6}
	weights[3] = 0.001
	if timer.cut(timer.plan()); timer.out.Distinct != len(records) {
		t.Errorf("%d of %d records are in the sequence", timer.out.Distinct, len(records))
	}
	if w := timer.out.Weights; len(w) != len(records) || slices.Min(w) != 0.001 {
		t.Errorf("the windows have the weights %v", w)
	}
}

// TestDrawKeepsWeights checks that every record gets its share of the calls to within one call.
func TestDrawKeepsWeights(t *testing.T) {
	weights := []float64{1, 2, 3, 94, 0.001}
	timer := testTimer(&Time{}, nil, weights)
	picks := timer.draw(timer.rng, 1000)
	count := make([]int, len(weights))
	for _, p := range picks {
		count[p]++
	}
	for i, w := range weights {
		if want := w * 10; float64(count[i]) < want-1 || float64(count[i]) > want+1 {
			t.Errorf("record %d of weight %v: %d of 1,000 calls", i, w, count[i])
		}
	}
	if slices.IsSorted(picks) {
		t.Error("the sequence is not shuffled")
	}
}

// TestTimeKnowsAlikeSets checks that a set that is like the first one takes over what calls cost,
// and has rounds of its own.
func TestTimeKnowsAlikeSets(t *testing.T) {
	records, weights := unsorted(500, 8)
	calls := 0
	run := func(a []sortArgs) {
		calls += len(a)
		for _, x := range a {
			sum += x.A0[0]
		}
	}
	first := testTimer(&Time{}, records, weights, run, run)
	got := timed(t, first)
	second := testTimer(&Time{}, records, weights, run, run)
	second.known = &costs{first.cost, got.Allocs, got.Bytes}
	calls = 0
	again := timed(t, second)
	if again.Calls != got.Calls || !slices.Equal(again.Bytes, got.Bytes) || len(again.Wall[0]) < minRounds {
		t.Errorf("%d calls a slice after %d, %d rounds", again.Calls, got.Calls, len(again.Wall[0]))
	}
	timed := 0 // calls of the rounds: untimed passes, one for each variant, and the first time
	for v := range again.Wall {
		timed += len(again.Wall[v]) * again.Calls * again.Passes[v]
	}
	if aside := calls - timed; aside > (len(again.Wall[0])+2)*again.Calls+1024 {
		t.Errorf("%d calls beside %d timed ones: costs were found out again", aside, timed)
	}
}

var sum int

type deepArgs struct {
	A0 *node
	A1 [2][]byte
	A2 any
	A3 map[string]int
}

type node struct {
	next *node
	vals []int
}

func TestRestore(t *testing.T) {
	fill := func() []deepArgs {
		n := &node{vals: make([]int, 1, 4)}
		n.next = n
		return []deepArgs{{A0: n, A1: [2][]byte{[]byte("ab"), nil}, A2: &node{vals: []int{7}}}}
	}
	a := fill()
	r := newRestorer(a)
	if r.pristine != nil {
		t.Fatal("arguments without a map are cloned anew each time")
	}
	n, b := a[0].A0, a[0].A1[0]
	full := n.vals[:4]
	a[0].A0.next, a[0].A0.vals = nil, append(a[0].A0.vals, 9, 9, 9, 9)
	full[3], b[0] = 5, 'x'
	a[0].A2.(*node).vals[0] = 8
	a[0].A0, a[0].A1[1] = nil, []byte{1}
	r.restore(a)
	switch {
	case a[0].A0 != n || n.next != n || len(n.vals) != 1 || full[3] != 0:
		t.Errorf("node not restored: %v %v", n, full)
	case string(a[0].A1[0]) != "ab" || a[0].A1[1] != nil:
		t.Errorf("bytes not restored: %q", a[0].A1)
	case a[0].A2.(*node).vals[0] != 7:
		t.Error("memory behind an interface not restored")
	}
}

func TestRestoreMaps(t *testing.T) {
	a := []deepArgs{{A3: map[string]int{"k": 1}}}
	r := newRestorer(a)
	delete(a[0].A3, "k")
	r.restore(a)
	if a[0].A3["k"] != 1 {
		t.Error("a map was not put back")
	}
}

func TestCollectionCost(t *testing.T) {
	if c := collectionCost(); c <= 0 || c > 1000 {
		t.Errorf("a live byte costs %v ns to collect", c)
	}
}

// TestTimeCountsGoroutines checks that work that a goroutine does after the call is the call's: its
// slice waits for it, and the clock of processor time counts it.
func TestTimeCountsGoroutines(t *testing.T) {
	records, weights := unsorted(40, 4096)
	work := func(x sortArgs) {
		for range 20 {
			sinkInt += slices.Max(x.A0)
		}
	}
	inline := func(a []sortArgs) {
		for _, x := range a {
			work(x)
		}
	}
	late := func(a []sortArgs) {
		for _, x := range a {
			go work(x)
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // as in a harness
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	timer := testTimer(&Time{}, records, weights, inline, late)
	got := timed(t, timer)
	for name, clock := range map[string][][]int64{"wall": got.Wall, "cpu": got.CPU} {
		if len(clock[0]) == 0 {
			continue // no such clock here
		}
		if in, out := slices.Min(clock[0]), slices.Min(clock[1]); out < in/4 {
			t.Errorf("%s: what goroutines do takes %d ns, and %d where the call does it", name, out, in)
		}
	}
	if timer.clock != ofProcess {
		t.Error("the goroutines were not noticed")
	}
	if plain := testTimer(&Time{}, records, weights, inline, inline); len(timed(t, plain).Wall[0]) == 0 ||
		plain.clock != ofThread {
		t.Error("goroutines were noticed that are not there")
	}
}

var sinkInt int

// TestTimeCold checks that with cold caches a slice has few calls, and that no pass over the inputs
// comes before it.
func TestTimeCold(t *testing.T) {
	records, weights := unsorted(40, 16)
	calls := 0
	run := func(a []sortArgs) {
		calls += len(a)
		for _, x := range a {
			for range 20 {
				runtime.KeepAlive(slices.Max(x.A0))
			}
		}
	}
	warm := timed(t, testTimer(&Time{}, records, weights, run, run))
	cold := timed(t, testTimer(&Time{Cold: true}, records, weights, run, run))
	if cold.Calls*5 > warm.Calls || cold.Passes[0] != 1 {
		t.Errorf("%d calls and %d passes a slice with cold caches, %d calls with warm ones", cold.Calls,
			cold.Passes[0], warm.Calls)
	}
	if len(cold.Wall[0]) < minRounds {
		t.Errorf("%d rounds, want at least %d", len(cold.Wall[0]), minRounds)
	}
}

// TestSpentOf checks that a process that waits for its processor does not use up its budget, but
// does not wait for ever either, and that one which uses several is not charged twice.
func TestSpentOf(t *testing.T) {
	for _, c := range []struct{ used, wall, want time.Duration }{
		{100, 100, 100}, // it had a processor for itself
		{250, 100, 100}, // and the collector another one
		{40, 100, 40},   // it waited most of the time
		{5, 90, 30},     // nearly always: or it sleeps
	} {
		if got := spentOf(c.used, c.wall); got != c.want {
			t.Errorf("%v used of %v: %v, want %v", c.used, c.wall, got, c.want)
		}
	}
}
