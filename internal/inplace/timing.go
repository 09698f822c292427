package inplace

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/inplace/live"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
)

// A timedBenchmark lets versions take turns.
type timedBenchmark struct {
	suite  int
	name   string
	inside bool    // time the calls alone, not the benchmark's work between them
	weight float64 // its weight beside the others, 0 for 1: see Use
}

// counts returns the weight of a benchmark beside others.
func (b timedBenchmark) counts() float64 { return cmp.Or(b.weight, 1) }

const (
	wantedSlice = 100 * time.Microsecond
	slowCall    = 2 * time.Microsecond // from here on two readings of the clock are little beside a call
	probeTime   = 60 * time.Millisecond
	askedFor    = 4                      // times the budget: a process may wait for a processor
	benchTime   = 100 * time.Millisecond // beyond that, asked of a benchmark
	launch      = 20 * time.Second       // wall time of a process beyond its budget: set-up of the benchmark
	perCalls    = 1 << 20                // calls that a slice is scaled to: more than nearly all have
)

// chooseTime bounds the wall time in which further benchmarks of a suite are chosen when one can be
// timed. Tests lift it: which benchmarks they find must not depend on how busy the machine is.
var chooseTime = 20 * time.Second

// A clock times in a place. It is the place as package bench knows it.
type clock struct {
	*Place
	cpu   int
	exact bool // count allocations in processes of their own
}

// Clock returns the place as measurements need it. Timed processes run on one processor. exact asks
// for exact counts of allocations, which takes a part of the time.
func (p *Place) Clock(cpu int, exact bool) bench.Place { return &clock{p, cpu, exact} }

// A linkedProgram knows its first suite with benchmarks.
type linkedProgram struct {
	*Program
	at int
}

// Path returns "" for a group, whose versions are in binaries of their own.
func (l linkedProgram) Path() string {
	if l.versions != nil {
		return ""
	}
	return l.paths[l.at]
}

func (c *clock) Build(
	ctx context.Context, vs []harness.Variant, layout uint64,
) (bench.PlaceProgram, map[int]string, error) {
	list := make([]Version, len(vs))
	for i, v := range vs {
		list[i] = Version{v.ID, v.Source}
	}
	g, err := c.Place.Build(ctx, list, Link{Layout: layout})
	if err != nil {
		return nil, nil, err
	}
	return c.linked(g), g.Failed, nil
}

func (c *clock) linked(g *Program) linkedProgram {
	l := linkedProgram{Program: g}
	if all := c.timed(); len(all) > 0 {
		l.at = all[0].suite
	}
	return l
}

func (c *clock) Relink(ctx context.Context, p bench.PlaceProgram, layout uint64) (bench.PlaceProgram, error) {
	g, err := c.Place.Relink(ctx, p.(linkedProgram).Program, layout)
	if err != nil {
		return nil, err
	}
	return c.linked(g), nil
}

// Timed returns a program as measurements need it.
func (p *Place) Timed(g *Program) bench.PlaceProgram { return (&clock{Place: p}).linked(g) }

// Windows returns the benchmarks that are timed.
func (c *clock) Windows() []bench.Window {
	all, sum := c.timed(), 0.0
	for _, t := range all {
		sum += t.counts()
	}
	var out []bench.Window
	for _, t := range all {
		out = append(out, bench.Window{Name: t.name, Share: t.counts() / sum})
	}
	return out
}

// Benchmarks names the benchmarks that are timed, and those of them whose own work between the
// calls is in the times.
func (p *programs) Benchmarks() (all, around []string) {
	for _, t := range p.timed() {
		all = append(all, t.name)
		if !t.inside {
			around = append(around, t.name)
		}
	}
	return all, around
}

func (p *programs) timed() (out []timedBenchmark) {
	for _, s := range p.suites {
		out = append(out, s.timed...)
	}
	return out
}

