package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
)

// An Outcome is what became of an entry.
type Outcome struct {
	Entry    Entry           `json:"entry"`
	Half     string          `json:"half"`
	Strict   *beagle.Verdict `json:"strict,omitempty"`
	Contract *beagle.Verdict `json:"contract,omitempty"` // nil without a contract
	Problem  string          `json:"problem,omitempty"`  // why there is no verdict
	Seconds  float64         `json:"seconds"`
}

// modes are the ways to judge that do not time anything and know no contract.
var modes = map[string]func(ctx context.Context, dir, file string, e *Entry) (*beagle.Verdict, error){
	"check": check, "behaviour": behaviour,
}

// A judge downloads, cuts and asks beagle.
type judge struct {
	beagle string   // the command
	mode   string   // check, behaviour or full
	dir    string   // modules, candidate files and the store
	budget []string // flags of `beagle verify`
	limit  time.Duration
}

// judgeEntry takes an entry all the way. A fault is part of the outcome.
func (j *judge) judgeEntry(ctx context.Context, e Entry) Outcome {
	start := time.Now()
	o := Outcome{Entry: e, Half: e.Half()}
	if err := j.verdicts(ctx, &o); err != nil {
		o.Problem = err.Error()
	}
	o.Seconds = time.Since(start).Seconds()
	return o
}

func (j *judge) verdicts(ctx context.Context, o *Outcome) error {
	e := &o.Entry
	before, candidate, err := j.candidate(ctx, e)
	if err != nil {
		return err
	}
	if cheap := modes[j.mode]; cheap != nil {
		o.Strict, err = cheap(ctx, before, candidate, e)
		return err
	}
	if o.Strict, err = j.verify(ctx, before, candidate, e, false); err != nil || !e.HasContract() {
		return err
	}
	o.Contract, err = j.verify(ctx, before, candidate, e, true)
	return err
}

// candidate downloads both versions and returns the earlier one's directory and
// the file with the function cut out of the later one.
func (j *judge) candidate(ctx context.Context, e *Entry) (before, file string, err error) {
	mods := filepath.Join(j.dir, "mod")
	if err := os.MkdirAll(mods, 0o755); err != nil {
		return "", "", err
	}
	where, name := split(e.Function)
	var versions [2]*pkg
	var dirs [2]string
	for i, version := range []string{e.Before, e.After} {
		if dirs[i], err = fetch(ctx, mods, e.Module, version); err != nil {
			return "", "", err
		}
	}
	if err := require(ctx, dirs[0], where); err != nil {
		return "", "", err
	}
	if versions[0], err = load(ctx, dirs[0], where); err != nil {
		return "", "", fmt.Errorf("before: %w", err)
	}
	if versions[1], err = loadTyped(ctx, dirs[1], where); err != nil {
		return "", "", fmt.Errorf("after: %w", err)
	}
	src, err := cut(versions[0], versions[1], name, e.Keep)
	if err != nil {
		return "", "", fmt.Errorf("cut: %w", err)
	}
	file = filepath.Join(j.dir, "cut", beagle.HashOf("cut", e.Name(), e.Commit)+".go")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", "", err
	}
	return dirs[0], file, os.WriteFile(file, []byte(src), 0o644)
}

// verify asks beagle for a verdict, strict or under the entry's contract.
func (j *judge) verify(ctx context.Context, dir, file string, e *Entry, contract bool) (*beagle.Verdict, error) {
	args := append([]string{"verify", "--json", "--quiet", "-C", dir}, j.budget...)
	if contract && e.Requires != "" {
		args = append(args, "--requires", e.Requires)
	}
	if contract && len(e.Ignore) > 0 {
		args = append(args, "--ignore", strings.Join(e.Ignore, ","))
	}
	ctx, cancel := context.WithTimeout(ctx, j.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, j.beagle, append(args, e.Function, file)...)
	// An interrupt lets beagle end the programs that it started.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "BEAGLE_HOME="+filepath.Join(j.dir, "home"))
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("beagle verify took longer than %v", j.limit)
	}
	v := &beagle.Verdict{}
	if jsonErr := json.Unmarshal(out, v); jsonErr != nil {
		if err == nil {
			err = jsonErr
		}
		return nil, fmt.Errorf("beagle verify: %w: %s", err, firstLine(problems.String()))
	}
	return v, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimPrefix(line, "beagle verify: ")
}
