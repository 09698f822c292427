package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/flow/local"
	"github.com/beagle-go/beagle/internal/report"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/internal/tail"
	"github.com/beagle-go/beagle/mutate/llm"
)

var evolveCommand = &command{
	name: "evolve", args: "PKG.Func | PKG.Type.Method | PKG.Type | 'PKG.{A,B}'",
	short: "find a faster version of a function",
	long: `
Finds a faster version of a Go function by rewriting it step by step, and checks that it
behaves the same. Works on any module on disk, offline, without a model. The checkout is
not changed unless --apply is given.

The inputs are what the package's own tests, benchmarks, examples and fuzz seeds pass to
the function, or --corpus. A function that no record of a call can feed (callbacks,
contexts, receivers that hold functions) is judged inside these tests instead:
docs/inplace.md.

Versions are ranked by the time of these calls. --bench takes the time in benchmarks of
the package instead, and --score counts allocations or bytes, too: docs/score.md.

Examples:
  beagle evolve ./examples/tags.NormalizeTagArbTagValue
  beagle evolve -C ~/src/service --candidates 200 ./internal/parse.Line
  beagle evolve --corpus calls.jsonl --apply ./pkg/tags.Set.Merge
  beagle evolve --json example.com/pkg/tags.Normalize >result.json
  beagle evolve --temporal temporal.internal:7233 --candidates 2000 ./pkg/tags.Set.Merge
  beagle evolve ./pkg/cache.Cache
  beagle evolve './pkg/codec.{Encode,Decode}'
  beagle evolve --bench BenchmarkParse=3,BenchmarkFormat=1 ./pkg/codec.Decode
  beagle evolve --score time=0.7,allocs=0.3 ./pkg/tags.Normalize
  beagle evolve --model claude-sonnet-4-5 --budget-usd 0.50 ./pkg/tags.Normalize
  beagle evolve --offline --model qwen3-coder@http://127.0.0.1:8080/v1 --budget-calls 40 \
      ./pkg/tags.Normalize

The target is a function (also unexported), a method (the receiver's type without a star),
or a generic function. Several names in braces are one group. A type is a group of its
unexported fields, its methods and the functions that use the fields. In a group the data
layout may change, and the package's tests and benchmarks judge (docs/inplace.md). The
package is a directory (./pkg), an import path, or left out for the current directory.

Exit status: 0 when the run ended with a verdict (improved or not), 1 when something
failed, 2 for bad input, 130 when interrupted. An interrupted run can be resumed once its
inputs are recorded.`,
}

func init() { evolveCommand.run = runEvolve }

// evolveOptions are the flags that do not belong to the run itself.
type evolveOptions struct {
	json, apply, quiet bool
	out                string
}

// specFlags declares the flags that evolve and verify share.
func specFlags(f *flagSet, s *flow.Spec) {
	f.StringVar(&s.Dir, "C", s.Dir, "work in this `directory`'s module")
	f.Var(listFlag{&s.Tags}, "tags", "build `tags`, separated by commas")
	f.StringVar(&s.CorpusFile, "corpus", "",
		"take the inputs from this `file` of JSON lines (docs/corpus.md) instead of from the tests; for a group "+
			"NAME=FILE,NAME=FILE")
	f.DurationVar(&s.Fuzz, "fuzz", s.Fuzz, "longest search for inputs on which a finalist differs, in processor time")
	f.DurationVar(&s.Measure, "measure", s.Measure, "time to measure the finalists, at most; links take more")
	f.Float64Var(&s.MinGain, "min-gain", s.MinGain, "least gain that counts as faster; 0.01 is 1 %")
	f.StringVar(&s.Sandbox, "sandbox", s.Sandbox,
		"auto: use what the kernel offers and say what is missing; require: refuse when anything is missing")
	f.StringVar(&s.Evidence, "evidence", flow.EvidenceAuto,
		"judge by this `evidence` (docs/inplace.md): corpus, recorded calls; inplace, the package's own tests; auto, "+
			"a corpus where calls can be recorded; state, inplace for methods whose receiver may keep state, "+
			"otherwise auto")
	scoreFlags(f, s)
	f.BoolVar(&s.Force, "force", false, "go on although the audit refuses the inputs")
	f.BoolVar(&s.WithSimd, "with-simd", false,
		"versions may call Beagle's module simd; where go.mod lacks it, the patch adds it (docs/lift.md)")
}