// Time times some versions in all benchmarks.
func (c *clock) Time(
	ctx context.Context, p bench.PlaceProgram, versions []int, budget time.Duration, seed uint64,
) (*rt.Timing, string, error) {
	all := c.timed()
	t := &rt.Timing{
		Calls: perCalls, Windows: len(all), Passes: make([]int, len(versions)), Weights: make([]float64, len(all)),
		Wall: make([][]int64, len(versions)), CPU: make([][]int64, len(versions)),
		Allocs: make([]float64, len(versions)), Bytes: make([]float64, len(versions)),
	}
	for v := range t.Passes {
		t.Passes[v] = 1
	}
	// Time each benchmark by its share of the budget.
	sum := 0.0
	for _, b := range all {
		sum += b.counts()
	}
	for w, b := range all {
		turns := timing{
			program: p.(linkedProgram).Program, bench: b, versions: versions,
			budget: budget / time.Duration(len(all)), seed: seed + uint64(w),
		}
		r, err := c.slices(ctx, turns)
		if err != nil {
			return nil, "", err
		}
		// Exact counts take processes of their own.
		if c.exact && r.failure == "" {
			if err := c.recount(ctx, turns, r); err != nil {
				return nil, "", err
			}
		}
		if r.failure != "" {
			return nil, r.failure, nil
		}
		r.addRounds(t, w, b.counts(), sum)
		t.Millis += float64(turns.budget) / float64(time.Millisecond)
	}
	return t, "", nil
}

// countPart is the part of a benchmark's time for exact counts.
const countPart = 5

// recount counts the allocations of the versions exactly, in a process of their own: that disturbs
// the times.
func (c *clock) recount(ctx context.Context, t timing, r *sliceResult) error {
	t.budget, t.exact = t.budget/countPart, true
	exact, err := c.slices(ctx, t)
	if err == nil {
		r.allocs, r.bytes, r.failure = exact.allocs, exact.bytes, exact.failure
	}
	return err
}

// A timing says how versions take turns in one run of a benchmark.
type timing struct {
	program  *Program
	bench    timedBenchmark
	versions []int
	budget   time.Duration // for the slices
	asked    time.Duration // of the benchmark, which runs for longer than its slices: see slices
	seed     uint64        // of the order of turns
	exact    bool          // count allocations exactly, which disturbs the times
}

// A sliceResult holds the slices of one benchmark in one process.
type sliceResult struct {
	calls         int
	wall, cpu     [][]int64
	allocs, bytes []float64
	failure       string
	early         bool // the benchmark ended before every version had its turn
}

// slices runs one benchmark in which versions take turns. A benchmark that ends before every
// version had its turn runs again, for longer.
func (c *clock) slices(ctx context.Context, t timing) (*sliceResult, error) {
	run := c.slicesOf
	if c.u.Scope.Group() {
		run = c.alternate
	}
	most := 4*t.budget + launch/2
	t.asked = askedFor*t.budget + benchTime
	for {
		out, err := run(ctx, t)
		if err != nil || !out.early || t.asked >= most {
			return out, err
		}
		t.asked = min(longer*t.asked, most)
	}
}

// longer is the factor by which a benchmark runs longer when the versions did not have their turns.
const longer = 6

// job is the run of a timing's benchmark on the clock's processor.
func (c *clock) job(t timing, plan live.Plan) job {
	plan.Budget, plan.Exact, plan.Seed = int64(t.budget), t.exact, t.seed
	j := job{
		suite: t.bench.suite, bench: exactly(t.bench.name), time: t.asked.String(), threads: 1,
		wall: 6*t.budget + launch, plan: plan,
	}
	if c.cpu >= 0 {
		j.cpu = []int{c.cpu}
	}
	return j
}

// newSliceResult makes the result of n versions without slices.
func newSliceResult(n int) *sliceResult {
	return &sliceResult{
		wall: make([][]int64, n), cpu: make([][]int64, n), allocs: make([]float64, n), bytes: make([]float64, n),
	}
}

// slicesOf runs the benchmark once, in one process.
func (c *clock) slicesOf(ctx context.Context, t timing) (*sliceResult, error) {
	versions := t.versions
	r, err := c.run(ctx, t.program, c.job(t, live.Plan{
		Mode: live.Time, Versions: versions, Slice: int64(wantedSlice), Inside: t.bench.inside,
	}))
	if err != nil {
		return nil, err
	}
	out := newSliceResult(len(versions))
	// Once a benchmark marks the beginning of its loop, the work before it was preparation.
	works := slices.ContainsFunc(r.lines, func(l live.Line) bool { return l.Slices != nil && l.Slices.Worked })
	reports := 0.0
	for _, l := range r.lines {
		if s := l.Slices; s != nil && len(s.Wall) == len(versions) && s.Worked == works {
			reports++
			out.calls = s.Calls
			for v := range s.Wall {
				out.wall[v], out.cpu[v] = append(out.wall[v], s.Wall[v]...), append(out.cpu[v], s.CPU[v]...)
				out.allocs[v] += s.Allocs[v]
				out.bytes[v] += s.Bytes[v]
			}
		}
	}
	for v := range versions {
		out.allocs[v] /= math.Max(reports, 1)
		out.bytes[v] /= math.Max(reports, 1)
	}
	if reports == 0 {
		out.failure = fmt.Sprintf("%s gives no slice in %v: %s", t.bench.name, t.budget, describeEnd(r))
		out.early = r.OK()
	}
	return out, nil
}

