package rt

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"
)

// calibrate estimates the cost of a call of each variant, and chooses the
// number of calls that all slices share.
func (t *timer[A, R]) calibrate() error {
	if err := t.estimate(); err != nil {
		return err
	}
	if t.out.Calls = t.q.Calls; t.out.Calls == 0 {
		t.out.Calls = min(t.calls(), maxWindow, t.callsWithin(windowBytes))
	}
	t.out.Passes = make([]int, len(t.run1))
	for v, c := range t.cost {
		t.out.Passes[v] = t.passes(c * float64(t.out.Calls))
	}
	return nil
}

// estimate finds out what a call of each variant takes.
func (t *timer[A, R]) estimate() error {
	if t.known != nil {
		t.cost = t.known.nanos
		return nil
	}
	probe := t.probe()
	t.cost = make([]float64, len(t.run1))
	for v := range t.run1 {
		t.cost[v] = max(float64(t.fastest(v, probe)-t.out.Empty[0]), 1) / float64(len(probe))
		if took := time.Duration(t.cost[0]); took > slowestCall {
			return fmt.Errorf("time: a call takes %v, and no more than %v can be compared; record smaller inputs",
				took.Round(time.Millisecond), slowestCall)
		}
	}
	return nil
}

// calls returns how many calls a slice of all variants should have.
func (t *timer[A, R]) calls() int {
	if t.q.Cold { // so few that the first of them count
		return max(1, int(coldSlice/slices.Min(t.cost)))
	}
	// A variant ten times slower than the first one shortens the slices of all.
	wanted := float64(t.sliceNanos()) / max(t.cost[0], slices.Max(t.cost)/slowest)
	if wanted < 2 {
		return 1 // a window is a record, and what takes the time is seen
	}
	// One much faster lengthens them, well beyond where it would need passes.
	return int(max(wanted, min(2*shortSlice/slices.Min(t.cost), slowest*wanted)))
}

// passes returns how many passes a slice makes, given the nanoseconds that one takes. A second pass
// over the same inputs meets branches that were learned on the first, which makes the same code
// look up to a quarter faster. So there is one pass for any variant up to a hundred times as fast
// as the first, unless that makes a slice a single call. Faster variants make a power of four, lest
// copies of one differ, and their figure is a little too good.
func (t *timer[A, R]) passes(one float64) int {
	n := 1
	for ; !t.q.Mutates && !t.q.Cold && n < maxPasses && one*float64(n) < shortSlice; n *= 4 {
	}
	return n
}

// probe returns a sequence that takes the first variant two slices or a few: long enough to
// average over different inputs, of which one may take most of the time.
func (t *timer[A, R]) probe() []A {
	const different = 64
	all := t.sequence(min(1024, t.callsWithin(windowBytes)))
	spent := int64(0)
	for n := 1; n < len(all); n *= 4 {
		took := t.timePass(0, all[:n])
		spent += took
		if took > 2*t.sliceNanos() && (n >= different || spent > int64(t.budget)/4) {
			return all[:n]
		}
	}
	return all
}

// fastest returns the minimum of several passes of variant v, so that a preempted moment does not
// count. Slow calls are tried less often.
func (t *timer[A, R]) fastest(v int, calls []A) int64 {
	share := int64(t.budget) / int64(10*len(t.run1))
	best := t.timePass(v, calls)
	for i, spent := 1, best; i < 7 && (i < 2 || spent < share) && spent < int64(t.budget); i++ {
		took := t.timePass(v, calls)
		spent += took
		best = min(best, took)
	}
	return best
}

// timePass times one pass over fresh copies of the calls.
func (t *timer[A, R]) timePass(v int, calls []A) int64 {
	if t.q.Mutates {
		t.room(t.footprint * float64(len(calls)))
		calls = clones(calls)
	}
	s := time.Now()
	t.run1[v](calls)
	return int64(time.Since(s))
}

func (t *timer[A, R]) sliceNanos() int64 {
	if t.q.Slice > 0 {
		return t.q.Slice
	}
	return int64(defaultSlice)
}

// plan chooses the number of windows: enough of them for many distinct inputs
// and few enough that each is visited several times.
func (t *timer[A, R]) plan() int {
	least := len(t.records) * fewVisits
	if t.q.Windows > 0 {
		if t.out.Calls == 1 && t.q.Windows == len(t.records) {
			t.least = least
		}
		return t.q.Windows
	}
	round := 0.0
	for v, c := range t.cost {
		round += c * float64(t.out.Calls*t.out.Passes[v])
	}
	if t.q.Mutates {
		round += float64(t.out.Calls*len(t.run1)) * (100 + t.footprint/10) // ns to put a call's arguments back
	} else {
		round += round / float64(len(t.run1)) // the untimed pass
	}
	rounds := float64(t.budget) / max(round, 1)
	want := max(minWindows, (minSequence+t.out.Calls-1)/t.out.Calls)
	// Where a window is one call, one record may take most of the time (a
	// recursion to different depths). Then each gets a window of its own, if that
	// can be paid with a part of the overdraft.
	affordable := float64(least)*round <= float64(max(t.budget*3/2, slowAtLeast)) &&
		len(t.records) <= t.callsWithin(sequenceBytes)
	if t.out.Calls == 1 && affordable {
		t.least = least
		return len(t.records)
	}
	most := int(rounds) / minVisits
	if t.out.Calls == 1 {
		most = int(rounds) / fewVisits
	}
	return max(1, min(want, most, t.callsWithin(sequenceBytes)/t.out.Calls))
}

