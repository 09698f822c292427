package inplace

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inplace/live"
	"github.com/beagle-go/beagle/internal/sandbox"
)

// Quick compares one version of a program with the original, for about half a second a suite: a
// search has many, and Behaves and Full look at the few that lead.
func (p *Place) Quick(ctx context.Context, g *Program, version int, c beagle.Candidate) (*beagle.Verdict, error) {
	v := &beagle.Verdict{Candidate: c.ID, Status: beagle.Equal, Contract: p.u.Target.Contract}
	if p.evidence.Within == beagle.ByRuns {
		return v, p.check(v, "tests", func() (*comparison, error) { return p.briefly(ctx, g, version) })
	}
	return v, p.check(v, "calls", func() (*comparison, error) { return p.calls(ctx, g, version, quickTime) })
}

// Behaves gives one version of a program the checks of Full that need no program of its own.
func (p *Place) Behaves(ctx context.Context, g *Program, version int, c beagle.Candidate) (*beagle.Verdict, error) {
	v := &beagle.Verdict{Candidate: c.ID, Status: beagle.Equal, Contract: p.u.Target.Contract}
	if p.evidence.Within != beagle.ByRuns {
		err := p.check(v, "calls", func() (*comparison, error) { return p.calls(ctx, g, version, compareTime) })
		if err != nil || !v.OK() {
			return v, err
		}
	}
	return v, p.check(v, "tests", func() (*comparison, error) { return p.runs(ctx, g, version) })
}

// Full gives a version every check that there is in place. The caller has read it: see
// verify.Static.
func (p *Place) Full(ctx context.Context, original string, c beagle.Candidate) (*beagle.Verdict, error) {
	v := &beagle.Verdict{Candidate: c.ID, Status: beagle.Equal, Contract: p.u.Target.Contract}
	v.Assurance = &beagle.Assurance{InPlace: true, Steps: len(c.Steps), NotChecked: p.evidence.Lacks()}
	// Build the original, the version and a second original.
	both := []Version{{"original", original}, {c.ID, c.Source}}
	g, err := p.Build(ctx, append(both, Version{"copy", original}), Link{})
	if err != nil {
		return nil, err
	}
	defer g.Remove()
	v.Stage = "compile"
	v.Checks = append(v.Checks, beagle.CheckResult{Name: "compile", Passed: g.Failed[1] == ""})
	if why := g.Failed[1]; why != "" {
		v.Status, v.Reason = beagle.Invalid, why
		return v, nil
	}
	// Compare within calls, unless the original already differs from its own copy that way.
	if p.evidence.Within != beagle.ByRuns {
		err := p.check(v, "calls", func() (*comparison, error) { return p.certain(ctx, g) })
		if err != nil || !v.OK() {
			return v, err
		}
	}
	// Compare whole runs of the tests, then run them with the race detector.
	err = p.check(v, "tests", func() (*comparison, error) { return p.runs(ctx, g, 1) })
	if err != nil || !v.OK() {
		return v, err
	}
	return v, p.race(ctx, v, both)
}

// calls compares a version within calls. A test that only ends otherwise says nothing: comparing
// allocates and takes time, which a test may count. Then whole runs decide.
func (p *Place) calls(ctx context.Context, g *Program, version int, budget time.Duration) (*comparison, error) {
	c, err := p.compareCalls(ctx, g, version, budget)
	if err != nil || c.difference != nil || c.kind != "test" {
		return c, err
	}
	whole, err := p.runs(ctx, g, version)
	if err != nil || whole.fault() != "" {
		return whole, err
	}
	return &comparison{calls: c.calls, taped: c.taped, faults: c.faults, skipped: map[string]int64{
		"beside the comparison a test ends otherwise, and without it as with the original (" + c.trouble + ")": 1}}, nil
}

// selfComparisons is the number of comparisons of the original with its own copy before a
// difference counts.
const selfComparisons = 2

// certain compares version 1 within calls. A difference does not count if the original shows one
// from its own copy, version 2, too: other goroutines may change the memory that a call works on.
func (p *Place) certain(ctx context.Context, g *Program) (*comparison, error) {
	c, err := p.calls(ctx, g, 1, compareTime)
	if err != nil || c.difference == nil {
		return c, err
	}
	for range selfComparisons {
		own, err := p.compareCalls(ctx, g, 2, compareTime)
		if err != nil {
			return nil, err
		}
		if why := own.fault(); why != "" {
			return &comparison{calls: c.calls, skipped: map[string]int64{
				"the original differs from its own copy, too (" + why + ")": 1}}, nil
		}
	}
	return c, nil
}