// describeEnd describes how a run without a result ended.
func describeEnd(r *ran) string {
	switch {
	case r.Ended == sandbox.Wall:
		return "it did not end"
	case r.OK():
		return "it ends before every version had its turn"
	}
	return outputOf(r.Result)
}

// addRounds makes rounds of a window: slices scaled to the same number of calls. The window has
// this share of all. One clock times a round: if a slice has no processor time, such as one that
// slept, all versions' slices count by the wall clock. Otherwise one version would pay for its
// waits for a processor, and the other would not.
func (s *sliceResult) addRounds(t *rt.Timing, w int, counts, all float64) {
	scale := float64(perCalls) / float64(s.calls)
	n := len(s.wall[0])
	for v := range s.wall {
		n = min(n, len(s.wall[v]))
	}
	for r := range n {
		t.Window = append(t.Window, w)
		cpu := s.cpu
		if slices.ContainsFunc(cpu, func(of []int64) bool { return of[r] < 0 }) {
			cpu = s.wall
		}
		for v := range s.wall {
			t.Wall[v] = append(t.Wall[v], int64(float64(s.wall[v][r])*scale))
			t.CPU[v] = append(t.CPU[v], int64(float64(cpu[v][r])*scale))
		}
	}
	base := slices.Clone(t.CPU[0][len(t.CPU[0])-n:])
	inorder.Sort(base)
	t.Weights[w] = counts / math.Max(float64(base[len(base)/2]), 1) // by time, not by calls
	for v := range s.wall {
		t.Allocs[v] += s.allocs[v] * counts / all
		t.Bytes[v] += s.bytes[v] * counts / all
	}
}

// choose finds the benchmarks that can be timed, and whether their calls alone are.
func (c *clock) choose(ctx context.Context, g *Program) error {
	for i, s := range c.suites {
		start := time.Now()
		for _, name := range s.bench {
			if len(s.timed) >= maxTimed || len(s.timed) > 0 && time.Since(start) > chooseTime {
				break
			}
			seen, err := c.steadily(ctx, g, i, name)
			if err != nil {
				return err
			}
			if seen == nil {
				continue
			}
			b := timedBenchmark{suite: i, name: name,
				inside: time.Duration(seen.Nanos/max(seen.Calls, 1)) >= slowCall || seen.Nested > 0}
			b.inside = b.inside && !c.u.Scope.Group()
			probe, err := c.probe(ctx, g, b)
			if err != nil {
				return err
			}
			if probe.failure == "" {
				s.timed = append(s.timed, b)
			}
		}
	}
	return nil
}

// probe times the original beside itself in a benchmark, to see that this can be timed.
func (c *clock) probe(ctx context.Context, g *Program, b timedBenchmark) (*sliceResult, error) {
	originals := make([]int, maxVersions)
	return c.slices(ctx, timing{program: g, bench: b, versions: originals, budget: probeTime, seed: 1})
}