// weigh estimates the bytes that the arguments of a call take, from a sample.
// They matter when the target changes them: then every call of every window has
// arguments of its own, and a second copy to put back.
func (t *timer[A, R]) weigh() {
	if !t.q.Mutates {
		return
	}
	const sample = 64
	calls := t.sequence(min(sample, len(t.records)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	clones(calls)
	runtime.ReadMemStats(&after)
	t.footprint = float64(after.TotalAlloc-before.TotalAlloc) / float64(len(calls))
}

// callsWithin returns the number of calls whose arguments have together at most limit bytes.
func (t *timer[A, R]) callsWithin(limit float64) int {
	return max(1, int(limit/max(t.footprint, 1)))
}

// cut draws the sequence and cuts it into windows. As many windows of one call
// as there are records hold each of them, and the weights say what it counts.
func (t *timer[A, R]) cut(windows int) {
	n := t.out.Calls
	picks := t.draw(t.rng, windows*n)
	// With one call a window and a window for each record, every record is measured by itself.
	if n == 1 && windows == len(t.records) {
		picks = t.rng.Perm(windows)
		for _, p := range picks {
			t.out.Weights = append(t.out.Weights, t.weights[p])
		}
	}
	t.out.Windows = windows
	t.out.Distinct = countDistinct(picks, len(t.records))
	for w := range windows {
		a := make([]A, n)
		for i, p := range picks[w*n : (w+1)*n] {
			a[i] = t.records[p]
		}
		// A version that changes its arguments needs copies, which can be restored between the
		// rounds.
		if t.q.Mutates {
			a = clones(a)
			t.mutable = append(t.mutable, newRestorer(a))
		}
		t.windows = append(t.windows, a)
	}
}

// sequence returns a weighted, shuffled sequence of n records for uncompared calls. It has random
// numbers of its own: how many it draws depends on measured times, and the windows of two
// processes must stay the same.
func (t *timer[A, R]) sequence(n int) []A {
	s := make([]A, n)
	for i, p := range t.draw(t.aside, n) {
		s[i] = t.records[p]
	}
	return s
}

// draw picks n records in proportion to their weights, shuffled. Systematic
// sampling: one random start, then equal steps through the cumulated weights,
// so that every record gets its share to within one call.
func (t *timer[A, R]) draw(rng *rand.Rand, n int) []int {
	total := 0.0
	for _, w := range t.weights {
		total += w
	}
	picks := make([]int, 0, n)
	step := total / float64(n)
	at, sum, i := rng.Float64()*step, 0.0, 0
	// Records pass in random order, else a small draw from many records
	// always holds the same neighbours.
	order := rng.Perm(len(t.weights))
	for len(picks) < n {
		for i < len(order)-1 && sum+t.weights[order[i]] <= at {
			sum += t.weights[order[i]]
			i++
		}
		picks = append(picks, order[i])
		at += step
	}
	rng.Shuffle(n, func(i, j int) { picks[i], picks[j] = picks[j], picks[i] })
	return picks
}

func countDistinct(picks []int, n int) int {
	seen, count := make([]bool, n), 0
	for _, p := range picks {
		if !seen[p] {
			seen[p] = true
			count++
		}
	}
	return count
}

// allocations counts what a call allocates, over at most 4,096 calls: the
// least of four passes, because the first one fills pools and grows maps, and the
// runtime allocates now and then on its own account.
func (t *timer[A, R]) allocations() {
	t.out.Allocs, t.out.Bytes = make([]float64, len(t.run1)), make([]float64, len(t.run1))
	a := t.windows[0][:min(len(t.windows[0]), 4096)]
	if len(t.out.Weights) > 0 { // a window is a record then, and this one as good as any
		a = t.sequence(min(max(int(float64(t.budget)/10/t.cost[0]), 1), 8))
	}
	// Passes over slow calls would take too much of the time budget.
	for v := range t.run1 {
		again := 3
		if t.cost[v]*float64(len(a)) > float64(t.budget)/100 {
			again = 0 // too slow for it
		}
		allocs, bytes := t.allocated(v, a)
		for range again {
			n, size := t.allocated(v, a)
			allocs, bytes = min(allocs, n), min(bytes, size)
		}
		t.out.Allocs[v] = float64(allocs) / float64(len(a))
		t.out.Bytes[v] = float64(bytes) / float64(len(a))
	}
	runtime.GC()
}

// allocated counts what one pass over the calls allocates.
func (t *timer[A, R]) allocated(v int, calls []A) (objects, bytes uint64) {
	if t.q.Mutates {
		t.room(t.footprint * float64(len(calls)))
		calls = clones(calls)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	t.run1[v](calls)
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
}

// prepare counts what calls allocate, and settles what would disturb the first rounds.
func (t *timer[A, R]) prepare() {
	if t.known != nil {
		t.out.Allocs, t.out.Bytes = t.known.allocs, t.known.bytes
		t.warm()
		return
	}
	t.allocations()
	t.settle()
}

// settle touches the memory that an allocating variant will use until the
// first collection: the first use of a page costs a fault that a long-running
// service no longer pays. Then every variant runs once, untimed.
func (t *timer[A, R]) settle() {
	need := 0.0
	for v, b := range t.out.Bytes {
		need = max(need, b*float64(t.out.Calls*t.out.Passes[v]))
	}
	if need > 0 {
		touchPages(heapLimit)
		runtime.GC()
	}
	t.warm()
}

// warm runs every variant once over the first window, untimed.
func (t *timer[A, R]) warm() {
	for v := range t.run1 {
		t.slice(v, 0)
	}
}

//go:noinline
func touchPages(n int) byte {
	b := make([]byte, n)
	for i := 0; i < n; i += 4096 {
		b[i] = 1
	}
	return b[n-1]
}

func clones[A any](a []A) []A {
	c := make([]A, len(a))
	for i := range a {
		c[i] = *Clone(&a[i])
	}
	return c
}
