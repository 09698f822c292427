package corpus

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/gotool"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
)

// CaptureOptions bound the recording.
type CaptureOptions struct {
	Budget    time.Duration                  // for all of it; 0 means a minute
	BenchTime string                         // for each benchmark; "" means 300ms
	Packages  int                            // test suites at most; 0 means 12
	Benchmark string                         // of the target's package: record this one alone; "" for all there is
	Progress  func(what string, records int) // called before each test suite, with the records so far; may be nil
}

// Captured holds the calls that a module's tests make of the target.
type Captured struct {
	Records    []beagle.Record // weighted, see the package's documentation
	Calls      float64
	Dropped    int
	Why        []string // why calls were dropped
	Concurrent bool
	Sources    []string // for the report, one for each test suite that called the target
	Failures   []string // test suites that did not build or did not pass, with their messages
	Unasked    []string // packages whose tests the budget did not reach
}

// Distinct calls that are enough: with plenty from the tests the benchmarks,
// which take long, are left out; with some, other packages' tests.
const (
	plentyCalls = 8192
	someCalls   = 1024
)

// fruitless is the number of suites in a row that record nothing before the rest, which is farther
// from the target, is left out.
const fruitless = 4

// maxBenchScale bounds how much more a benchmark's input counts than one of a
// test: many benchmarks have one input only.
const maxBenchScale = 16

// Capture runs the tests of the target's package, then its benchmarks, then those of the packages
// in the module that import it, with a target that records its calls. It reports test suites that
// fail or take too long, and keeps their records until then. dir is for temporary files.
func Capture(
	ctx context.Context, u *source.Unit, box *sandbox.Sandbox, dir string, o CaptureOptions,
) (*Captured, error) {
	// Refuse what the go command cannot instrument.
	if vendored(&u.Target) {
		return nil, &beagle.UsageError{
			What: fmt.Sprintf("%s is vendored from another module, %s: its calls cannot be recorded, since the go "+
				"command refuses what is in vendor and not in modules.txt", u.Target.Spec(), u.Target.Module),
			Remedy: "name a function of the main module or of a module of the workspace (go.work can take in a " +
				"checkout of " + u.Target.Module + "), or give recorded calls with --corpus",
		}
	}
	c := &capturer{u: u, box: box, dir: dir, o: o}
	c.defaults()
	var err error
	if c.tools, err = gotool.Find(ctx, u); err != nil {
		return nil, err
	}
	if c.tools.GOMODCACHE != "" && strings.HasPrefix(u.Target.PkgDir, c.tools.GOMODCACHE+string(filepath.Separator)) {
		c.out.Failures = []string{
			"the go command does not instrument what is in its module cache; copy the module to another directory",
		}
		return &c.out, nil
	}
	// Instrument the target, and run the tests.
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if c.overlay, err = newInstrument(u, dir); err != nil {
		return nil, err
	}
	if err := c.runSuites(ctx); err != nil {
		return nil, err
	}
	c.finish()
	return &c.out, nil
}

// vendored reports whether the target's package is a copy in a vendor directory.
func vendored(of *beagle.Target) bool {
	local, err := filepath.Rel(of.Dir, of.PkgDir)
	return err == nil && slices.Contains(strings.Split(filepath.ToSlash(local), "/"), "vendor")
}

// runSuites runs the target's own tests, and the others only if these recorded too
// little: listing a large module alone takes a while.
func (c *capturer) runSuites(ctx context.Context) error {
	own, deps, err := c.tools.TargetPackage(ctx, &c.u.Target)
	if err != nil {
		return err
	}
	if own.Tests() > 0 {
		if err := c.suites(ctx, []*gotool.Listed{own}, deps); err != nil {
			return err
		}
	}
	if c.isDone(someCalls) || c.o.Benchmark != "" {
		return nil
	}
	others, err := c.tools.Importers(ctx, &c.u.Target)
	if err != nil || len(others) == 0 {
		return err
	}
	n := min(len(others), c.o.Packages)
	for _, p := range others[n:] {
		c.out.Unasked = append(c.out.Unasked, p.ImportPath)
	}
	deps, err = c.tools.Deps(ctx, &c.u.Target, others[:n])
	if err != nil {
		return err
	}
	return c.suites(ctx, others[:n], deps)
}

// isDone reports whether there is no time for more, or no need.
func (c *capturer) isDone(enough int) bool { return time.Now().After(c.end) || c.records >= enough }

