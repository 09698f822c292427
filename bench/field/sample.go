package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/command"
	"github.com/beagle-go/beagle/internal/modcopy"
)

// options are the flags of the verbs that run the command.
type options struct {
	root, dir, beagle, half, budget string
	run                             string
	n, jobs                         int
	limit                           time.Duration
	json                            bool

	seed uint64
	per  int
	list string

	types bool

	perfect bool
	wanted  *regexp.Regexp // of -run
}

func (o *options) flags(f *flag.FlagSet) {
	f.StringVar(&o.root, "root", ".", "root of Beagle's repository")
	f.StringVar(&o.dir, "dir", "", "keep modules and results in this `directory`, and go on with what it holds"+
		" (default: a new one, removed at the end)")
	f.StringVar(&o.beagle, "beagle", "", "measure this built `command` (default: build it from -root)")
	f.StringVar(&o.half, "half", development, "development, or sealed: that prints totals only")
	f.StringVar(&o.budget, "budget", "--candidates 60 --measure 8s --fuzz 4s", "`flags` of beagle evolve; "+
		"--rules NAME,... leaves the other rules out")
	f.StringVar(&o.run, "run", "", "take only functions of the development half whose module and name match"+
		" this `regexp`")
	f.IntVar(&o.jobs, "j", 1, "functions at a time; timing is best with one")
	f.DurationVar(&o.limit, "limit", 10*time.Minute, "give up on one command of beagle's after this `time`")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
}

func (o *options) sampleFlags(f *flag.FlagSet) {
	o.flags(f)
	f.IntVar(&o.n, "n", 120, "functions to take")
	f.Uint64Var(&o.seed, "seed", 16, "seed of the draw")
	f.IntVar(&o.per, "per", 1, "functions of a module at most")
	f.BoolVar(&o.types, "types", false,
		"take types, each with all its methods as one target, whose exercised methods are all of the half")
	f.StringVar(&o.list, "modules", "", "draw from this `file` of modules and versions"+
		" (default: bench/field/modules.txt)")
}

// check refuses flags that contradict each other or are out of range.
func (o *options) check() error {
	if o.half != development && o.half != sealed {
		return fmt.Errorf("invalid -half %q: give %s or %s", o.half, development, sealed)
	}
	if o.run != "" && o.half == sealed {
		return fmt.Errorf("-run %s: the sealed half is not looked at by name; leave it out", o.run)
	}
	var err error
	if o.wanted, err = regexp.Compile(o.run); err != nil {
		return fmt.Errorf("invalid -run: %w", err)
	}
	if o.jobs < 1 {
		return fmt.Errorf("invalid -j %d: give at least 1", o.jobs)
	}
	return nil
}

// open makes the searcher: its directory and its build of the command. The returned function
// removes temporary files.
func (o *options) open(ctx context.Context) (*searcher, func(), error) {
	done := func() {}
	dir, err := filepath.Abs(o.dir)
	if o.dir == "" {
		if dir, err = os.MkdirTemp("", "field-"); err == nil {
			done = func() { os.RemoveAll(dir) }
		}
	}
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	path := o.beagle
	if err == nil && path == "" {
		path, err = command.Build(ctx, o.root, dir)
	}
	build := ""
	if err == nil {
		build, err = hashFile(path)
	}
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return &searcher{beagle: path, build: build, dir: dir, budget: strings.Fields(o.budget), limit: o.limit}, done, nil
}

// A result is a line of results.jsonl: the outcome of a function. Lines of the sealed half hold no
// name.
type result struct {
	Key      string  `json:"key"`
	Build    string  `json:"build"`  // of beagle
	Budget   string  `json:"budget"` // its flags
	Half     string  `json:"half"`
	Module   string  `json:"module,omitempty"`
	Version  string  `json:"version,omitempty"`
	Function string  `json:"function,omitempty"`
	Search   search  `json:"search"`
	Winner   *winner `json:"winner,omitempty"`
	Problem  string  `json:"problem,omitempty"` // why nothing is known
}

// seal removes what names the function.
func (r *result) seal() {
	if r.Half == sealed {
		r.Module, r.Version, r.Function, r.Search.Detail, r.Problem = "", "", "", "", masked(r.Problem)
		if r.Winner != nil {
			r.Winner.Failed = nil
		}
	}
}

// masked says that there was a problem, without naming it.
func masked(problem string) string {
	if problem == "" {
		return ""
	}
	return "not run"
}