const (
	acrossText  = "let rewrites change copies of the target's callees in other packages of its module, too"
	fastestText = "let the fastest version win, not the simplest within 5 % of it that keeps three quarters of its gain"
)

// scoreFlags say what versions are ranked by.
func scoreFlags(f *flagSet, s *flow.Spec) {
	f.Func("bench", "rank by these `benchmarks` of the user, with weights: BenchmarkX or BenchmarkX=3,BenchmarkY=1 "+
		"(docs/score.md)", func(text string) error { return flow.ParseBenchmarks(text, &s.Score) })
	f.Func("score",
		"rank by time, allocs, bytes, or a `mix` such as time=0.7,allocs=0.3: their weighted geometric mean",
		func(text string) error { return flow.ParseScore(text, &s.Score) })
}

// flags declares the flags for the result of a search.
func (o *evolveOptions) flags(f *flagSet) {
	f.BoolVar(&o.json, "json", false, "print the result as one JSON object (docs/json.md)")
	f.BoolVar(&o.quiet, "quiet", false, "print no progress")
	f.BoolVar(&o.apply, "apply", false, "write the improvement, its test and its benchmark into the working tree")
	f.StringVar(&o.out, "out", "",
		"write report.md, report.html, result.json and the patch into this `directory` (default: the run's own)")
}

// check refuses a directory that cannot be written to before the run, not after it.
func (o *evolveOptions) check() error {
	if o.out == "" {
		return nil
	}
	err := os.MkdirAll(o.out, 0o755)
	// Permission bits do not say all: try to write a file.
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(o.out, ".beagle-"); err == nil {
			err = errors.Join(probe.Close(), os.Remove(probe.Name()))
		}
	}
	if err != nil {
		return &beagle.UsageError{
			What:   fmt.Sprintf("--out %s: %v", o.out, err),
			Remedy: "give a directory that you may write to, or leave --out out: the run's own is used then",
		}
	}
	return nil
}

// listFlag is a comma-separated list.
type listFlag struct{ list *[]string }

func (l listFlag) String() string {
	if l.list == nil {
		return ""
	}
	return strings.Join(*l.list, ",")
}

func (l listFlag) Set(s string) error {
	*l.list = strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
	return nil
}

// runEvolve reads the command line, runs the search here or on a server, and delivers the result.
func runEvolve(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	// Declare the flags.
	spec, o := flow.Defaults(), evolveOptions{}
	f := c.flags(std)
	specFlags(f, &spec)
	contractFlags(f, &spec)
	o.flags(f)
	searchFlags(f, &spec)
	models := modelOptions{}
	models.flags(f, &spec.Models)
	onFleet := fleetOptions{}
	onFleet.flags(f)
	// Read the command line.
	rest, err := parse(f, args, 1, maxTogether)
	if err != nil {
		return exitUsage, err
	}
	if spec.Target, err = oneTarget(rest); err != nil {
		return exitUsage, err
	}
	// Check the flags together.
	spec.Apply = o.apply
	if err := checkEvolve(f, &spec, &o, &models, &onFleet); err != nil {
		return exitUsage, err
	}
	// Search on a fleet, or else in this process.
	if away, err := onFleet.onServer(); err != nil || away {
		if err != nil {
			return exitUsage, err
		}
		return withFleet(std, o, onFleet.server, func(d *fleet.Driver) (*beagle.Result, error) {
			return d.Start(ctx, onFleet.id, spec)
		})
	}
	return withDriver(std, o, func(d *local.Driver) (*beagle.Result, error) { return d.Start(ctx, spec) })
}

