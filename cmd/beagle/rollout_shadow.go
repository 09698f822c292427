package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/local"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
	"github.com/beagle-go/beagle/internal/scratch"
	"github.com/beagle-go/beagle/internal/tail"
)

// rolloutShadow replays captured calls with both versions before anything goes live.
func rolloutShadow(ctx context.Context, o *rolloutFlags) (int, error) {
	if o.corpus == "" {
		return exitUsage, &beagle.UsageError{What: "no captured calls are given",
			Remedy: "name them with --corpus: 'beagle capture start --out calls.jsonl' records some"}
	}
	sh, err := countCalls(o.corpus)
	if err != nil {
		return exitUsage, err
	}
	candidate, err := filepath.Abs(o.rest[0])
	if err != nil {
		return exitUsage, err
	}
	// The build names the versions, so that rollout start finds their shadow.
	v, err := versions(ctx, o.dir, candidate, o.rest[1], nil)
	if err != nil {
		return exitUsage, err
	}
	verdict, err := o.replay(ctx, candidate)
	if err != nil {
		return exitNo, err
	}
	// Keep the outcome and print it.
	sh.Function, sh.Build, sh.Taken = v.Function, v.Build, time.Now().UTC().Format(time.RFC3339)
	if !verdict.OK() {
		sh.Differs, sh.Bound = verdict.Reason, 1
		if c := verdict.Counterexample; c != nil {
			sh.Differs = fmt.Sprintf("%s\n  original   %s\n  candidate  %s", c.Go, c.Want, c.Got)
		}
	}
	if err := o.keepShadow(sh); err != nil {
		return exitNo, err
	}
	status := exitOK
	if sh.Differs != "" {
		status = exitNo
	}
	if o.asJSON {
		return status, printJSON(o.std.out, sh)
	}
	printShadow(o.std, sh)
	return status, nil
}

// replay gives the candidate a full verdict on the captured calls, without timing it.
func (o *rolloutFlags) replay(ctx context.Context, candidate string) (*beagle.Verdict, error) {
	s, err := openStore()
	if err != nil {
		return nil, err
	}
	// The captured calls are all the inputs there are; its speed is measured in production.
	spec := flow.Defaults()
	spec.Target, spec.CorpusFile, spec.Dir, spec.NoMeasure = o.rest[1], o.corpus, o.dir, true
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	files, _, err := readVersions([]string{candidate})
	if err != nil {
		return nil, err
	}
	p := newProgress(o.std.err, false)
	defer p.stop()
	var verdict *beagle.Verdict
	d := &local.Driver{Store: s, Watch: p.watch}
	err = d.Verify(ctx, spec, files, func(_ int, v *beagle.Verdict) { verdict = v })
	if err == nil && verdict == nil {
		err = errors.New("the candidate was not judged")
	}
	return verdict, err
}

// countCalls adds up how many calls the lines of a corpus stand for. Without a difference in n
// calls at most 3/n of them differ, at 95 %: (1 - 3/n)^n is 5 %.
func countCalls(file string) (*pilot.Shadow, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, &beagle.UsageError{What: "--corpus: " + tail.FileError(err),
			Remedy: "name a file of captured calls"}
	}
	sh := &pilot.Shadow{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		// Count the calls of a line, and note whether its corpus holds made-up text.
		var call struct {
			Args       json.RawMessage `json:"args"`
			Weight     *float64        `json:"weight"`
			Provenance []string        `json:"provenance"`
		}
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			return nil, &beagle.UsageError{What: fmt.Sprintf("%s: %v", file, err),
				Remedy: "docs/corpus.md has the form"}
		}
		for _, p := range call.Provenance {
			sh.MadeUp = sh.MadeUp || bytes.Contains([]byte(p), []byte("made up"))
		}
		if call.Args == nil {
			continue
		}
		sh.Distinct++
		if call.Weight != nil {
			sh.Calls += *call.Weight
		} else {
			sh.Calls++
		}
	}
	// The bound is the rule of three.
	if sh.Distinct == 0 {
		return nil, &beagle.UsageError{What: file + " holds no call", Remedy: "record for longer"}
	}
	sh.Bound = min(1, 3/sh.Calls)
	return sh, nil
}

func shadowFile(build string) (string, error) {
	dir, err := rolloutDir("shadows")
	return filepath.Join(dir, build+".json"), err
}

// keepShadow remembers that these versions agreed, or that they do not.
func (o *rolloutFlags) keepShadow(sh *pilot.Shadow) error {
	file, err := shadowFile(sh.Build)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	text, err := json.Marshal(sh)
	if err != nil {
		return err
	}
	return scratch.Replace(file, append(text, '\n'), 0o600)
}

// shadowOf returns the shadow of a build, or nil.
func shadowOf(build string) (*pilot.Shadow, error) {
	file, err := shadowFile(build)
	if err != nil {
		return nil, err
	}
	return readIfThere[pilot.Shadow](file, "take the shadow again")
}

// readIfThere reads a file that a command left; nil if there is none. The remedy is for a file that
// cannot be read.
func readIfThere[T any](file, remedy string) (*T, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v := new(T)
	if err := json.Unmarshal(text, v); err != nil {
		return nil, fmt.Errorf("%s: %w; %s", file, err, remedy)
	}
	return v, nil
}

// printShadow prints a difference, or the bound without one.
func printShadow(std stdio, sh *pilot.Shadow) {
	if sh.Differs != "" {
		fmt.Fprintf(std.out, "%s: the versions differ, so nothing goes live\n  %s\n", sh.Function, sh.Differs)
		return
	}
	fmt.Fprintf(std.out,
		"%s: no difference in %.0f captured calls (%d different ones), beside those that the judge made up\n"+
			"  At most %.2g of such calls differ (95 %%: 3 in %.0f).\n  build %s\n", sh.Function, sh.Calls, sh.Distinct,
		sh.Bound,
		sh.Calls, sh.Build)
	if sh.MadeUp {
		fmt.Fprintln(std.out,
			"  The capture holds shapes instead of text: the bound is for calls of these shapes with made-up values.")
	}
}
