package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/benchfile"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/profiles"
	"github.com/beagle-go/beagle/internal/scratch"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/tail"
)

var benchCommand = &command{
	name: "bench", args: "PKG.Func | PKG.Type.Method",
	short: "write a Go benchmark that calls a function as production does",
	long: `
Writes a Go benchmark of recorded calls: a test file beside the function that needs the
standard library alone and runs without Beagle. The inputs are those of --corpus, or what
the package's tests pass to the function. Groups of alike inputs keep their share of the
calls, however rare they are. A few extremes are timed on their own.

With --profile it runs the benchmark under the profiler and compares where the time goes
with production: by callee and by line, as 1 minus the total variation distance. While the
two are less alike than --similar, it tries pauses in which others take the caches, calls
whose input has just been read and other work between them, inputs that lie in memory and
not in caches, inputs with one part near and another far away, more or fewer inputs until
they repeat, and other shares of the groups. It compares the form that it chose with
samples that were held out. It says what cannot be made alike, and why. The search ends
after --time or with Ctrl-C, and Beagle writes the most alike form so far.

The cost of a short function depends on what its caller does between two calls. With
--through the benchmark calls that caller, on the caller's recorded calls, and Beagle
compares the part below the function. --give makes a parameter that no record holds.

Examples:
  beagle bench --corpus calls.jsonl ./tags.Normalize
  beagle bench --corpus calls.jsonl --profile cpu.pprof ./tags.Normalize
  beagle bench --corpus calls.jsonl --profile http://localhost:6060 -o - ./tags.Normalize
  # call it as its caller does, with calls of the caller
  beagle bench --through ./agent.Worker.Read --give 'w=newWorker()' --corpus reads.jsonl \
      --profile cpu.pprof ./tags.Normalize
  # how alike is a benchmark that exists?
  beagle bench --bench BenchmarkNormalize --profile cpu.pprof ./tags.Normalize

Exit status:
  0    written; with --profile: and as alike as asked for, by the estimate. Few samples
       make it uncertain: the output says how many would show it ("shown" in JSON)
  1    written, and not as alike
  2    bad input
  130  interrupted; if other forms were tried, the most alike one so far is written`,
}

func init() { benchCommand.run = runBench }

// benchFlags hold the command line.
type benchFlags struct {
	spec           flow.Spec
	out, corpusOut string
	profile        []string
	existing       string
	through        string
	give           []string
	state, pgo     string
	stored         []*hotspots.Profile // of the sources that are no running services
	similar        float64
	seconds        float64
	limit          time.Duration // of the search for another form
	live           int
	sample         benchfile.Options
	asJSON, quiet  bool
	std            stdio
}

// flags declares the flags of beagle bench.
func (o *benchFlags) flags(f *flagSet) {
	// The module and the inputs, as for evolve.
	s := &o.spec
	f.StringVar(&s.Dir, "C", s.Dir, "work in this `directory`'s module")
	f.Var(listFlag{&s.Tags}, "tags", "build `tags`, separated by commas")
	f.StringVar(&s.CorpusFile, "corpus", "",
		"take the inputs from this `file` of JSON lines (docs/corpus.md) instead of from the tests")
	f.StringVar(&s.Sandbox, "sandbox", s.Sandbox, "auto or require, as for evolve")
	f.BoolVar(&s.Force, "force", false, "go on although the audit refuses the inputs")
	f.StringVar(&o.out, "o", "",
		"write the benchmark to this `file`, - for standard output; beside the function by default")
	f.StringVar(&o.corpusOut, "corpus-out", "", "write the same inputs to this `file` for evolve and verify --corpus")
	// The profile that the benchmark is fitted to.
	f.Func("profile", "compare with production's CPU profile: a `source` as hotspots takes it; may be repeated",
		func(text string) error { o.profile = append(o.profile, text); return nil })
	f.StringVar(&o.existing, "bench", "", "compare this `benchmark` of the package with --profile, and write none")
	f.StringVar(&o.through, "through", "", "call this `function` instead, which calls the other one: --corpus and "+
		"--bench are of it and its package")
	f.Func("give", "`NAME=EXPRESSION`: give this parameter of the called function one value, made by Go code, in all "+
		"calls; may be repeated", func(text string) error { o.give = append(o.give, text); return nil })
	f.Float64Var(&o.similar, "similar", 98, "least similarity of the profiles, in percent")
	f.StringVar(&o.state, "state", "auto", "inputs before a call: warm, cold (in memory), handed "+
		"(just read, as by a caller), or auto for the one that is more alike")
	f.StringVar(&o.pgo, "pgo", "", "compile the benchmark with this profile `file`, as production is")
	f.Float64Var(&o.seconds, "seconds", 10, "processor seconds for each profile of the benchmark, at most")
	f.DurationVar(&o.limit, "time", 2*time.Minute, "end the search for a more alike form after this `duration`, "+
		"and keep the most alike one so far")
	f.IntVar(&o.live, "live", 30, "length of a live profile of production, in seconds")
	f.IntVar(&o.sample.Inputs, "inputs", 256, "distinct inputs in the benchmark, approximately")
	f.IntVar(&o.sample.Bytes, "bytes", 96<<10, "most bytes of source text for the inputs")
	f.BoolVar(&o.asJSON, "json", false, "print one JSON object (docs/json.md)")
	f.BoolVar(&o.quiet, "quiet", false, "print no progress")
}