// searchFlags declares the flags of the search itself.
func searchFlags(f *flagSet, spec *flow.Spec) {
	f.Uint64Var(&spec.Seed, "seed", spec.Seed, "seed of the search")
	f.StringVar(&spec.Strategy, "strategy", spec.Strategy, "islands, best-of-n or rules-only-greedy")
	f.IntVar(&spec.Islands, "islands", spec.Islands, "populations that evolve apart")
	f.IntVar(&spec.Candidates, "candidates", spec.Candidates,
		"versions to evaluate; duplicates cost nothing and do not count")
	f.IntVar(&spec.Batch, "batch", spec.Batch, "versions built and screened together")
	f.DurationVar(&spec.Time, "time", 0, "search no longer than this (the finalists are still judged)")
	f.BoolVar(&spec.Anew, "anew", false, "record, verify and measure everything anew; reuse nothing of earlier runs")
	f.BoolVar(&spec.Across, "across", false, acrossText)
	f.BoolVar(&spec.Fastest, "fastest", false, fastestText)
	f.Var(listFlag{&spec.Rules}, "rules",
		"use only these `rewrites` and sets, separated by commas ('beagle explain' lists them; the sets are default, "+
			"suite and all; lift, in default and all, replaces code by calls of the library)")
	f.BoolVar(&spec.NoLift, "no-lift", false, "do not look for pieces of the function that the library has")
}

// checkEvolve returns a *beagle.UsageError for flags that make no sense, alone or together.
func checkEvolve(f *flagSet, spec *flow.Spec, o *evolveOptions, models *modelOptions, onFleet *fleetOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	// An empty list would mean the default set, which is not what was written.
	if f.given("rules") && len(spec.Rules) == 0 {
		return &beagle.UsageError{
			What:   "--rules names no rewrite",
			Remedy: "'beagle explain' lists them; leave --rules out for the default set, or give --rules all",
		}
	}
	if spec.Models.Offline && onFleet.server.Address != "" {
		return &beagle.UsageError{
			What:   "--offline: a run on a Temporal server goes to whichever machines work for it",
			Remedy: "leave out --temporal or --offline",
		}
	}
	// Settle the models first: the specification is valid only with them.
	if err := models.settle(&spec.Models); err != nil {
		return err
	}
	if err := spec.Validate(); err != nil {
		return err
	}
	return models.checkAgents(&spec.Models)
}

// withDriver runs a search with progress, and shows and keeps its result.
func withDriver(std stdio, o evolveOptions, run func(*local.Driver) (*beagle.Result, error)) (int, error) {
	s, err := openStore()
	if err != nil {
		return exitNo, err
	}
	p := newProgress(std.err, o.quiet)
	d := &local.Driver{Store: s, Watch: p.watch}
	result, err := run(d)
	p.stop()
	// An interruption is no error: tell how to go on. Until the inputs are made, no run is there.
	var stopped *local.Interrupted
	if errors.As(err, &stopped) {
		if stopped.Run == "" {
			fmt.Fprint(std.err,
				"\nStopped while the inputs were made: no run was saved, and there is nothing to resume. Start anew "+
					"with the same command.\n")
			return exitInterrupted, nil
		}
		fmt.Fprintf(std.err, "\nStopped; nothing is lost. Go on with:\n  beagle resume %s\n", stopped.Run)
		return exitInterrupted, nil
	}
	if err != nil {
		return exitNo, err
	}
	return deliver(std, s, result, o)
}

// deliver writes the files of a result and prints it.
func deliver(std stdio, s *store.Store, r *beagle.Result, o evolveOptions) (int, error) {
	dir := o.out
	if dir == "" {
		dir = s.RunDir(r.Run)
	}
	if err := writeFiles(dir, r); err != nil {
		return exitNo, err
	}
	// Change the user's files last: the directory above already holds the patch.
	if o.apply && r.Outcome == beagle.Improved {
		if err := source.Apply(r.Target.Dir, beagle.Patch{Diff: r.Patch, Files: r.Files}); err != nil {
			return exitNo, err
		}
	}
	if o.json {
		return exitOK, printJSON(std.out, r)
	}
	printResult(std.out, r, dir, o.apply)
	return exitOK, nil
}

