package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
)

// A lab runs the built command on functions of copied modules.
type lab struct {
	beagle string // the command
	build  string // its hash, short: results of another build are not taken over
	dir    string // copies of modules
	budget []string
	limit  time.Duration // for one command
}

// buildBeagle builds the command into dir, without what differs from build to build.
func buildBeagle(ctx context.Context, root, dir string) (string, error) {
	path := filepath.Join(dir, "beagle")
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", path, "./cmd/beagle")
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build beagle in %s: %w: %s", root, err, lastLines(string(out)))
	}
	return path, nil
}

// hashFile names a build by its content.
func hashFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return beagle.HashOf("file", text)[:12], nil
}

// An ended is how a command of beagle's ended.
type ended struct {
	status  int
	out     []byte
	said    string  // on stderr
	seconds float64 // of processor time, with all that it started
	late    bool    // it took longer than the limit
}

// beagleCommand runs beagle with a store of its own, so that nothing is known from
// an earlier run.
func (l *lab) beagleCommand(ctx context.Context, args ...string) (*ended, error) {
	home, err := os.MkdirTemp("", "field-home-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	limited, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()
	c := exec.CommandContext(limited, l.beagle, args...)
	// An interrupt lets beagle end the programs that it started.
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 20 * time.Second
	c.Env = append(os.Environ(), "BEAGLE_HOME="+home, "GOWORK=off")
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if c.ProcessState == nil {
		return nil, fmt.Errorf("start %s: %w", l.beagle, err)
	}
	return &ended{
		status: c.ProcessState.ExitCode(), out: out, said: said.String(), late: limited.Err() != nil,
		seconds: (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(),
	}, nil
}

// Ends of a search.
const (
	improved = "improved"
	kept     = "kept"     // the original is the best version
	rejected = "rejected" // the function cannot be taken
	failed   = "failed"   // beagle itself failed, or took too long
)

// A search is what beagle made of a function.
type search struct {
	End     string  `json:"end"`
	Why     string  `json:"why,omitempty"`    // the class of a rejection or failure, without names
	Detail  string  `json:"detail,omitempty"` // beagle's own sentence; only of the development half
	Gain    float64 `json:"gain,omitempty"`   // times as fast, corrected for all that was tried
	Low     float64 `json:"low,omitempty"`    // the low end of its interval
	Seconds float64 `json:"seconds"`          // processor time
	// candidates evaluated, and how many of them behaved
	Candidates int                 `json:"candidates,omitempty"`
	Rules      map[string]*ruleUse `json:"rules,omitempty"`

	result *beagle.Result
}

// A ruleUse is what became of a rule's proposals in a search.
type ruleUse struct {
	Proposed int `json:"proposed"`            // versions whose last step is the rule's
	Behaved  int `json:"behaved"`             // of these, equal to the original as far as checked
	Faster   int `json:"faster"`              // of these, faster in the quick measurement by 5 % at the low end
	Won      int `json:"in_winner,omitempty"` // 1 when the winner has a step of it
}

// evolve searches for a faster version of a function. Rules are the only authors
// unless flags name another one.
func (l *lab) evolve(ctx context.Context, dir, spec, out string, flags ...string) (*search, error) {
	args := append([]string{"evolve", "--json", "--quiet", "--offline", "--anew", "--out", out, "-C", dir}, l.budget...)
	r, err := l.beagleCommand(ctx, append(append(args, flags...), spec)...)
	if err != nil {
		return nil, err
	}
	s := &search{Seconds: r.seconds, Detail: sentence(r.said)}
	switch {
	case r.late:
		s.End, s.Why = failed, "it took longer than the limit"
	case r.status == 2:
		s.End, s.Why = rejected, classOf(s.Detail)
	case r.status != 0:
		s.End, s.Why = failed, fmt.Sprintf("beagle ended with status %d", r.status)
	default:
		s.result = &beagle.Result{}
		if err := json.Unmarshal(r.out, s.result); err != nil {
			return nil, fmt.Errorf("result of beagle evolve %s: %w", spec, err)
		}
		s.read()
	}
	return s, nil
}

// read takes what counts out of a result.
func (s *search) read() {
	r := s.result
	s.End, s.Detail, s.Candidates, s.Rules = kept, r.Why, r.Candidates, ruleUses(r)
	if r.Outcome == beagle.Improved {
		s.End, s.Gain, s.Low = improved, r.Best.Ratio.Point, r.Best.Ratio.Low
		return
	}
	s.Why = "no version is confirmed to be faster"
	if r.Candidates == 0 {
		s.Why = "no rewrite makes a version"
	}
}

// ruleUses counts what became of each rule's proposals.
func ruleUses(r *beagle.Result) map[string]*ruleUse {
	out := map[string]*ruleUse{}
	of := func(name string) *ruleUse {
		if out[name] == nil {
			out[name] = &ruleUse{}
		}
		return out[name]
	}
	for _, a := range r.Attempts {
		if len(a.Steps) == 0 {
			continue
		}
		u := of(a.Steps[len(a.Steps)-1].Mutator)
		u.Proposed++
		if a.Status == beagle.Equal || a.Status == beagle.Accepted {
			u.Behaved++
			if a.Screen != nil && a.Screen.Low >= atLeast {
				u.Faster++
			}
		}
	}
	if r.Outcome == beagle.Improved {
		for _, step := range r.Best.Steps {
			of(step.Mutator).Won = 1
		}
	}
	return out
}

// atLeast is the gain from which a function counts as improved.
const atLeast = 1.05

// sentence is what beagle complained of, without its name and on one line.
func sentence(said string) string {
	for line := range strings.Lines(said) {
		if _, what, ok := strings.Cut(line, "beagle evolve: "); ok {
			return strings.TrimSpace(what)
		}
	}
	return lastLines(said)
}

// classes are the kinds of rejection, by beagle's sentence. The first that fits counts.
var classes = []struct {
	name string
	form *regexp.Regexp
}{
	{"a function among parameters or results", regexp.MustCompile(`(parameter|result) [^.\[ ]+ cannot be .* it is a function`)},
	{"a function inside of a parameter or result", regexp.MustCompile(`it is a function`)},
	{"a channel", regexp.MustCompile(`it is a channel`)},
	{"a value of the process (context, file, connection, reflect)", regexp.MustCompile(`means something only inside its process`)},
	{"an address", regexp.MustCompile(`it is an address`)},
	{"takes and returns nothing", regexp.MustCompile(`takes nothing and returns nothing`)},
	{"input or output", regexp.MustCompile(`no check compares what that does outside`)},
	{"no Go body", regexp.MustCompile(`has no Go body`)},
	{"generic without an instance", regexp.MustCompile(`no instantiation found`)},
	{"no inputs", regexp.MustCompile(`no test calls it`)},
	{"the package is no target", regexp.MustCompile(`does not compile|is not on this machine|not on this machine|uses cgo`)},
}

var audited = regexp.MustCompile(`cannot be judged \(([a-z-]+)\)`)

// classOf words why a function was rejected, without its names.
func classOf(sentence string) string {
	if m := audited.FindStringSubmatch(sentence); m != nil {
		return "inputs: " + m[1]
	}
	for _, c := range classes {
		if c.form.MatchString(sentence) {
			return c.name
		}
	}
	return "another reason"
}

// A winner is what a second look found out about an improvement.
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
	testsPass    = "pass"
	testsFail    = "fail"                     // one fails that passes without the patch
	testsBroken  = "fail without it too"      // the same fail without the patch, and no others
	notApplied   = "the patch does not apply" // counts as a failure
	notMeasured  = "not measured"
	slowerStatus = "slower"
)

// slower reports whether the second look calls the winner slower or wrong.
func (w *winner) slower() bool { return w.High > 0 && w.High < 1 }

// wrong reports whether the second look found other behaviour.
func (w *winner) wrong() bool {
	return slices.Contains([]string{string(beagle.Wrong), string(beagle.Crashed), string(beagle.Hung),
		string(beagle.Forbidden), string(beagle.Invalid)}, w.Again)
}

// check applies the winner's patch to a copy of the module, runs the package's own
// tests on it, and has it verified and measured a second time.
func (l *lab) check(ctx context.Context, f function, dir, out string, s *search) (*winner, error) {
	w := &winner{}
	var err error
	if w.Tests, w.Failed, err = patched(ctx, dir, f.dir(), filepath.Join(out, "patch.diff")); err != nil {
		return nil, err
	}
	file := filepath.Join(out, "winner.go")
	if err := os.WriteFile(file, []byte(s.result.Best.Source), 0o644); err != nil {
		return nil, err
	}
	verdicts, err := l.verify(ctx, dir, f.Spec, nil, file)
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
func (l *lab) verify(
	ctx context.Context, dir, spec string, contract []string, files ...string,
) (map[string]*beagle.Verdict, error) {
	args := append([]string{"verify", "--json", "--quiet", "--offline", "--force", "-C", dir}, l.verifyBudget()...)
	r, err := l.beagleCommand(ctx, append(append(append(args, contract...), spec), files...)...)
	if err != nil {
		return nil, err
	}
	out := map[string]*beagle.Verdict{}
	if len(files) == 1 {
		v := &beagle.Verdict{}
		if json.Unmarshal(r.out, v) == nil && v.Status != "" {
			out[files[0]] = v
		}
		return out, nil
	}
	for line := range strings.Lines(string(r.out)) {
		var j beagle.Judgement
		if err := json.Unmarshal([]byte(line), &j); err == nil {
			out[j.File] = &j.Verdict
		}
	}
	return out, nil
}

// verifyBudget is the part of the budget that beagle verify has too.
func (l *lab) verifyBudget() []string {
	var out []string
	for i := 0; i+1 < len(l.budget); i++ {
		if name := strings.TrimLeft(l.budget[i], "-"); name == "measure" || name == "fuzz" {
			out = append(out, l.budget[i], l.budget[i+1])
		}
	}
	return out
}

// patched applies a patch to a copy of a module and runs a package's tests there,
// and without the patch where some fail.
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
	again, err := failingTests(ctx, copied, pkg) // a test that fails now and then is nobody's fault
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

// buildFailed stands among the failing tests when a package's tests do not build,
// or end before they say what failed.
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
