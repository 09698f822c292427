package inplace

import (
	"cmp"
	"context"
	"fmt"
	"go/types"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/gotool"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/inplace/live"
	"github.com/beagle-go/beagle/internal/syntax"
)

const (
	surveyTime = 45 * time.Second // for one run of a suite's tests
	slowTest   = 4.0              // seconds from which on a test is left out: it runs for each version
	maxSuites  = 3                // packages beside the target's own whose tests are tried
	maxTimed   = 4                // leaf benchmarks that are timed
)

// Survey finds out which tests and benchmarks call the target, which of them do the same in each
// run, and how closely versions can be compared. It returns a [beagle.UsageError] when none calls
// it: without a call there is no evidence.
func (p *Place) Survey(ctx context.Context, original string) (*beagle.InPlace, error) {
	p.evidence, p.suites, p.survey = beagle.InPlace{Outside: p.u.Outside, Group: p.u.Scope.Group()}, nil, &Program{}
	p.brief, p.faults, p.trouble = false, false, nil
	if err := p.findSuites(ctx, original); err != nil {
		return nil, err
	}
	for i := range p.suites {
		if err := p.steady(ctx, p.survey, i); err != nil {
			return nil, err
		}
	}
	if err := p.reach(ctx, p.survey); err != nil {
		return nil, err
	}
	if len(p.evidence.Tests)+len(p.evidence.Benchmarks) == 0 {
		return nil, p.uncalled("the tests that call it differ from run to run: " + list(p.evidence.Flaky))
	}
	return &p.evidence, p.noticed(ctx, p.survey)
}

// noticed refuses tests that end as with the original when the target does nothing and returns zero
// values: they would take any version for equal.
func (p *Place) noticed(ctx context.Context, g *Program) error {
	if p.u.Scope.Group() {
		return p.voids(ctx, g)
	}
	p.watch("whether the tests notice a " + p.u.Target.Name + " that does nothing")
	var err error
	if p.brief, err = p.quickNotices(ctx, g); err != nil || p.brief {
		return err
	}
	compare := []func(context.Context, *Program, int) (*comparison, error){p.runs}
	if p.evidence.Within != beagle.ByRuns {
		compare = append([]func(context.Context, *Program, int) (*comparison, error){p.closely}, compare...)
	}
	for _, f := range compare {
		c, err := f(ctx, g, live.Hollow)
		if err != nil || c.fault() != "" {
			return err
		}
	}
	return p.unnoticed("the tests and benchmarks end as they do now when it does nothing and returns zero values")
}

// quickNotices reports whether the quickest tests alone pass with the original's copy, and notice a
// target that does nothing. Tests that need a longer one before them fail with any version. A
// target that does nothing often makes a loop of its caller endless, so its run is short.
func (p *Place) quickNotices(ctx context.Context, g *Program) (bool, error) {
	same, err := p.runsOf(ctx, g, live.Plan{Mode: live.Run, Version: 1}, true)
	if err != nil || same.fault() != "" {
		return false, err
	}
	for i, s := range p.suites {
		s.quickTook = same.took[i]
	}
	hollow, err := p.runsOf(ctx, g, live.Plan{Mode: live.Run, Version: live.Hollow}, true)
	if err != nil {
		return false, err
	}
	return hollow.fault() != "", nil
}

// closely compares a version within calls, for as long as a full check does.
func (p *Place) closely(ctx context.Context, g *Program, version int) (*comparison, error) {
	return p.calls(ctx, g, version, compareTime)
}

// pair builds the original and its copy. When the recorders do not compile, it is
// built without them.
func (p *Place) pair(ctx context.Context, original string) (*Program, error) {
	if p.u.Scope.Group() {
		return p.pairWhole(ctx, original)
	}
	both := []Version{{"original", original}, {"copy", original}}
	g, err := p.Build(ctx, both, Link{})
	if err != nil && p.tape && ctx.Err() == nil {
		p.tape = false
		var again error
		if g, again = p.Build(ctx, both, Link{}); again != nil {
			return nil, err
		}
		p.evidence.Why, err = "the code that records callbacks and interfaces does not compile", nil
	}
	return g, err
}

// noBenchmark says that no benchmark calls the target, and which could not run.
func (p *Place) noBenchmark() string {
	return "no benchmark calls " + p.u.Target.Name + p.untried()
}