// writeFiles puts everything that a reviewer may want into one directory.
func writeFiles(dir string, r *beagle.Result) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	object, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	writes := map[string]func(io.Writer) error{
		"result.json": func(w io.Writer) error { _, err := w.Write(append(object, '\n')); return err },
		"report.md":   func(w io.Writer) error { return report.Markdown(w, r) },
		"report.html": func(w io.Writer) error { return report.HTML(w, r) },
		"patch.diff":  func(w io.Writer) error { _, err := io.WriteString(w, r.Patch); return err },
	}
	for name, write := range writes {
		// Without an improvement there is nothing to apply.
		if name == "patch.diff" && r.Patch == "" {
			continue
		}
		if err := writeFile(filepath.Join(dir, name), write); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file through a function.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return fmt.Errorf("%s: %w", path, err)
	}
	return f.Close()
}

// printResult prints the end of a run for people.
func printResult(w io.Writer, r *beagle.Result, dir string, applied bool) {
	fmt.Fprintln(w)
	if r.Patch != "" {
		fmt.Fprintln(w, report.ChangedOnly(r.Patch))
	}
	// Print the outcome with its figures.
	fmt.Fprintf(w, "%s: %s\n", r.Target.Spec, r.Outcome)
	fmt.Fprintf(w, "  %s\n", r.Why)
	if r.Score != nil {
		fmt.Fprintf(w, "  %-22s %s\n", "ranked by", r.Score)
	}
	if m := r.Measurement; m != nil && r.Outcome == beagle.Improved {
		fmt.Fprintf(w, "  %-22s %s -> %s a call here\n", "time", report.Nanos(r.Baseline.Nanos),
			report.Nanos(r.Best.Nanos))
		fmt.Fprintf(w, "  %-22s %s -> %s a call, mean of a sample\n", "allocations", report.Count(r.Baseline.Allocs),
			report.Count(r.Best.Allocs))
		printRatios(w, r.Best.Ratio, m)
	}
	if from := r.MeasuredIn; from != nil {
		fmt.Fprintf(w, "  %-22s by run %s on %s UTC, not by this one; --anew measures again\n", "measured",
			from.Run, from.At)
	}
	if from := r.VerifiedIn; from != nil {
		fmt.Fprintf(w, "  %-22s by run %s on %s UTC, not by this one\n", "verified", from.Run, from.At)
	}
	// Print the evidence, and the versions that fell.
	compared := "" // only a winner is verified in full
	if n := r.Verification.Cases; n > 0 {
		compared = fmt.Sprintf("; %d inputs compared", n)
	}
	known := ""
	if n := r.Split.Cached; n > 0 {
		known = fmt.Sprintf(", %d of them known to the store", n)
	}
	fmt.Fprintf(w, "  %-22s %s in %.0f s%s%s\n", "tried", tail.Plural(r.Candidates, "version"), r.WallSeconds, known,
		compared)
	printAssurance(w, r.Verification.Assurance)
	for _, why := range r.Rejected {
		fmt.Fprintf(w, "  %-22s %s\n", "faster, and fell", clean(strings.Join(strings.Fields(why), " ")))
	}
	// Print the use of models, the audit, and the written files.
	printModels(w, r.Models)
	for _, f := range r.Findings {
		fmt.Fprintf(w, "  %-22s %s: %s\n", "audit", f.Figure, f.Remedy)
	}
	if applied && r.Outcome == beagle.Improved {
		fmt.Fprintf(w, "  %-22s written to the working tree\n", "applied")
	}
	for _, m := range r.Requires {
		fmt.Fprintf(w, "  %-22s %s %s, which the patch adds to go.mod\n", "requires", m.Path, m.Version)
	}
	for _, name := range report.AddedTests(r.Patch) {
		fmt.Fprintf(w, "  %-22s %s\n", "with a test", name)
	}
	fmt.Fprintf(w, "  %-22s %s\n", "report", filepath.Join(dir, "report.html"))
	if llm.Teaches(r) {
		fmt.Fprintf(w, "  %-22s beagle lessons propose %s\n", "to teach models this", r.Run)
	}
}
