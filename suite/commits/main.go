package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/command"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/suite/commits/change"
)

// options are the flags.
type options struct {
	manifest, dir, beagle, pattern, half, mode, budget, json string
	totals                                                   bool
	limit                                                    time.Duration
}

func main() {
	sandbox.Main() // does not return in the processes that hold a sandbox
	var o options
	flag.StringVar(&o.manifest, "manifest", "", "read this manifest `file` instead of the built-in one")
	flag.StringVar(&o.dir, "dir", "", "keep modules, candidates and results in this `directory`"+
		" (default: a new one, removed at the end)")
	flag.StringVar(&o.beagle, "beagle", "", "judge with this built `command` (default: build it from this module)")
	flag.StringVar(&o.pattern, "run", ".", "judge only entries whose module and function match this `regexp`")
	flag.StringVar(&o.half, "half", "development", "judge the `half`: development, sealed or all;"+
		" never tune the judge on the sealed one")
	flag.BoolVar(&o.totals, "totals", false, "print totals only; this is how the sealed half is reported")
	flag.StringVar(&o.mode, "mode", "full", "what to do, the cheapest `mode` first: cut prints the candidate files,"+
		" check type-checks them, behaviour leaves out the timing, full asks beagle verify")
	flag.StringVar(&o.budget, "budget", "--measure 20s --fuzz 5s --force", "`flags` for beagle verify")
	flag.StringVar(&o.json, "json", "", "write the outcomes as JSON to this `file`")
	flag.DurationVar(&o.limit, "limit", 10*time.Minute, "give up on a verdict after this `time`")
	flag.Parse()
	os.Setenv("GOWORK", "off") // the modules are no part of any workspace
	command.Main("commits", func(ctx context.Context) error { return run(ctx, &o, os.Stdout, os.Stderr) })
}

// run judges the chosen entries, and prints a row for each.
func run(ctx context.Context, o *options, out, progress io.Writer) error {
	// Choose the entries and the mode.
	entries, err := selected(o)
	if err != nil {
		return err
	}
	if _, ok := modes[o.mode]; !ok && o.mode != "cut" && o.mode != "full" {
		return fmt.Errorf("invalid -mode %q: give cut, check, behaviour or full", o.mode)
	}
	j, cleanup, err := newJudge(ctx, o)
	if err != nil {
		return err
	}
	defer cleanup()
	if o.mode == "cut" {
		return printCuts(ctx, j, entries, out)
	}
	// Judge each entry, and print its row.
	if !o.totals {
		fmt.Fprint(out, tableHead)
	}
	var all []Outcome
	for i, e := range entries {
		fmt.Fprintf(progress, "%d of %d\n", i+1, len(entries))
		result := j.judgeEntry(ctx, e)
		if err := ctx.Err(); err != nil {
			return err
		}
		all = append(all, result)
		if !o.totals {
			row(out, &result)
		}
		if err := writeJSON(o.json, all); err != nil {
			return err
		}
	}
	// Print the calls that show wrong verdicts, and the totals.
	if !o.totals {
		counterexamples(out, all)
	}
	for _, half := range []string{"development", "sealed"} {
		if o.half == half || o.half == "all" {
			totals(out, half, all)
		}
	}
	return nil
}

// selected reads the manifest and picks the entries that the flags name.
func selected(o *options) ([]change.Entry, error) {
	// Read the manifest.
	entries, err := change.All()
	if o.manifest != "" {
		text, readErr := os.ReadFile(o.manifest)
		if readErr != nil {
			return nil, readErr
		}
		entries, err = change.ReadManifest(text)
	}
	if err != nil {
		return nil, err
	}
	// Choose the entries.
	pattern, err := regexp.Compile(o.pattern)
	if err != nil {
		return nil, fmt.Errorf("invalid -run: %w", err)
	}
	if o.half != "development" && o.half != "sealed" && o.half != "all" {
		return nil, fmt.Errorf("invalid -half %q: give development, sealed or all", o.half)
	}
	var out []change.Entry
	for _, e := range entries {
		if (o.half == "all" || e.Half() == o.half) && pattern.MatchString(e.Name()) {
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no entry of the half %q matches -run %q", o.half, o.pattern)
	}
	return out, nil
}

// newJudge prepares the scratch directory and the command.
func newJudge(ctx context.Context, o *options) (*judge, func(), error) {
	// Make a directory, unless a flag names one.
	dir, cleanup := o.dir, func() {}
	if dir == "" {
		tmp, err := os.MkdirTemp("", "commits-")
		if err != nil {
			return nil, nil, err
		}
		dir, cleanup = tmp, func() { os.RemoveAll(tmp) }
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		cleanup()
		return nil, nil, err
	}
	// Build beagle if it is needed.
	j := &judge{beagle: o.beagle, dir: dir, mode: o.mode, budget: strings.Fields(o.budget), limit: o.limit}
	if j.beagle == "" && o.mode == "full" {
		root, err := command.Root(ctx)
		if err == nil {
			j.beagle, err = command.Build(ctx, root, dir)
		}
		if err != nil {
			cleanup()
			return nil, nil, err
		}
	}
	return j, cleanup, nil
}

// printCuts shows the candidate files.
func printCuts(ctx context.Context, j *judge, entries []change.Entry, out io.Writer) error {
	for _, e := range entries {
		_, file, err := e.Candidate(ctx, j.dir)
		if err != nil {
			fmt.Fprintf(out, "// %s: %v\n\n", e.Name(), err)
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "// %s\n%s\n", e.Name(), src)
	}
	return ctx.Err()
}

func writeJSON(path string, all []Outcome) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
