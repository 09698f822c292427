package flow

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/verify"
)

// A verifier compares the behaviour of versions with that of the original.
type verifier struct {
	setting
	inputs *inputs
}

// static reads a candidate: the checks that run nothing.
func (vf *verifier) static(ctx context.Context, c beagle.Candidate) (*beagle.Verdict, error) {
	return vf.survive(c.Source, func() (*beagle.Verdict, error) {
		return verify.Static(ctx, vf.lab.verify, c, vf.inputs.corpus())
	})
}

// quick compares a candidate, a version of a program, with the original for some milliseconds.
func (vf *verifier) quick(
	ctx context.Context, t candidateProgram, version int, c beagle.Candidate,
) (*beagle.Verdict, error) {
	return vf.survive(c.Source, func() (*beagle.Verdict, error) { return t.quick(ctx, version, c) })
}

// survive judges a text. A panic of the judge does not end a run: it makes a verdict that accepts
// nothing, a warning, and a file with the stack.
func (vf *verifier) survive(text string, judge func() (*beagle.Verdict, error)) (v *beagle.Verdict, err error) {
	defer func() {
		if p := recover(); p != nil { // outside of the checks
			id := beagle.HashOf("candidate", text)
			v, err = vf.failed(verify.Panicked("judge", id, p))
		}
	}()
	v, err = judge()
	var failed *verify.JudgeFailure
	if errors.As(err, &failed) {
		return vf.failed(failed)
	}
	return v, err
}

// failed returns the verdict on a candidate on which the judge failed.
func (vf *verifier) failed(p *verify.JudgeFailure) (*beagle.Verdict, error) {
	path := filepath.Join(vf.works.store.RunDir(vf.works.run), "judge-failed-"+p.Candidate+".txt")
	said := fmt.Sprintf("%v\n\n%s", p, p.Stack)
	if err := vf.works.store.WriteFile(path, []byte(said)); err != nil {
		return nil, err
	}
	vf.watch.Warn(fmt.Sprintf("%v. This is a mistake in Beagle, or the machine lacks time or memory. The version is "+
		"not accepted. What is known is in %s", p, path))
	return &beagle.Verdict{Candidate: p.Candidate, Status: beagle.Failed, Stage: p.Check, Reason: p.Error()}, nil
}

// full takes a candidate through the whole ladder.
func (vf *verifier) full(ctx context.Context, c beagle.Candidate) (*beagle.Verdict, error) {
	v, err := vf.survive(c.Source, func() (*beagle.Verdict, error) { return vf.lab.evidence.full(ctx, c) })
	if err == nil {
		vf.assure(v)
	}
	return v, err
}

// proven returns the full verification of a finalist, and the earlier run that made it.
func (vf *verifier) proven(ctx context.Context, c beagle.Candidate) (*beagle.Verdict, *beagle.Origin, error) {
	return traced(vf.works, "full", c.ID, fmt.Sprint(vf.spec.Fuzz), func() (*beagle.Verdict, error) {
		vf.watch.Stage("verify", steps(c)+": "+vf.lab.evidence.work())
		return vf.full(ctx, c)
	})
}

// assure adds to a verdict's assurance what the inputs lack.
func (vf *verifier) assure(v *beagle.Verdict) {
	if c := vf.inputs.corpus(); v.Assurance != nil && c.Dropped > 0 {
		lacks := fmt.Sprintf("%d recorded calls that could not be replayed: %s", c.Dropped, c.DroppedWhy)
		v.Assurance.NotChecked = append(v.Assurance.NotChecked, lacks)
	}
}
