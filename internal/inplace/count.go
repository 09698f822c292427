package inplace

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/inplace/live"
	"github.com/beagle-go/beagle/internal/sandbox"
)

// A tally is a run of all tests, or of all benchmarks, of a suite with the original, in as many
// processes as it took, and the calls that these counted.
type tally struct {
	*ran
	seen live.Seen
	took time.Duration // of the longest process
	last *ran          // the latest process

	processes, late int // that ran, and that used their time up

	broken []string // tests or benchmarks that ended their process
	bad    []string // those and all others that failed: see failing
}

// countTests counts the calls of the tests of the only suite that there is.
func (p *Place) countTests(ctx context.Context, g *Program, s *suite) error {
	t, err := p.countCalls(ctx, g, s, job{plan: live.Plan{Mode: live.Count}, all: true, wall: surveyTime})
	if err != nil {
		return err
	}
	p.evidence.Concurrent = p.evidence.Concurrent || t.seen.Concurrent
	s.keepTests(t)
	return nil
}

// countBenchmarks counts the calls of its benchmarks.
func (p *Place) countBenchmarks(ctx context.Context, g *Program, s *suite) error {
	t, err := p.countCalls(ctx, g, s,
		job{plan: live.Plan{Mode: live.Count}, bench: ".", time: "1x", wall: surveyTime, threads: 1})
	if err != nil {
		return err
	}
	s.keepBenchmarks(t)
	return nil
}

// countCalls runs a job of the only suite that there is, behind walls as high as its tests and
// benchmarks bear, and counts the calls of the target.
func (p *Place) countCalls(ctx context.Context, g *Program, s *suite, j job) (*tally, error) {
	t, err := p.bearable(ctx, g, j)
	if err != nil {
		return nil, err
	}
	s.took = max(s.took, t.took)
	if !t.OK() && len(t.seen.Tests) == 0 {
		p.trouble = append(p.trouble, fmt.Sprintf("the tests of %s: %s", s.pkg.ImportPath, outputOf(t.Result)))
	}
	p.evidence.Calls += t.seen.Calls
	s.race = s.race || t.seen.Concurrent
	return t, nil
}

// bearable runs a job of all tests or all benchmarks. Under the walls of a harness one may fail
// that needs a process or a loopback network: then all run behind lower walls.
func (p *Place) bearable(ctx context.Context, g *Program, j job) (*tally, error) {
	high := p.profile == sandbox.Run
	j.failfast = high // a run that fails there is often repeated
	first, err := p.run(ctx, g, j)
	if err != nil {
		return nil, err
	}
	t, known := newTally(first), 0
	j.failfast = false
	for round := 0; high && round < maxWallRounds; round++ {
		failing := t.failing()
		if len(failing) == known {
			return t, nil
		}
		low, err := p.wallsMatter(ctx, g, j, failing[known:])
		if err != nil {
			return nil, err
		}
		if low {
			p.profile, p.evidence.Open = sandbox.Test, true
			return p.runAll(ctx, g, j)
		}
		// They fail for another reason. Those after them may still need the lower walls.
		known = len(failing)
		if err := p.goOn(ctx, g, j, t); err != nil {
			return nil, err
		}
	}
	return t, p.goOn(ctx, g, j, t)
}

// Lower walls are tried for the first failure, and for later ones together.
const (
	maxWallRounds = 2
	wallTime      = 15 * time.Second
)

// wallsMatter reports whether one of these tests or benchmarks, run without the others, passes
// behind the walls of the user's tests and does not behind those of a harness.
func (p *Place) wallsMatter(ctx context.Context, g *Program, j job, names []string) (bool, error) {
	if j.wall = wallTime; j.all {
		j.all, j.tests = false, names
	} else {
		j.bench = namePattern(names)
	}
	defer func() { p.profile = sandbox.Run }()
	p.profile = sandbox.Test
	low, err := p.run(ctx, g, j)
	if err != nil || len(low.passedTests()) == 0 {
		return false, err
	}
	p.profile = sandbox.Run
	high, err := p.run(ctx, g, j)
	if err != nil {
		return false, err
	}
	return low.beats(high, j.wall), nil
}

// beats reports whether a test passes in this run that does not in another one. That one may have
// been short of time if this one was nearly so, too.
func (r *ran) beats(other *ran, wall time.Duration) bool {
	if other.timedOut() && 4*r.Wall > wall {
		return false
	}
	passing := other.passedTests()
	return slices.ContainsFunc(inorder.Keys(r.passedTests()), func(name string) bool { return !passing[name] })
}

// failing lists the tests or benchmarks that failed, or ended their process, in the order in which
// they were found.
func (t *tally) failing() []string {
	for _, name := range inorder.Keys(t.tests) {
		if t.tests[name].Status == "FAIL" && name == topTest(name) && !slices.Contains(t.bad, name) {
			t.bad = append(t.bad, name)
		}
	}
	if last := topTest(t.last.current); !t.last.whole && last != "" && !slices.Contains(t.bad, last) {
		t.bad = append(t.bad, last)
	}
	return t.bad
}