// check returns a *beagle.UsageError for a flag whose value is out of range or needs another flag.
func (o *benchFlags) check() error {
	// Conditions of the form !(low <= x) refuse NaN, too.
	bad := func(what, remedy string) error { return &beagle.UsageError{What: what, Remedy: remedy} }
	switch {
	case o.existing != "" && len(o.profile) == 0:
		return bad("--bench without --profile", "give production's profile, to compare the benchmark with")
	case o.existing != "" && !strings.HasPrefix(o.existing, "Benchmark"):
		return bad(fmt.Sprintf("--bench %q is not a benchmark", o.existing),
			"name it as it is declared: BenchmarkNormalize")
	case o.existing != "" && len(o.give) > 0:
		return bad("--give with --bench", "the benchmark makes its own arguments: leave --give out")
	case len(o.give) > 0 && o.spec.CorpusFile == "":
		return bad("--give without --corpus",
			"give the other parameters' recorded values: tests show none of them alone")
	case !(o.similar > 0 && o.similar <= 100):
		return bad(fmt.Sprintf("--similar %g is not between 0 and 100 %%", o.similar), "98 is the default")
	case !slices.Contains([]string{"auto", "warm", "cold", "handed"}, o.state):
		return bad(fmt.Sprintf("--state %q is not known", o.state), "give auto, warm, cold or handed")
	case !(o.seconds >= 0.1 && o.seconds <= 600):
		return bad(fmt.Sprintf("--seconds %g is not between 0.1 and 600", o.seconds), "10 is the default")
	case o.limit < time.Second:
		return bad(fmt.Sprintf("--time %v is less than 1s", o.limit),
			"2m is the default; --state warm tries no other state")
	case o.live < 1 || o.live > 3600:
		return bad(fmt.Sprintf("--live %d is not between 1 and 3600", o.live), "30 is common")
	case o.sample.Inputs < 1 || o.sample.Inputs > 65_536:
		return bad(fmt.Sprintf("--inputs %d is not between 1 and 65536", o.sample.Inputs), "256 is the default")
	case o.sample.Bytes < 1<<10 || o.sample.Bytes > 8<<20:
		return bad(fmt.Sprintf("--bytes %d is not between 1024 and %d", o.sample.Bytes, 8<<20), "98304 is the default")
	case o.out != "" && o.out != "-" && !strings.HasSuffix(o.out, "_test.go"):
		return bad(fmt.Sprintf("-o %s is not a test file", o.out),
			"end its name in _test.go, or the go command skips it")
	}
	return nil
}