// Untimed is the error for a target that can be judged in place, and not timed.
func (p *Place) Untimed(why string) error {
	return &beagle.UsageError{
		What: fmt.Sprintf("%s cannot be timed in place: %s", p.u.Target.Spec(), why),
		Remedy: "write a benchmark that calls it in a loop, or judge the behaviour alone with " +
			"beagle verify --no-measure",
	}
}

func (p *Place) uncalled(why string) error {
	return &beagle.UsageError{
		What: fmt.Sprintf("%s: there is no evidence in place: %s", p.u.Target.Spec(), why),
		Remedy: "write a test or a benchmark that calls it, that takes a second or so and " +
			"does the same each time",
	}
}

// A surveyed is a suite, with the program in which the calls of its benchmarks and tests are
// counted.
type surveyed struct {
	*suite
	program *Program
}

// findSuites looks for tests that call the target: in its own package, and if no benchmark there
// does, in those that import it. Benchmarks run first, since a target that must be timed, and that
// none of them calls, needs no tests, which may take minutes.
func (p *Place) findSuites(ctx context.Context, original string) error {
	own, deps, err := p.tools.TargetPackage(ctx, &p.u.Target)
	if err != nil {
		return err
	}
	p.read = p.tools.Readable(&p.u.Target, deps)
	// The own package first.
	var found []surveyed
	if own.Tests() > 0 {
		if found, err = p.tryBenchmarks(ctx, []*gotool.Listed{own}, original); err != nil {
			return err
		}
	}
	// Then packages that import it, if a benchmark is still missing.
	if !benchmarked(found) {
		others, err := p.tools.Importers(ctx, &p.u.Target)
		if err != nil {
			return err
		}
		others = others[:min(len(others), maxSuites)]
		if deps, err = p.tools.Deps(ctx, &p.u.Target, others); err != nil {
			return err
		}
		if len(others) > 0 {
			p.read = append(p.read, p.tools.Readable(&p.u.Target, deps)...)
			inorder.Sort(p.read)
			p.read = slices.Compact(p.read)
		}
		more, err := p.tryBenchmarks(ctx, others, original)
		if err != nil {
			return err
		}
		found = append(found, more...)
	}
	if p.Timing && !benchmarked(found) {
		return p.Untimed(p.noBenchmark())
	}
	// Count the calls of the tests, and keep the suites that call the target.
	for _, s := range found {
		if err := p.tryTests(ctx, s); err != nil {
			return err
		}
	}
	if len(p.suites) == 0 {
		why := "no test, example, fuzz seed or benchmark calls it"
		return p.uncalled(why + p.untried())
	}
	return nil
}

// benchmarked reports whether a benchmark of a suite calls the target.
func benchmarked(found []surveyed) bool {
	return slices.ContainsFunc(found, func(s surveyed) bool { return len(s.bench) > 0 })
}

// untried says in brackets which tests could not run, and why; "" if all could.
func (p *Place) untried() string {
	if len(p.trouble) == 0 {
		return ""
	}
	return " (" + strings.Join(p.trouble, "; ") + ")"
}

// tryBenchmarks builds the tests of packages and counts the calls of their benchmarks. Packages
// whose tests do not build are left out.
func (p *Place) tryBenchmarks(
	ctx context.Context, packages []*gotool.Listed, original string,
) (found []surveyed, err error) {
	for _, pkg := range packages {
		s := surveyed{suite: &suite{pkg: pkg}}
		err := p.alone(s.suite, func() error {
			p.watch("the benchmarks of " + pkg.ImportPath)
			g, err := p.pair(ctx, original)
			switch {
			case err == nil:
				s.program = g
				return p.countBenchmarks(ctx, g, s.suite)
			case ctx.Err() != nil:
				return err
			}
			p.trouble = append(p.trouble, fmt.Sprintf("the tests of %s do not build: %v", pkg.ImportPath, err))
			return nil
		})
		if err != nil {
			return nil, err
		}
		if s.program != nil {
			found = append(found, s)
		}
	}
	return found, nil
}