// sample implements the verb: it draws functions of a half, runs those that are not known yet, and
// reports.
func sample(ctx context.Context, o *options, out, progress io.Writer) error {
	// Check the flags, and read the modules.
	if err := o.check(); err != nil {
		return err
	}
	list := o.list
	if list == "" {
		list = filepath.Join(o.root, "bench", "field", "modules.txt")
	}
	modules, err := readModules(list)
	if err != nil {
		return err
	}
	// Build beagle, and open the results of earlier draws and runs.
	l, done, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	s := &sampler{options: o, searcher: l}
	s.runner = &runner[result, *result]{progress: progress, sealed: o.half == sealed,
		most: fmt.Sprintf(" of at most %d", o.n)}
	s.drawer = &drawer{dir: l.dir, seed: o.seed, say: s.quietly, types: o.types}
	if err := s.drawer.open(); err != nil {
		return err
	}
	s.shelf, err = openShelf(filepath.Join(l.dir, "results.jsonl"), func(r *result) (string, bool) {
		return r.Key, r.Build == l.build && r.Budget == o.budget
	})
	if err != nil {
		return err
	}
	// Draw and run functions, and report.
	report := &sampleReport{Half: o.half, Seed: o.seed, Build: l.build, Budget: o.budget}
	if err := s.run(ctx, modules, report); err != nil {
		return err
	}
	return o.finish(report, out)
}

// A sampler runs the functions of a half.
type sampler struct {
	*options
	*runner[result, *result]
	searcher *searcher
	drawer   *drawer
}

// quietly reports progress; it prints no name of the sealed half.
func (s *sampler) quietly(format string, args ...any) {
	if s.half != sealed {
		fmt.Fprintf(s.progress, format+"\n", args...)
	}
}

// run draws until there are enough functions, and runs a few of them at a time.
func (s *sampler) run(ctx context.Context, modules []module, report *sampleReport) error {
	p := newPool(ctx, s.jobs)
	// Draw functions of one module after another.
	for _, m := range s.drawer.order(modules) {
		if len(report.Results) >= s.n || p.ctx.Err() != nil {
			break
		}
		functions, err := s.drawer.draw(p.ctx, m, s.half, min(s.per, s.n-len(report.Results)))
		if p.ctx.Err() != nil {
			break
		}
		if err != nil {
			report.LeftOut++
			s.quietly("%s is left out: %v", m.path, err)
			continue
		}
		// Run them, a few at a time.
		for _, f := range functions {
			if !s.wanted.MatchString(f.path + " " + f.Spec) {
				continue
			}
			r := &result{}
			report.Results = append(report.Results, r)
			p.do(func(ctx context.Context) error { return s.runFunction(ctx, f, r) })
		}
	}
	// Wait for the last ones.
	if err := p.wait(s.dir != ""); err != nil {
		return err
	}
	if len(report.Results) == 0 {
		return errors.New("no function could be drawn")
	}
	return nil
}

// runFunction runs a function whose result is unknown.
func (s *sampler) runFunction(ctx context.Context, f function, r *result) error {
	return s.fillIn(ctx, f.key(), f.path+" "+f.Spec, r, func() error {
		*r = result{Key: f.key(), Build: s.searcher.build, Budget: s.budget, Half: s.half, Module: f.path,
			Version: f.version, Function: f.Spec}
		return s.searcher.take(ctx, f, r)
	})
}

func (r *result) fail(err error) {
	r.Problem = err.Error()
	r.Search.End, r.Search.Why = failed, "the sample could not run it"
}

// take searches for a faster version of a function and checks the result a second time. It removes
// its files at the end.
func (l *searcher) take(ctx context.Context, f function, r *result) error {
	dir, err := modcopy.Get(ctx, filepath.Join(l.dir, "mod"), f.path, f.version)
	if err != nil {
		return err
	}
	if err := modcopy.Require(ctx, dir, f.dir()); err != nil {
		return err
	}
	out, err := os.MkdirTemp("", "field-out-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(out)
	s, err := l.evolve(ctx, dir, f.Spec, out)
	if err != nil {
		return err
	}
	r.Search = *s
	if s.End != improved {
		return nil
	}
	r.Winner, err = l.check(ctx, f, dir, out, s)
	return err
}

// words puts the outcome of a function into a few words.
func (r *result) words() string {
	s := &r.Search
	switch {
	case r.Problem != "":
		return r.Problem
	case s.End == improved:
		text := fmt.Sprintf("improved %.2fx (at least %.2fx)", s.Gain, s.Low)
		if w := r.Winner; w != nil {
			text += fmt.Sprintf("; tests: %s; again: %s %.2fx (%.2f to %.2f)", w.Tests, w.Again, w.Gain, w.Low, w.High)
		}
		return text
	case s.Why == "":
		return s.End
	}
	return s.End + ": " + s.Why
}