// runBench selects the inputs of a benchmark, fits it to production's profile, and writes it.
func runBench(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	o := benchFlags{spec: flow.Defaults(), std: std}
	f := c.flags(std)
	o.flags(f)
	rest, err := parse(f, args, 1, 1)
	if err != nil {
		return exitUsage, err
	}
	if err := o.check(); err != nil {
		return exitUsage, err
	}
	o.spec.Target = rest[0]
	p := newProgress(std.err, o.quiet)
	defer p.stop()
	// Read the files first: recording and building take long, and a wrong name none.
	if err := o.readFiles(ctx, p); err != nil {
		return exitUsage, err
	}
	// Compare a benchmark that exists.
	if o.existing != "" {
		return o.compare(ctx, p)
	}
	// Otherwise record or read the calls, and select the inputs.
	plan, err := o.plan(ctx, p)
	if err != nil {
		return exitNo, err
	}
	out := o.path(plan)
	if err := o.mayWrite(plan, out); err != nil {
		return exitUsage, err
	}
	// Make the benchmark's profile like production's.
	var fit *beagle.BenchmarkFit
	if len(o.profile)+len(o.stored) > 0 {
		if fit, err = o.fit(ctx, plan, p); err != nil {
			return exitNo, err
		}
	}
	if fit == nil {
		plan.Be(o.state)
	}
	p.stop()
	status, err := o.deliver(plan, fit, out)
	if err == nil && ctx.Err() != nil { // what was found by then is written
		status = exitInterrupted
	}
	return status, err
}

// readFiles reads the profiles of all sources but running services, and looks for the file of
// --pgo.
func (o *benchFlags) readFiles(ctx context.Context, p *progress) (err error) {
	var live, stored []string
	for _, source := range o.profile {
		if profiles.Live(source) {
			live = append(live, source)
		} else {
			stored = append(stored, source)
		}
	}
	if o.stored, err = profiles.Read(ctx, stored, o.reading(p)); err != nil {
		return err
	}
	o.profile = live
	if o.pgo == "" {
		return nil
	}
	// The build runs in the module's directory, so its profile needs an absolute path.
	if o.pgo, err = filepath.Abs(o.pgo); err != nil {
		return err
	}
	if _, err := os.Stat(o.pgo); err != nil {
		return &beagle.UsageError{
			What:   "--pgo: " + tail.FileError(err),
			Remedy: "name the profile of production's build",
		}
	}
	return nil
}

func (o *benchFlags) reading(p *progress) profiles.Options {
	return profiles.Options{Seconds: o.live, Token: os.Getenv("BEAGLE_PROFILES_TOKEN"),
		Warn: func(text string) { p.watch(flow.Event{Warning: text}) }}
}

// plan gathers the calls of the function that the benchmark calls, and selects its inputs.
func (o *benchFlags) plan(ctx context.Context, p *progress) (*benchfile.Plan, error) {
	spec := o.spec
	if o.through != "" {
		target, err := o.load(ctx, o.spec.Target)
		if err != nil {
			return nil, err
		}
		o.sample.For, spec.Target = target, o.through
	}
	if len(o.give) > 0 {
		return o.given(ctx, spec)
	}
	s, err := openStore()
	if err != nil {
		return nil, err
	}
	g, err := flow.Gather(ctx, s, spec, p.watch)
	if err != nil {
		return nil, err
	}
	if err := o.oneModule(g.Unit); err != nil {
		return nil, err
	}
	return benchfile.Select(g.Unit, g.Corpus, o.sample)
}

// load loads a function, also one whose calls no record can hold.
func (o *benchFlags) load(ctx context.Context, spec string) (*source.Unit, error) {
	return source.Load(ctx, source.Options{Dir: o.spec.Dir, Spec: spec, Tags: o.spec.Tags, InPlace: true})
}

// given reads the calls of a function with parameters that no record holds. It does not run them.
func (o *benchFlags) given(ctx context.Context, spec flow.Spec) (*benchfile.Plan, error) {
	u, err := o.load(ctx, spec.Target)
	if err != nil {
		return nil, err
	}
	if err := o.oneModule(u); err != nil {
		return nil, err
	}
	if o.sample.Given, err = benchfile.ParseGiven(&u.Target, o.give); err != nil {
		return nil, err
	}
	records, err := corpus.Load(u, spec.CorpusFile)
	if err != nil {
		return nil, err
	}
	seen := corpus.Observations{}
	if seen.Sources, err = corpus.Provenance(spec.CorpusFile); err != nil {
		return nil, err
	}
	for _, r := range records {
		seen.Calls += r.Weight
	}
	c, err := corpus.Observed(u, records, seen)
	if err != nil {
		return nil, err
	}
	return benchfile.Select(u, c, o.sample)
}