// tryTests counts the calls of the tests of a suite, and keeps it if they or its benchmarks call
// the target.
func (p *Place) tryTests(ctx context.Context, s surveyed) error {
	p.watch("the tests of " + s.pkg.ImportPath)
	if err := p.alone(s.suite, func() error { return p.countTests(ctx, s.program, s.suite) }); err != nil {
		return err
	}
	if len(s.tests)+len(s.bench) == 0 {
		s.program.Remove()
		return nil
	}
	p.suites = append(p.suites, s.suite)
	p.survey.paths = append(p.survey.paths, s.program.paths[0])
	if s.program.versions != nil {
		p.survey.versions = append(p.survey.versions, s.program.versions[0])
	}
	return nil
}

// alone calls f while s is the only suite.
func (p *Place) alone(s *suite, f func() error) error {
	kept := p.suites
	p.suites = []*suite{s}
	defer func() { p.suites = kept }()
	return f()
}

// steady leaves out the tests that differ from run to run of the original.
func (p *Place) steady(ctx context.Context, g *Program, i int) error {
	s := p.suites[i]
	if len(s.tests) == 0 {
		return nil
	}
	runs, err := p.runTwice(ctx, g, i)
	if err != nil {
		return err
	}
	// Output of a target is compared only if two runs print the same.
	if text := withoutTimes(runs[0].Stderr); p.u.Outside != "" && text == withoutTimes(runs[1].Stderr) {
		s.stderr = &text
	}
	// Keep the outcomes that both runs share. A flaky subtest makes its whole test flaky.
	s.wanted = map[string]outcome{}
	flaky := map[string]bool{}
	for _, name := range inorder.Keys(runs[0].tests) {
		a, b := runs[0].tests[name], runs[1].tests[name]
		switch {
		case a.Status == "" || a.Status != b.Status || a.Status == "FAIL":
			flaky[topTest(name)] = true
		case a.Output != b.Output:
			a.Output = "" // its text is not the same each time: the status alone counts
			fallthrough
		default:
			s.wanted[name] = a
		}
	}
	for name := range s.wanted {
		if flaky[topTest(name)] {
			delete(s.wanted, name)
		}
	}
	// Leave out the flaky tests.
	s.tests = slices.DeleteFunc(s.tests, func(n string) bool {
		_, known := s.wanted[n]
		if !known {
			s.flaky = append(s.flaky, n)
		}
		return !known
	})
	s.quick = quickest(s.tests, runs[0].tests)
	return nil
}

// runTwice returns two runs of the tests that call the target. The run in which calls were counted
// is one of them, if the tests ended and printed the same there.
func (p *Place) runTwice(ctx context.Context, g *Program, i int) (runs [2]*ran, err error) {
	s := p.suites[i]
	p.watch(fmt.Sprintf("%d tests of %s again, with the original", len(s.tests), s.pkg.ImportPath))
	for k := range runs {
		j := job{suite: i, plan: live.Plan{Mode: live.Run, Version: k}, tests: s.tests, wall: surveyTime}
		if runs[k], err = p.run(ctx, g, j); err != nil {
			return runs, err
		}
		s.took = max(s.took, runs[k].Wall)
		if k == 0 && p.u.Outside == "" && runs[k].sameAs(s.counted) {
			runs[1] = runs[0]
			break
		}
	}
	return runs, nil
}

// sameAs reports whether all tests of a run passed, and ended and printed as in an earlier run.
func (r *ran) sameAs(earlier map[string]outcome) bool {
	for name, o := range r.tests {
		if e := earlier[name]; !o.passed() || o.Status != e.Status || o.Output != e.Output {
			return false
		}
	}
	return r.OK()
}

// quickTests is the time for a brief run of a suite's tests, in seconds.
const quickTests = 0.5

// quickest returns the fastest tests that fit into quickTests, the fastest first.
func quickest(tests []string, took map[string]outcome) []string {
	tests = slices.Clone(tests)
	inorder.By(tests, func(a, b string) int {
		return cmp.Or(cmp.Compare(took[a].seconds, took[b].seconds), strings.Compare(a, b))
	})
	sum := 0.0
	for i, name := range tests {
		if sum += took[name].seconds; sum > quickTests {
			return tests[:i]
		}
	}
	return tests
}

