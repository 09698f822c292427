package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/mutants"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/verify"
	"github.com/beagle-go/beagle/suite/commits/change"
)

// check loads the function as a target and type-checks the candidate file in
// its package. It runs nothing.
func check(ctx context.Context, dir, file string, e *change.Entry) (*beagle.Verdict, error) {
	u, src, err := complete(ctx, dir, file, e)
	if err != nil {
		return nil, err
	}
	if _, problem := u.Reader.Parse(src); problem != nil {
		return &beagle.Verdict{Status: beagle.Invalid, Stage: problem.Stage, Reason: problem.Message}, nil
	}
	return &beagle.Verdict{Status: beagle.Equal, Stage: "types", Reason: "type-checks; nothing was run"}, nil
}

// complete loads the function and adds the declarations that the candidate file shares with the
// original, as beagle verify does.
func complete(ctx context.Context, dir, file string, e *change.Entry) (*source.Unit, string, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, "", err
	}
	u, err := source.Load(ctx, source.Options{Dir: dir, Spec: e.Function})
	if err != nil {
		return nil, "", err
	}
	text := u.Reader.Complete(string(src))
	if formatted, err := u.Reader.Normalize(text); err == nil { // with the imports of what was added
		text = formatted
	}
	return u, text, nil
}

// behaviour records the calls of the package's tests and runs every check of the judge but the
// timing on the candidate file.
func behaviour(ctx context.Context, dir, file string, e *change.Entry) (*beagle.Verdict, error) {
	_, src, err := complete(ctx, dir, file, e)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "behaviour-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	f, err := mutants.Open(ctx, dir, e.Function, tmp, 90*time.Second)
	if err != nil {
		return nil, err
	}
	budget := verify.Budget{Exhaust: time.Second, Fuzz: time.Second, Race: -1}
	trials, err := f.Try(ctx, f.Source(), []string{src}, budget)
	if err != nil {
		return nil, err
	}
	t := trials[0]
	if t.Status == mutants.SameCode {
		t.Verdict.Status, t.Verdict.Stage = beagle.Equal, "compile"
		t.Verdict.Reason = "the compiler makes the same machine code of both"
	}
	if t.Status == mutants.NoVersion && t.Verdict.OK() {
		return nil, fmt.Errorf("the candidate does not compile")
	}
	return &t.Verdict, nil
}