// oneModule refuses a caller of another module: production's profile is read by one checkout.
func (o *benchFlags) oneModule(u *source.Unit) error {
	if t := o.sample.For; t != nil && t.Target.Dir != u.Target.Dir {
		return &beagle.UsageError{
			What: fmt.Sprintf("--through %s is of module %s, and %s of %s", o.through, u.Target.Module,
				t.Target.Spec(), t.Target.Module),
			Remedy: "name a caller of the same module",
		}
	}
	return nil
}

// path returns the path of the benchmark.
func (o *benchFlags) path(plan *benchfile.Plan) string {
	switch o.out {
	case "":
		return plan.Path()
	case "-":
		return ""
	}
	return o.out
}

// mayWrite refuses to overwrite a person's file, and names that the package already declares.
func (o *benchFlags) mayWrite(plan *benchfile.Plan, out string) error {
	if out == "" {
		return nil
	}
	if text, err := os.ReadFile(out); err == nil && !bytes.Contains(text, []byte("beagle bench")) {
		return &beagle.UsageError{What: out + " exists, and beagle bench did not write it",
			Remedy: "name another file with -o"}
	}
	if where, taken := plan.NameTaken(out); taken {
		return &beagle.UsageError{What: where + ", which the benchmark would declare again",
			Remedy: "remove or rename it, or write over that file with -o"}
	}
	return nil
}

// production reads production's profiles, and the part of them below the target: in all together,
// in each half of the time, and in each of two halves by chance.
func (o *benchFlags) production(ctx context.Context, u *source.Unit, p *progress) (
	f *benchfile.Fitter, warnings []string, err error,
) {
	if len(o.profile) > 0 {
		flow.Watcher(p.watch).Stage("profile", fmt.Sprintf("production, for %d s", o.live))
	}
	all, err := profiles.Read(ctx, o.profile, o.reading(p))
	if err != nil {
		return nil, nil, err
	}
	all = append(all, o.stored...)
	// Rank as `beagle hotspots` does, to have the part below the target.
	t, err := benchfile.Rank(&u.Target, all)
	if err != nil {
		return nil, nil, err
	}
	f = &benchfile.Fitter{Needed: o.similar / 100, Seconds: o.seconds, Limit: o.limit, State: o.state}
	if f.Production, err = t.Subtree(u.Target.Spec()); err != nil {
		return nil, nil, err
	}
	if f.Split, err = t.Halves(u.Target.Spec()); err != nil {
		return nil, nil, err
	}
	f.Halves, err = benchfile.Halves(&u.Target, all)
	return f, t.Warnings, err
}

// fitting prepares the comparison with production, and returns the warnings.
func (o *benchFlags) fitting(ctx context.Context, u *source.Unit, p *progress) (*benchfile.Fitter, []string, error) {
	f, warnings, err := o.production(ctx, u, p)
	if err != nil {
		return nil, nil, err
	}
	flow.Watcher(p.watch).Stage("compare", "the benchmark's profile with production's")
	f.PGO = o.pgo
	f.Say = func(text string) { flow.Watcher(p.watch).Note("compare", text) }
	return f, warnings, nil
}

// fit makes the plan's benchmark like production.
func (o *benchFlags) fit(ctx context.Context, plan *benchfile.Plan, p *progress) (*beagle.BenchmarkFit, error) {
	f, warnings, err := o.fitting(ctx, plan.For, p)
	if err != nil {
		return nil, err
	}
	fit, err := f.Fit(ctx, plan)
	if err != nil {
		return nil, err
	}
	fit.Warnings = append(fit.Warnings, warnings...)
	return fit, nil
}