func (c *capturer) suites(ctx context.Context, list, deps []*gotool.Listed) error {
	c.read = c.tools.Readable(&c.u.Target, deps)
	return c.runUntilEnough(list, func(i int, p *gotool.Listed) error { return c.suite(ctx, i, p, len(list)) })
}

// runUntilEnough runs suites until there is enough, or until more promises nothing.
func (c *capturer) runUntilEnough(list []*gotool.Listed, run func(i int, p *gotool.Listed) error) error {
	idle := 0
	for i, p := range list {
		if c.isDone(someCalls) || idle == fruitless {
			c.out.Unasked = append(c.out.Unasked, p.ImportPath)
			continue
		}
		before := c.records
		if err := run(i, p); err != nil {
			return err
		}
		if idle++; c.records > before {
			idle = 0
		}
	}
	return nil
}

type capturer struct {
	u       *source.Unit
	box     *sandbox.Sandbox
	dir     string
	o       CaptureOptions
	tools   *gotool.Toolchain
	read    []string
	overlay string
	end     time.Time
	groups  []group
	records int
	why     map[string]bool
	out     Captured
}

// A group holds the records of one run of tests or of benchmarks.
type group struct {
	bench   bool
	records []rt.Record
	calls   float64
}

func (c *capturer) defaults() {
	if c.o.Budget == 0 {
		c.o.Budget = time.Minute
	}
	if c.o.BenchTime == "" {
		c.o.BenchTime = "300ms"
	}
	if c.o.Packages == 0 {
		c.o.Packages = 12
	}
	if c.o.Progress == nil {
		c.o.Progress = func(string, int) {}
	}
	c.end = time.Now().Add(c.o.Budget)
	c.why = map[string]bool{}
}

// suite builds the tests of one package, runs the tests and then the
// benchmarks.
func (c *capturer) suite(ctx context.Context, i int, p *gotool.Listed, of int) error {
	place := ""
	if of > 1 {
		place = fmt.Sprintf(", package %d of %d", i+1, of)
	}
	c.o.Progress("calls of "+c.u.Target.Name+" by the tests of "+p.ImportPath+place, c.records)
	binary := filepath.Join(c.dir, "suite.test")
	defer os.Remove(binary)
	start := time.Now()
	ok, err := c.build(ctx, p, binary)
	if err != nil || !ok {
		return err
	}
	if p.ImportPath == c.u.Target.PkgPath {
		c.extend(time.Since(start))
	}
	tests := suiteRun{pkg: p, binary: binary, what: "go test", args: []string{"-test.count=1"}}
	benchmarks := suiteRun{pkg: p, binary: binary, what: "go test -bench", args: []string{
		"-test.run=^$", "-test.benchtime=" + c.o.BenchTime,
	}}
	if one := c.o.Benchmark; one != "" {
		_, err := c.record(ctx, benchmarks, "-test.bench=^"+one+"$")
		return err
	}
	pattern := namePattern(p, c.u.Target.Name, "Test", "Example", "Fuzz")
	if err := c.attempt(ctx, tests, "-test.run=", pattern); err != nil || c.records > 0 && c.isDone(plentyCalls) {
		return err
	}
	c.o.Progress("calls of "+c.u.Target.Name+" by the benchmarks of "+p.ImportPath+place, c.records)
	pattern = namePattern(p, c.u.Target.Name, "Benchmark")
	return c.attempt(ctx, benchmarks, "-test.bench=", pattern)
}

// extend gives back the time that the build of the target's own tests took, up to the budget once
// more: on a busy machine that build alone would use it up.
func (c *capturer) extend(built time.Duration) { c.end = c.end.Add(min(built, c.o.Budget)) }

// A suiteRun is a way to run the tests or the benchmarks of a package.
type suiteRun struct {
	pkg    *gotool.Listed
	binary string
	what   string // the command that a user knows
	args   []string
}

// attempt runs all tests or benchmarks of a package. When these fail, or take too
// long, before they call the target, it runs those alone that a pattern names.
func (c *capturer) attempt(ctx context.Context, s suiteRun, choose, pattern string) error {
	before := c.out.Calls
	ok, err := c.record(ctx, s, choose+".")
	if err != nil || ok || pattern == "" || c.out.Calls > before {
		return err
	}
	_, err = c.record(ctx, s, choose+pattern)
	return err
}

