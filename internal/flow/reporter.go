package flow

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/mutate/lift"
)

// A reporter writes the result of a run.
type reporter struct {
	setting
	inputs   *inputs
	rewriter *rewriter
	authors  *authors
}

// Report assembles the result of a run.
func (a *Activities) Report(ctx context.Context, run string, j *Conclusion, log *Log) (*beagle.Result, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	return x.reporter.result(ctx, j, log)
}

// result returns the result of a run, without the parts that only its driver knows.
func (rp *reporter) result(ctx context.Context, j *Conclusion, log *Log) (_ *beagle.Result, err error) {
	// Begin with the result of a search without a winner.
	log = log.extend(j.Made)
	r := &beagle.Result{
		Run: rp.works.run, Target: rp.reference(), Outcome: beagle.NoImprovement, Why: j.Why,
		Best: beagle.Version{
			ID: rp.works.root.ID, Ratio: beagle.Ratio{Point: 1, Low: 1, High: 1}, Source: rp.works.root.Source,
			Static: rp.ready.Root.Static,
		},
		BaselineStatic: rp.ready.Root.Static,
		Statuses:       log.Statuses(), Corpus: rp.inputs.summary(rp.ready.Corpus), Findings: rp.ready.Findings,
		Warnings: rp.lab.box.MissingWalls(),
		Profile:  rp.hotLines(), Lineage: j.Lineage, Attempts: log.Attempts, Split: log.perCandidate(j.Seconds),
		InPlace: rp.ready.InPlace, Machine: rp.works.machine, Replay: rp.spec.Command(),
		Rejected: j.Rejected, NearMiss: j.NearMiss, Judge: rp.rates(), Advice: rp.rewriter.advice(rp.works.root),
	}
	// of finalists and advice
	if err := errors.Join(rp.rewriter.readFaults(0), rp.rewriter.keepLaterFaults()); err != nil {
		return nil, err
	}
	r.RuleFaults = rp.rewriter.failed()
	// Add the score, the origin of results, and the bill of models.
	if s := rp.spec.Score; !s.IsZero() {
		r.Score = &s
	}
	r.MeasuredIn, r.VerifiedIn = j.Measured, j.Verified
	if r.Models, err = rp.authors.modelSummary(); err != nil {
		return nil, err
	}
	// Add the measurement and the winner.
	if m := j.Measurement; m != nil {
		r.Measurement, r.Baseline = m, m.Baseline
		r.Warnings = append(slices.Clone(r.Warnings), lossWarnings(m.InputClasses)...)
		r.Best.Nanos, r.Best.Allocs, r.Best.Bytes = m.Baseline.Nanos, m.Baseline.Allocs, m.Baseline.Bytes
	}
	if j.Verdict == nil {
		return r, nil
	}
	r.Verification = verification(j.Verdict)
	return r, rp.improved(ctx, r, j)
}

// improved fills in the parts of a result that only a winner has.
func (rp *reporter) improved(ctx context.Context, r *beagle.Result, j *Conclusion) error {
	m := j.Measurement
	r.Outcome = beagle.Improved
	if j.Again.Low > 0 && m.Score == nil {
		r.Again = &j.Again
	}
	r.Warnings = append(r.Warnings, againWarnings(m.Worth(), j.Again)...)
	r.Best = beagle.Version{
		ID: j.Winner.ID, Ratio: m.Corrected, Nanos: m.Best.Nanos, Allocs: m.Best.Allocs, Bytes: m.Best.Bytes,
		Source: j.Winner.Source, Steps: j.Winner.Steps, Static: j.Verdict.Static,
	}
	extra, err := rp.tests(ctx)
	if err != nil {
		return err
	}
	extra = append(extra, rp.modules(r, j.Winner.Source)...)
	patch, err := rp.unit.Writer.Patch(rp.unit.Conditions.Stated(j.Winner.Source), extra)
	if err != nil {
		return err
	}
	r.Patch, r.Files = patch.Diff, patch.Files
	return nil
}

// modules states what a winner that calls a module needs and leaves open. It returns the changes of
// go.mod and go.sum, if the winner needs any.
func (rp *reporter) modules(r *beagle.Result, winner string) []beagle.PatchFile {
	f, problem := rp.unit.Reader.Parse(winner)
	if problem != nil {
		return nil // which the patch reports
	}
	for _, m := range lift.Modules {
		if !f.ImportsModule(m.Path) {
			continue
		}
		why := "processors of other kinds: the functions of " + m.Path +
			" ran and were timed with the instructions of this one"
		r.Verification.NotDone = append(r.Verification.NotDone, why)
		if a := r.Verification.Assurance; a != nil {
			more := *a
			more.NotChecked = append(slices.Clone(a.NotChecked), why)
			r.Verification.Assurance = &more
		}
	}
	q := rp.unit.Requirement
	if q == nil || !f.ImportsModule(q.Module) {
		return nil
	}
	r.Requires = []beagle.Required{{Path: q.Module, Version: q.Version}}
	return q.Patch()
}

func (rp *reporter) reference() beagle.TargetRef {
	t := &rp.unit.Target
	file, err := filepath.Rel(t.Dir, t.File)
	if err != nil {
		file = t.File
	}
	ref := beagle.TargetRef{Spec: t.Spec(), ID: t.ID(), Module: t.Module, Dir: t.Dir,
		Signature: strings.ReplaceAll(t.Signature, "\n", "; "),
		File:      filepath.ToSlash(file), Line: t.Line, TypeArgs: t.TypeArgs, Contract: t.Contract}
	for _, d := range t.Scope {
		ref.Scope = append(ref.Scope, d.Name)
	}
	return ref
}

// verification lists the checks that ran, and warns of those that did not.
func verification(v *beagle.Verdict) beagle.Verification {
	out := beagle.Verification{Checks: v.Checks, Cases: cases(v), Assurance: v.Assurance}
	a := v.Assurance
	if a == nil || a.Proof == nil || !a.Proof.Complete {
		out.NotDone = append(out.NotDone, "inputs beyond those compared: this is evidence, not a proof")
	}
	if a != nil {
		out.NotDone = append(out.NotDone, a.NotChecked...)
	}
	out.NotDone = append(out.NotDone, v.Warnings...)
	return out
}

// hotLines returns the lines of the original that cost most.
func (rp *reporter) hotLines() []beagle.LineShare {
	const most, least = 6, 0.02
	text := strings.Split(rp.works.root.Source, "\n")
	var out []beagle.LineShare
	for line, share := range rp.ready.Profile {
		if share >= least && line >= 1 && line <= len(text) {
			out = append(out, beagle.LineShare{Line: line, Share: share, Text: strings.TrimSpace(text[line-1])})
		}
	}
	inorder.By(out, func(a, b beagle.LineShare) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), a.Line-b.Line)
	})
	return out[:min(len(out), most)]
}