// Evidence returns the findings of the survey.
func (p *Place) Evidence() *beagle.InPlace { return &p.evidence }

// check runs a comparison and notes its result.
func (p *Place) check(v *beagle.Verdict, name string, compare func() (*comparison, error)) error {
	start := time.Now()
	c, err := compare()
	if err != nil {
		return err
	}
	// Note the check with its skipped calls.
	v.Stage = name
	result := beagle.CheckResult{Name: name, Passed: c.fault() == "", Cases: int(c.calls),
		Millis: float64(time.Since(start).Microseconds()) / 1000}
	for why, n := range c.skipped {
		result.Note = strings.TrimPrefix(result.Note+fmt.Sprintf("; %d calls not compared: %s", n, why), "; ")
	}
	if c.faults > 0 {
		note := fmt.Sprintf("%s; %d made again, most with a callback or an interface that fails", result.Note, c.faults)
		result.Note = strings.TrimPrefix(note, "; ")
	}
	v.Checks = append(v.Checks, result)
	if name == "calls" && v.Assurance != nil {
		v.Assurance.Inputs = int(c.calls)
	}
	if result.Passed {
		return nil
	}
	// Note the rejection with its kind.
	v.Status, v.Reason = beagle.Wrong, c.fault()
	switch c.kind {
	case "crash":
		v.Status = beagle.Crashed
	case "hang":
		v.Status = beagle.Hung
	}
	v.Counterexample = c.counterexample()
	return nil
}

func (c *comparison) counterexample() *beagle.Counterexample {
	if d := c.difference; d != nil {
		text := fmt.Sprintf("call %d of the tests, in %s, with %s", d.Call, d.Test, d.Args)
		if d.When != "" {
			text += ", made again, " + d.When
		}
		return &beagle.Counterexample{Kind: d.Kind, Want: d.Want, Got: d.Got, Go: text}
	}
	return &beagle.Counterexample{Kind: c.kind, Want: "the tests end as with the original", Got: c.trouble}
}

// race runs the tests with the race detector, where it can be built in and the original is clean.
func (p *Place) race(ctx context.Context, v *beagle.Verdict, both []Version) error {
	start := time.Now()
	result := beagle.CheckResult{Name: "race", Passed: true}
	note := func(why string) error {
		result.Note = why
		v.Checks = append(v.Checks, result)
		v.Assurance.NotChecked = append(v.Assurance.NotChecked, "data races: "+why)
		return nil
	}
	if p.norace {
		return note("left out")
	}
	// One program with the original and the candidate.
	g, err := p.Build(ctx, both, Link{Race: true})
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return note("the race detector could not be built in")
	}
	defer g.Remove()
	for i, s := range p.suites {
		if g.paths[i] == "" || len(s.tests) == 0 {
			continue
		}
		// Run the tests with the original first: a race of its own says nothing of the candidate.
		var racy [2]bool
		for k := range racy {
			j := job{suite: i, plan: live.Plan{Mode: live.Run, Version: k}, tests: s.tests, wall: 3 * s.timeLimit()}
			r, err := p.run(ctx, g, j)
			if err != nil {
				return err
			}
			racy[k] = strings.Contains(string(r.Stdout)+string(r.Stderr), "WARNING: DATA RACE")
			if k == 0 && (racy[k] || r.Ended != sandbox.Exited) {
				return note("the original's tests do not pass with the race detector")
			}
			result.Cases += len(r.tests)
		}
		if racy[1] {
			result.Passed = false
			v.Status, v.Reason = beagle.Wrong, "the race detector found a data race in the tests of "+s.pkg.ImportPath
			v.Counterexample = &beagle.Counterexample{Kind: "race", Want: "no data race", Got: v.Reason}
			break
		}
	}
	v.Stage = "race"
	result.Millis = float64(time.Since(start).Microseconds()) / 1000
	v.Checks = append(v.Checks, result)
	return nil
}