// steadily counts the calls of one benchmark. It returns nil when the benchmark fails, calls the
// target in several goroutines, or calls it while it prepares only: what lies between such calls
// is other work.
func (c *clock) steadily(ctx context.Context, g *Program, suite int, name string) (*live.Seen, error) {
	count := func(time string) (*live.Seen, int64, error) {
		j := job{suite: suite, bench: exactly(name), time: time, threads: 1, wall: surveyTime,
			plan: live.Plan{Mode: live.Count}}
		r, err := c.run(ctx, g, j)
		if err != nil || !r.OK() {
			return nil, 0, err
		}
		seen := lastSeen(r.lines)
		if seen.Working() == 0 || seen.Concurrent {
			return nil, 0, nil
		}
		return &seen, r.iterations[name], nil
	}
	seen, iterations, err := count("20ms")
	if err != nil || seen == nil {
		return nil, err
	}
	if iterations > 1 {
		return c.grows(count, seen, iterations)
	}
	// More iterations would take too long. Those of a round of one and a round of three must do, or
	// of one and eight.
	again, _, err := count("3x")
	if err != nil || again == nil || surelyMore(again.Working(), 2*seen.Working()) {
		return again, err
	}
	more, _, err := count("8x")
	if err != nil || more == nil || !surelyMore(more.Working(), again.Working()) {
		return nil, err
	}
	return again, nil
}

// grows returns the counts of a benchmark if its calls grow with its iterations, and nil if not. A
// preparation may call the target often: each round of the testing package has its calls, and a
// fixed number of iterations takes two rounds, of one iteration and of the others. If calls end
// with time, as those that fill a cache do, more iterations have less than their share of calls.
func (c *clock) grows(
	count func(string) (*live.Seen, int64, error), seen *live.Seen, iterations int64,
) (*live.Seen, error) {
	times := int64(manyMore)
	if seen.Loops { // preparation is not among the calls
		times = moreLoops
	}
	more, _, err := count(fmt.Sprintf("%dx", times*iterations))
	if err != nil || more == nil || more.Working() < times*iterations/seldom {
		return nil, err
	}
	switch grown := surelyMore(more.Working(), times/8*seen.Working()); {
	case grown:
		return seen, nil
	case seen.Loops:
		return nil, nil
	}
	one, _, err := count("1x")
	if err != nil || one == nil { // it is not called in the first iterations
		return nil, err
	}
	same, _, err := count(fmt.Sprintf("%dx", iterations))
	if err != nil || same == nil {
		return nil, err
	}
	loop, longLoop := same.Working()-2*one.Working(), more.Working()-2*one.Working()
	if !surelyMore(more.Working(), same.Working()) || longLoop <= manyMore/8*loop ||
		more.Working()-same.Working() < manyMore*iterations/seldom {
		return nil, nil
	}
	return seen, nil
}

// surelyMore reports whether one process made more calls than another. A counter may not have
// reported the last ninth of its calls.
func surelyMore(more, calls int64) bool { return 8*more > 9*calls }

const (
	manyMore  = 32 // times the iterations of 20 ms, in which calls must become four times as many
	moreLoops = 8  // the same where the loop is known: calls in it must become more
	seldom    = 64 // iterations to a call from which on a slice holds little of the target
)

// profiled is the length of the original's profile. At 100 samples a second it gives the 300 that
// tell a callee of 1 % of the time from one that never runs.
const profiled = "4s"

// Profile takes a CPU profile of the original in the first benchmark that is timed, into a file. It
// reports whether there is one.
func (p *Place) Profile(ctx context.Context, path string, cpu int) (bool, error) {
	all := p.timed()
	if len(all) == 0 {
		return false, nil
	}
	j := job{suite: all[0].suite, bench: exactly(all[0].name), time: profiled, threads: 1, wall: surveyTime,
		plan: live.Plan{Mode: live.Run}, profile: path}
	if cpu >= 0 {
		j.cpu = []int{cpu}
	}
	r, err := p.run(ctx, p.survey, j)
	return err == nil && r.OK(), err
}

// Choose finds the benchmarks in which versions can take turns, and adds them to the evidence.
func (p *Place) Choose(ctx context.Context, cpu int) error {
	c := &clock{Place: p, cpu: cpu}
	if err := c.choose(ctx, p.survey); err != nil {
		return err
	}
	e := &p.evidence
	e.Timed, e.Around = p.Benchmarks()
	e.Parallel = p.Parallel()
	switch {
	case len(e.Timed) > 0:
	case len(e.Benchmarks) == 0:
		e.Untimed = p.noBenchmark()
	default:
		e.Untimed = "no benchmark (" + list(e.Benchmarks) +
			") calls it often enough, in each iteration and in one goroutine"
		if p.u.Scope.Group() {
			e.Untimed += ", in one loop over b.N, b.Loop(), or pb.Next() in a b.RunParallel(func(pb *testing.PB) {...})"
		}
	}
	return nil
}