// compare prints how alike a benchmark that exists is to production.
func (o *benchFlags) compare(ctx context.Context, p *progress) (int, error) {
	u, err := o.load(ctx, o.spec.Target)
	if err != nil {
		return exitUsage, err
	}
	from := u // whose package has the benchmark
	if o.sample.For = u; o.through != "" {
		if from, err = o.load(ctx, o.through); err != nil {
			return exitUsage, err
		}
		if err := o.oneModule(from); err != nil {
			return exitUsage, err
		}
	}
	f, warnings, err := o.fitting(ctx, u, p)
	if err != nil {
		return exitUsage, err
	}
	// Profile the benchmark, and compare it with production.
	b, err := benchfile.Build(ctx, from, &u.Target, "", "", f.PGO)
	if err != nil {
		return exitNo, err
	}
	defer b.Close()
	run, err := b.Profile(ctx, "^"+o.existing+"$", o.seconds)
	if err == nil {
		err = b.Lacks(run, f.Production)
	}
	if err != nil {
		return exitNo, err
	}
	fit := f.Compare(run.Subtree)
	f.Explain(fit, run)
	fit.Warnings = append(fit.Warnings, warnings...)
	made := &beagle.ProductionBenchmark{
		Target: targetRef(u), Benchmarks: []string{o.existing}, Fit: fit,
		Groups: []beagle.BenchmarkGroup{}, Extremes: []string{}, Sources: []string{},
	}
	// Print the comparison.
	p.stop()
	if o.asJSON {
		err = printJSON(o.std.out, made)
	} else {
		fmt.Fprintf(o.std.out, "%s of %s\n", o.existing, u.Target.Spec())
		printFit(o.std.out, fit)
	}
	return fitted(fit), err
}

// fitted returns the exit status of a comparison.
func fitted(fit *beagle.BenchmarkFit) int {
	if fit != nil && !fit.Reached {
		return exitNo
	}
	return exitOK
}

// targetRef returns the target as results name it.
func targetRef(u *source.Unit) beagle.TargetRef {
	t := &u.Target
	return beagle.TargetRef{Spec: t.Spec(), ID: t.ID(), Module: t.Module, Signature: t.Signature, Dir: t.Dir,
		File: benchfile.DisplayPath(&u.Target, t.File), Line: t.Line, TypeArgs: t.TypeArgs}
}

// deliver writes the files, and describes them.
func (o *benchFlags) deliver(plan *benchfile.Plan, fit *beagle.BenchmarkFit, out string) (int, error) {
	text, err := plan.File(benchfile.Form{})
	if err != nil {
		return exitNo, err
	}
	// Write the inputs as a corpus.
	if o.corpusOut != "" {
		if err := writeSample(plan, o.corpusOut); err != nil {
			return exitNo, err
		}
	}
	made := plan.Describe(fit)
	made.Corpus = o.corpusOut
	// Print the file, or write it.
	if out == "" {
		if !o.asJSON {
			fmt.Fprint(o.std.out, text)
			printMade(o.std.err, plan, made)
			return fitted(fit), nil
		}
	} else {
		made.File = benchfile.DisplayPath(&plan.Unit.Target, out)
		if err := replaceFile(out, []byte(text)); err != nil {
			return exitNo, err
		}
	}
	if o.asJSON {
		return fitted(fit), printJSON(o.std.out, made)
	}
	printMade(o.std.out, plan, made)
	return fitted(fit), nil
}

// writeSample writes the benchmark's inputs as a corpus.
func writeSample(plan *benchfile.Plan, file string) error {
	var b bytes.Buffer
	err := corpus.WriteProvenance(&b, plan.Corpus.Sources)
	if err == nil {
		err = corpus.Write(&b, plan.Unit, plan.Records())
	}
	if err != nil {
		return err
	}
	return replaceFile(file, b.Bytes())
}

// replaceFile writes a file, whole or not at all.
func replaceFile(file string, data []byte) error {
	err := scratch.Replace(file, data, 0o644)
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return &beagle.UsageError{What: err.Error(), Remedy: "name a file in a directory that can be written"}
	}
	return err
}