func (c *capturer) build(ctx context.Context, p *gotool.Listed, binary string) (bool, error) {
	args := append([]string{"test", "-c", "-vet=off", "-buildvcs=false", "-ldflags=-s -w", "-overlay=" + c.overlay,
		"-o", binary}, c.tools.TagArgs()...)
	r, err := c.box.Run(ctx, sandbox.Command{
		Profile: sandbox.Build, Path: c.tools.Command(), Args: append(args, p.ImportPath), Dir: c.u.Target.PkgDir,
		Env:  append(c.tools.Env(), source.Roomy...),
		Read: c.read, Write: []string{c.dir, c.tools.GOCACHE},
	})
	if err := stopError(ctx, r, err); err != nil {
		return false, err
	}
	if _, err := os.Stat(binary); !r.OK() || err != nil {
		c.out.Failures = append(c.out.Failures,
			fmt.Sprintf("the tests of %s do not build: %s", p.ImportPath, buildFailure(r)))
		return false, nil
	}
	return true, nil
}

func stopError(ctx context.Context, r sandbox.Result, err error) error {
	if err == nil && r.Ended == sandbox.Canceled {
		return context.Cause(ctx)
	}
	return err
}

// leastTime is a run's time even after the budget is used up.
const leastTime = 5 * time.Second

// record runs the chosen tests or benchmarks and adds their records. ok says that all of it ran.
func (c *capturer) record(ctx context.Context, s suiteRun, chosen string) (ok bool, err error) {
	calls, err := os.MkdirTemp(c.dir, "calls")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(calls)
	wall := max(time.Until(c.end)/2, leastTime)
	r, err := c.box.Run(ctx, sandbox.Command{
		Profile: sandbox.Test, Path: s.binary, Dir: s.pkg.Dir,
		Args: append(slices.Clone(s.args), chosen, "-test.timeout="+wall.String()),
		Env:  append(c.tools.Env(), rt.CaptureDir+"="+calls),
		Read: c.read, Write: []string{calls}, Limits: sandbox.Limits{Wall: wall + time.Second},
	})
	if err := stopError(ctx, r, err); err != nil {
		return false, err
	}
	if !r.OK() {
		c.out.Failures = append(c.out.Failures,
			fmt.Sprintf("%s %s %s", s.what, s.pkg.ImportPath, testFailure(r, c.u.Target.Dir)))
	}
	got, err := rt.LoadCaptured(calls)
	if err != nil {
		return false, err
	}
	c.add(got, s.what+" "+s.pkg.ImportPath, strings.HasSuffix(s.what, "-bench"))
	return r.OK(), nil
}

func (c *capturer) add(got *rt.Captured, source string, bench bool) {
	c.out.Calls += got.Calls
	c.out.Dropped += int(got.Dropped)
	c.out.Concurrent = c.out.Concurrent || got.Concurrent
	for _, w := range got.Reasons {
		if !c.why[w] {
			c.why[w] = true
			c.out.Why = append(c.out.Why, w)
		}
	}
	if got.Calls == 0 {
		return
	}
	c.records += len(got.Records)
	c.groups = append(c.groups, group{bench, got.Records, got.Calls})
	calls := beagle.Thousands(int(math.RoundToEven(got.Calls)))
	c.out.Sources = append(c.out.Sources,
		fmt.Sprintf("%s calls of %d inputs from %s", calls, len(got.Records), source))
}

// coarse rounds to a power of four. How often a benchmark repeats a call
// depends on the machine and on its load; which calls are much more frequent
// than others does not, and only that makes the corpus.
func coarse(w float64) float64 { return math.Exp2(2 * math.Round(math.Log2(w)/2)) }

// finish weighs the groups against each other.
func (c *capturer) finish() {
	var tests, benches float64
	for _, g := range c.groups {
		if g.bench {
			benches += float64(len(g.records))
		} else {
			tests += float64(len(g.records))
		}
	}
	for _, g := range c.groups {
		scale, source := 1.0, "test"
		if g.bench {
			scale, source = min(max(1, tests/benches), maxBenchScale), "bench"
		}
		recorded := 0.0
		for _, r := range g.records {
			recorded += r.Weight
		}
		for _, r := range g.records {
			w := r.Weight * float64(len(g.records)) / recorded
			if g.bench {
				w = coarse(w)
			}
			c.out.Records = append(c.out.Records, beagle.Record{Args: r.Args, Weight: w * scale, Source: source})
		}
	}
	c.out.Records = Merge(c.out.Records)
}
