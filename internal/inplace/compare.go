package inplace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/inplace/live"
	"github.com/beagle-go/beagle/internal/sandbox"
)

const (
	compareTime = 5 * time.Second        // of comparing within calls, for one version and suite
	quickTime   = 500 * time.Millisecond // the same while the search goes on
	patience    = 20 * time.Second       // wall time of a run beyond ten times the original's

	quickPatience = 5 * time.Second // the same for a run of the quickest tests alone
)

// A comparison holds the findings on one version beside the original.
type comparison struct {
	calls, taped int64
	faults       int64 // repetitions in which a callback or an interface failed
	skipped      map[string]int64
	difference   *live.Difference
	trouble      string // a test that ended otherwise
	kind         string // of the trouble: "crash", "hang", "test"

	took []time.Duration // of whole runs, by suite
}

// fault names the fault of the version; "" for none.
func (c *comparison) fault() string {
	switch {
	case c.difference != nil:
		d := c.difference
		where := fmt.Sprintf("in call %d of %s", d.Call, cmp.Or(d.Test, "the tests"))
		if d.When != "" {
			where += ", made again, " + d.When
		}
		return fmt.Sprintf("%s: %s, not %s", where, d.Got, d.Want)
	case c.trouble != "":
		return c.trouble
	}
	return ""
}

func (c *comparison) skippedFor() string {
	if len(c.skipped) == 0 {
		return ""
	}
	return ": " + strings.Join(inorder.Keys(c.skipped)[:1], "")
}

// compareCalls compares a version with the original in each call of the tests and benchmarks.
func (p *Place) compareCalls(ctx context.Context, g *Program, version int, budget time.Duration) (*comparison, error) {
	out := &comparison{}
	for i, s := range p.suites {
		if g.paths[i] == "" {
			continue
		}
		plan := live.Plan{
			Mode: live.Compare, Version: version, Budget: int64(budget), Tape: p.evidence.Within == beagle.ByTape,
			Faults: p.faults,
		}
		// The tests are one process; each benchmark runs one iteration in another.
		jobs := []job{{suite: i, plan: plan, tests: s.tests, wall: s.timeLimit()}}
		if len(s.bench) > 0 {
			jobs = append(jobs,
				job{suite: i, plan: plan, bench: tops(s.bench), time: "1x", wall: s.timeLimit(), threads: 1})
		}
		if len(s.tests) == 0 {
			jobs = jobs[1:]
		}
		for _, j := range jobs {
			r, err := p.run(ctx, g, j)
			if err != nil {
				return nil, err
			}
			out.take(r, s, j.tests)
			if out.fault() != "" {
				return out, nil
			}
		}
	}
	return out, nil
}

// timeLimit returns the time limit of one run of a version.
func (s *suite) timeLimit() time.Duration { return 10*s.took + patience }

// quickTimeLimit returns the time limit of one run of the quickest tests.
func (s *suite) quickTimeLimit() time.Duration {
	if s.quickTook == 0 {
		return s.timeLimit()
	}
	return min(10*s.quickTook+quickPatience, s.timeLimit())
}

// tops returns the pattern for the benchmarks that leaves belong to.
func tops(leaves []string) string {
	var names []string
	for _, l := range leaves {
		names = append(names, topTest(l))
	}
	inorder.Sort(names)
	return namePattern(slices.Compact(names))
}

// take adds the results of one run of these tests, or of benchmarks.
func (c *comparison) take(r *ran, s *suite, tests []string) {
	var last live.Compared
	for _, l := range r.lines {
		if l.Compared != nil {
			last = *l.Compared
		}
		if l.Difference != nil {
			c.difference = l.Difference
		}
	}
	c.calls += last.Calls
	c.taped += last.Taped
	c.faults += last.Faults
	for why, n := range last.Skipped {
		if c.skipped == nil {
			c.skipped = map[string]int64{}
		}
		c.skipped[why] += n
	}
	if c.difference != nil {
		return
	}
	c.kind, c.trouble = s.endedOtherwise(r, tests)
}

