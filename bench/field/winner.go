package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
)

// A winner holds the results of the second check of an improvement.
type winner struct {
	Tests  string   `json:"tests"`            // one of the ends of a package's tests
	Failed []string `json:"failed,omitempty"` // tests that fail with the patch only; only of the development half
	Again  string   `json:"again"`            // the second verdict's status
	Gain   float64  `json:"gain,omitempty"`   // by the second measurement
	Low    float64  `json:"low,omitempty"`
	High   float64  `json:"high,omitempty"`
}

// Ends of a package's tests with a patch.
const (
	testsPass   = "pass"
	testsFail   = "fail"                     // one fails that passes without the patch
	testsBroken = "fail without it too"      // the same tests fail without the patch
	notApplied  = "the patch does not apply" // counts as a failure
	notMeasured = "not measured"
)

// slower reports whether the second check calls the winner slower or wrong.
func (w *winner) slower() bool { return w.High > 0 && w.High < 1 }

// wrong reports whether the second check found other behaviour.
func (w *winner) wrong() bool {
	return slices.Contains([]string{string(beagle.Wrong), string(beagle.Crashed), string(beagle.Hung),
		string(beagle.Forbidden), string(beagle.Invalid)}, w.Again)
}

// check applies the winner's patch to a copy of the module, runs the package's own
// tests on it, and has it verified and measured a second time.
func (l *searcher) check(ctx context.Context, f function, dir, out string, s *search) (*winner, error) {
	w := &winner{}
	var err error
	if w.Tests, w.Failed, err = patched(ctx, dir, f.dir(), filepath.Join(out, "patch.diff")); err != nil {
		return nil, err
	}
	file := filepath.Join(out, "winner.go")
	if err := os.WriteFile(file, []byte(s.result.Best.Source), 0o644); err != nil {
		return nil, err
	}
	// A search in place gave up recorded calls, which --force would judge by.
	var flags []string
	if !s.InPlace {
		flags = []string{"--force"}
	}
	verdicts, err := l.verify(ctx, dir, f.Spec, flags, file)
	if err != nil {
		return nil, err
	}
	w.Again = notMeasured
	if v := verdicts[file]; v != nil {
		w.Again = string(v.Status)
		if v.Final != nil {
			w.Gain, w.Low, w.High = v.Final.Train.Point, v.Final.Train.Low, v.Final.Train.High
		}
	}
	return w, nil
}

// verify has versions judged and measured in one run, with a store of its own.
func (l *searcher) verify(
	ctx context.Context, dir, spec string, flags []string, files ...string,
) (map[string]*beagle.Verdict, error) {
	args := append([]string{"verify", "--json", "--quiet", "--offline", "-C", dir}, l.verifyBudget()...)
	r, err := l.call(ctx, append(append(append(args, flags...), spec), files...)...)
	if err != nil {
		return nil, err
	}
	out := map[string]*beagle.Verdict{}
	if len(files) == 1 {
		v := &beagle.Verdict{}
		if json.Unmarshal(r.Out, v) == nil && v.Status != "" {
			out[files[0]] = v
		}
		return out, nil
	}
	for line := range strings.Lines(string(r.Out)) {
		var j beagle.Judgement
		if err := json.Unmarshal([]byte(line), &j); err == nil {
			out[j.File] = &j.Verdict
		}
	}
	return out, nil
}

// verifyBudget returns the flags: the part of the budget that beagle verify has too.
func (l *searcher) verifyBudget() []string {
	var out []string
	for i := 0; i+1 < len(l.budget); i++ {
		if name := strings.TrimLeft(l.budget[i], "-"); name == "measure" || name == "fuzz" {
			out = append(out, l.budget[i], l.budget[i+1])
		}
	}
	return out
}

// patched applies a patch to a copy of a module and runs a package's tests there. If some fail, it
// runs them without the patch too.
func patched(ctx context.Context, dir, pkg, patch string) (end string, failing []string, err error) {
	scratch, err := os.MkdirTemp("", "field-patched-")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(scratch)
	copied := filepath.Join(scratch, "module")
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		return "", nil, err
	}
	apply := exec.CommandContext(ctx, "git", "apply", patch)
	apply.Dir, apply.Env = copied, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+scratch)
	if _, err := apply.CombinedOutput(); err != nil {
		return notApplied, nil, ctx.Err()
	}
	with, err := failingTests(ctx, copied, pkg)
	if err != nil || len(with) == 0 {
		return testsPass, nil, err
	}
	without, err := failingTests(ctx, dir, pkg)
	if err != nil {
		return "", nil, err
	}
	again, err := failingTests(ctx, copied, pkg) // a flaky test says nothing about the patch
	if err != nil {
		return "", nil, err
	}
	for _, name := range with {
		if !slices.Contains(without, name) && slices.Contains(again, name) {
			failing = append(failing, name)
		}
	}
	if len(failing) > 0 {
		return testsFail, failing, nil
	}
	if len(without) == 0 {
		return testsPass, nil, nil
	}
	return testsBroken, nil, nil
}

// buildFailed stands among the failing tests when a package's tests do not build, or end before
// they name a failure.
const buildFailed = "(the package)"

// failingTests runs the tests of a package and names those that fail.
func failingTests(ctx context.Context, dir, pkg string) ([]string, error) {
	c := exec.CommandContext(ctx, "go", "test", "-mod=mod", "-json", "-count=1", "-timeout=5m", pkg)
	c.Dir, c.Env = dir, append(os.Environ(), "GOWORK=off")
	c.WaitDelay = 5 * time.Second
	out, err := c.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	if err == nil {
		return nil, nil
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		var event struct{ Action, Test string }
		if json.Unmarshal([]byte(line), &event) == nil && event.Action == "fail" {
			names = append(names, cmp.Or(event.Test, buildFailed))
		}
	}
	if len(names) > 1 { // the package fails whenever a test does
		names = slices.DeleteFunc(names, func(n string) bool { return n == buildFailed })
	}
	if len(names) == 0 {
		names = []string{buildFailed}
	}
	return names, nil
}