// passedTests returns the tests that passed, and the benchmarks that gave a result and did not
// fail.
func (r *ran) passedTests() map[string]bool {
	out := map[string]bool{}
	for name, o := range r.tests {
		out[name] = o.passed()
	}
	for _, leaf := range r.leaves {
		out[topTest(leaf)] = r.tests[topTest(leaf)].Status != "FAIL"
	}
	maps.DeleteFunc(out, func(name string, passes bool) bool { return !passes || name != topTest(name) })
	return out
}

func (o outcome) passed() bool { return o.Status == "PASS" || o.Status == "SKIP" }

// The processes in which the tests or the benchmarks of a suite run at most: one after each that
// ended early, and one after a first that used its time up.
const (
	maxProcesses = 4
	maxLate      = 1
)

func newTally(r *ran) *tally {
	return &tally{ran: r, seen: lastSeen(r.lines), took: r.Wall, last: r, processes: 1}
}

// runAll runs a job of all tests or all benchmarks to its end.
func (p *Place) runAll(ctx context.Context, g *Program, j job) (*tally, error) {
	r, err := p.run(ctx, g, j)
	if err != nil {
		return nil, err
	}
	t := newTally(r)
	return t, p.goOn(ctx, g, j, t)
}

// goOn runs what a job has not run yet. A test that panics, exits or hangs keeps those after it
// from running. If only the time is over, more is given to find a first one that calls the target.
func (p *Place) goOn(ctx context.Context, g *Program, j job, t *tally) error {
	for ; t.processes < maxProcesses && t.unfinished(); t.processes++ {
		switch {
		case t.last.timedOut():
			if t.late++; t.late > maxLate || t.callsTarget(j) {
				return nil
			}
		case !t.last.whole:
			t.broken = append(t.broken, topTest(t.last.current))
		}
		j.skip = t.begunTests()
		r, err := p.run(ctx, g, j)
		if err != nil {
			return err
		}
		t.join(r)
	}
	return nil
}

// callsTarget reports whether a test calls the target, or a benchmark that ended.
func (t *tally) callsTarget(j job) bool {
	if j.bench == "" {
		return t.seen.Calls > 0
	}
	return slices.ContainsFunc(t.leaves, func(leaf string) bool { return t.seen.Tests[topTest(leaf)] > 0 })
}

// unfinished reports whether there may be tests or benchmarks that did not run.
func (t *tally) unfinished() bool {
	return !t.last.whole && t.last.current != "" || t.last.failfast && !t.last.OK()
}

// begunTests lists the tests or benchmarks that began, and did not only wait for their turn.
func (t *tally) begunTests() []string {
	var out []string
	for _, name := range inorder.Keys(t.tests) {
		if name == topTest(name) && !t.tests[name].paused {
			out = append(out, name)
		}
	}
	return out
}

// join adds a later process.
func (t *tally) join(r *ran) {
	for name, o := range r.tests {
		t.tests[name] = o
	}
	for _, leaf := range r.leaves {
		if !slices.Contains(t.leaves, leaf) {
			t.leaves = append(t.leaves, leaf)
		}
	}
	// Add up the calls.
	seen := lastSeen(r.lines)
	if t.seen.Tests == nil {
		t.seen.Tests = map[string]int64{}
	}
	maps.Copy(t.seen.Tests, seen.Tests)
	t.seen.Calls += seen.Calls
	t.seen.Unnamed += seen.Unnamed
	t.seen.Concurrent = t.seen.Concurrent || seen.Concurrent
	t.took, t.last = max(t.took, r.Wall), r
}

// keepTests keeps the tests that call the target and are fast enough.
func (s *suite) keepTests(t *tally) {
	s.counted = t.tests
	for name := range t.seen.Tests {
		switch o := t.tests[name]; {
		case o.Status == "" || o.seconds > slowTest:
			s.slow = append(s.slow, name)
		case slices.Contains(t.broken, name):
			s.flaky = append(s.flaky, name)
		default:
			s.tests = append(s.tests, name)
		}
	}
	if t.seen.Unnamed > 0 { // by a goroutine that no test's name is on the stack of: it may be any
		for name, o := range t.tests {
			if o.Status == "" || o.seconds > slowTest || name != topTest(name) || slices.Contains(t.broken, name) {
				continue
			}
			if !slices.Contains(s.tests, name) {
				s.tests = append(s.tests, name)
			}
		}
	}
	inorder.Sort(s.tests)
	inorder.Sort(s.slow)
}

// keepBenchmarks keeps the benchmarks below which the target is called. Those come last that may be
// behind calls of a goroutine that no name is on the stack of.
func (s *suite) keepBenchmarks(t *tally) {
	var perhaps []string
	for _, leaf := range t.leaves {
		switch {
		case slices.Contains(t.broken, topTest(leaf)):
		case t.seen.Tests[topTest(leaf)] > 0:
			s.bench = append(s.bench, leaf)
		case t.seen.Unnamed > 0:
			perhaps = append(perhaps, leaf)
		}
	}
	s.bench = append(s.bench, perhaps...)
}

func lastSeen(lines []live.Line) (seen live.Seen) {
	for _, l := range lines {
		if l.Seen != nil {
			seen = *l.Seen
		}
	}
	return seen
}