// reach finds the strongest way to compare versions within one call in which the original does not
// differ from its own copy, and sums up.
func (p *Place) reach(ctx context.Context, g *Program) error {
	e := &p.evidence
	// Sum up the survey.
	for _, s := range p.suites {
		e.Packages = append(e.Packages, s.pkg.ImportPath)
		e.Tests = append(e.Tests, s.tests...)
		e.Benchmarks = append(e.Benchmarks, s.bench...)
		e.Flaky = append(e.Flaky, s.flaky...)
		e.Slow = append(e.Slow, s.slow...)
	}
	// Some targets can only be compared by whole runs.
	e.Within = beagle.ByRuns
	if p.u.Scope.Group() {
		e.Why = "fields may change, so that one call of a version cannot be compared with one of the original"
		return nil
	}
	if len(p.u.Target.TypeArgs) > 0 {
		e.Why = "the function is generic"
		return nil
	}
	if p.guarded() {
		e.Why = "an argument holds a lock: other goroutines may change it while it is copied"
		return nil
	}
	// Try the stronger ways, the strongest first: the original must agree with its copy.
	ways := []beagle.CallComparison{beagle.ByTape, beagle.ByCopies}
	if !p.tape {
		ways = ways[1:]
	}
	for _, way := range ways {
		e.Within = way
		w, err := p.agreement(ctx, g)
		if err != nil {
			return err
		}
		switch {
		case w.fault() != "":
			e.Why = strings.TrimPrefix(e.Why+"; ", "; ") + "by " + string(way) +
				" the original differs from its copy: " + w.fault()
		case w.calls == 0:
			e.Why = strings.TrimPrefix(e.Why+"; ", "; ") + "by " + string(way) + " no call can be compared" +
				w.skippedFor()
		default:
			e.Compared, e.Taped = w.calls, w.taped
			return nil
		}
	}
	e.Within = beagle.ByRuns
	return nil
}

// agreement compares the original with its own copy in each call, in the way that is being tried.
// With recorders, calls are made again in which a callback or an interface fails, if the original
// does not differ from its copy then, and comes to an end.
func (p *Place) agreement(ctx context.Context, g *Program) (*comparison, error) {
	e := &p.evidence
	failing := ""
	if e.Within == beagle.ByTape {
		p.faults = true
		w, err := p.compareCalls(ctx, g, 1, compareTime)
		if err != nil {
			return nil, err
		}
		failing = w.fault()
		if failing == "" {
			p.faults = p.failable(w)
			return w, nil
		}
		p.faults = false
		if w.difference != nil && w.faults == 0 { // no call was made again so far
			return w, nil
		}
	}
	compare := p.calls
	if p.u.Outside != "" {
		compare = p.compareCalls // two calls repeat all that it prints or takes from outside
	}
	w, err := compare(ctx, g, 1, compareTime)
	if err == nil && w.fault() == "" && failing != "" && p.failable(w) {
		e.Unfailing = "the original differs from its own copy then: " + failing
	}
	return w, err
}

// failable reports whether something that a compared call calls may fail.
func (p *Place) failable(w *comparison) bool {
	return w.taped > 0 || p.shell.contexts() || len(p.shell.functions()) > 0
}

// guarded reports whether the receiver or a parameter leads to a value of sync or sync/atomic.
// Goroutines share such values, and a method beside the target may change them while they are
// copied.
func (p *Place) guarded() bool {
	seen := map[types.Type]bool{}
	var leads func(types.Type) bool
	// Walk through the type once.
	leads = func(t types.Type) bool {
		if seen[t] {
			return false
		}
		seen[t] = true
		if path, _ := syntax.NameOf(t); path == "sync" || path == "sync/atomic" {
			return true
		}
		switch u := t.Underlying().(type) {
		case *types.Pointer:
			return leads(u.Elem())
		case *types.Slice:
			return leads(u.Elem())
		case *types.Array:
			return leads(u.Elem())
		case *types.Map:
			return leads(u.Elem())
		case *types.Struct:
			for f := range u.Fields() {
				if leads(f.Type()) {
					return true
				}
			}
		}
		return false
	}
	if r := p.u.Sig.Recv(); r != nil && leads(r.Type()) {
		return true
	}
	for v := range p.u.Sig.Params().Variables() {
		if leads(v.Type()) {
			return true
		}
	}
	return false
}

func list(names []string) string {
	const most = 6
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