// endedOtherwise describes how a run of these tests, or of benchmarks, ended otherwise than the
// original's; "" when it did not.
func (s *suite) endedOtherwise(r *ran, tests []string) (kind, why string) {
	// Compare how each test ended.
	for _, name := range inorder.Keys(s.wanted) {
		want := s.wanted[name]
		got, ran := r.tests[name]
		switch {
		case !ran && r.OK() && slices.Contains(tests, topTest(name)):
			return "test", name + " does not run: other calls lead to it"
		case ran && got.Status == "FAIL":
			return "test", fmt.Sprintf("%s fails: %s", name, firstOf(got.Output))
		case ran && got.Status != "" && got.Status != want.Status:
			return "test", fmt.Sprintf("%s ends with %s, not %s", name, got.Status, want.Status)
		case ran && got.Status != "" && want.Output != "" && got.Output != want.Output:
			return "test", fmt.Sprintf("%s prints other lines: %s", name, firstUnlike(want.Output, got.Output))
		}
	}
	// Compare the process as a whole.
	switch {
	case r.OK() && len(tests) > 0 && len(tests) == len(s.tests) && s.stderr != nil &&
		withoutTimes(r.Stderr) != *s.stderr:
		return "test", "the tests print other lines to the standard error: " + firstUnlike(*s.stderr,
			withoutTimes(r.Stderr))
	case r.OK():
		return "", ""
	case r.timedOut():
		return "hang", "the tests do not end in the time that ten runs of the original take"
	case r.Ended == sandbox.Exited && r.Code == 1 && failedElsewhere(r, s):
		return "", ""
	}
	return "crash", "the tests end early: " + outputOf(r.Result)
}

// failedElsewhere reports whether all tests that failed are ones that are left out.
func failedElsewhere(r *ran, s *suite) bool {
	failed := false
	for name, o := range r.tests {
		if o.Status != "FAIL" {
			continue
		}
		failed = true
		if _, counts := s.wanted[name]; counts || strings.HasPrefix(name, "Benchmark") {
			return false
		}
	}
	return failed
}

func firstOf(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return text
}

// firstUnlike returns the first line that differs.
func firstUnlike(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("%q, not %q", g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, not %d", len(g), len(w))
}

// runs compares whole runs of the tests, and of the benchmarks once each, with those of the
// original.
func (p *programs) runs(ctx context.Context, g *Program, version int) (*comparison, error) {
	return p.runsOf(ctx, g, live.Plan{Mode: live.Run, Version: version}, false)
}

// briefly compares runs of the quickest tests alone, where these notice a target that does nothing:
// all tests of a module can take a hundred times as long.
func (p *Place) briefly(ctx context.Context, g *Program, version int) (*comparison, error) {
	return p.runsOf(ctx, g, live.Plan{Mode: live.Run, Version: version}, p.brief)
}

// runsOf runs each suite's tests and benchmarks with a plan, or its quickest tests.
func (p *programs) runsOf(ctx context.Context, g *Program, plan live.Plan, brief bool) (*comparison, error) {
	out := &comparison{took: make([]time.Duration, len(p.suites))}
	for i, s := range p.suites {
		if g.paths[i] == "" {
			continue
		}
		var jobs []job
		tests, wall := s.tests, s.timeLimit()
		if brief {
			tests, wall = s.quick, s.quickTimeLimit()
		}
		if len(tests) > 0 {
			jobs = append(jobs, job{suite: i, plan: plan, tests: tests, wall: wall})
		}
		if len(s.bench) > 0 && !brief {
			jobs = append(jobs, job{suite: i, plan: plan, bench: tops(s.bench), time: "1x", wall: s.timeLimit(),
				threads: 1})
		}
		for _, j := range jobs {
			r, err := p.run(ctx, g, j)
			if err != nil {
				return nil, err
			}
			out.take(r, s, j.tests)
			if out.trouble != "" {
				return out, nil
			}
			out.calls += int64(len(r.tests))
			out.took[i] += r.Wall
		}
	}
	return out, nil
}
