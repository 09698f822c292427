package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/command"
	"github.com/beagle-go/beagle/suite/commits/change"
)

// An Outcome is the outcome of an entry.
type Outcome struct {
	Entry    change.Entry    `json:"entry"`
	Half     string          `json:"half"`
	Strict   *beagle.Verdict `json:"strict,omitempty"`
	Contract *beagle.Verdict `json:"contract,omitempty"` // nil without a contract
	Problem  string          `json:"problem,omitempty"`  // why there is no verdict
	Seconds  float64         `json:"seconds"`
}

// modes are the ways to judge that do not time anything and know no contract.
var modes = map[string]func(ctx context.Context, dir, file string, e *change.Entry) (*beagle.Verdict, error){
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

// judgeEntry downloads, cuts and judges an entry. A fault is part of the outcome.
func (j *judge) judgeEntry(ctx context.Context, e change.Entry) Outcome {
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
	before, candidate, err := e.Candidate(ctx, j.dir)
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

// verify asks beagle for a verdict, strict or under the entry's contract.
func (j *judge) verify(ctx context.Context, dir, file string, e *change.Entry, contract bool) (*beagle.Verdict, error) {
	args := append([]string{"verify", "--json", "--quiet", "-C", dir}, j.budget...)
	if contract && e.Requires != "" {
		args = append(args, "--requires", e.Requires)
	}
	if contract && len(e.Ignore) > 0 {
		args = append(args, "--ignore", strings.Join(e.Ignore, ","))
	}
	args = append(args, e.Function, file)
	end, err := command.Call{Program: j.beagle, Args: args, Home: filepath.Join(j.dir, "home"), Limit: j.limit}.Run(ctx)
	if err != nil {
		return nil, err
	}
	if end.Late {
		return nil, fmt.Errorf("beagle verify took longer than %v", j.limit)
	}
	v := &beagle.Verdict{}
	if err := end.Decode(v); err != nil {
		return nil, err
	}
	return v, nil
}
