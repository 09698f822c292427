package flow

import (
	"context"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/store"
)

// TargetInputs are a target with the inputs that a search of it would work on.
type TargetInputs struct {
	Unit     *source.Unit
	Corpus   *beagle.Corpus
	Findings []beagle.Finding
}

// Gather loads a target, records or reads its inputs, runs the original on them and audits them. A
// run begins with the same steps; Gather begins no run.
func Gather(ctx context.Context, s *store.Store, spec Spec, watch Watcher) (*TargetInputs, error) {
	if err := spec.Anchor(); err != nil {
		return nil, err
	}
	// Load the target, and find out whether recording is worth its time.
	watch.Stage("target", spec.Target)
	x, err := openSession(ctx, "", spec, s, watch)
	if err != nil {
		return nil, err
	}
	defer x.lab.close()
	for _, wall := range x.lab.box.MissingWalls() {
		watch.Warn(wall)
	}
	if err := x.inputs.hopeless(); err != nil {
		return nil, err
	}
	// Take the calls, build the original, and make the audited corpus.
	in, err := x.inputs.collect(ctx)
	if err != nil {
		return nil, err
	}
	bin, err := x.lab.buildOriginal(ctx)
	if err != nil {
		return nil, err
	}
	defer bin.Remove()
	built, _, err := x.inputs.compose(ctx, bin, x.inputs.gather(in))
	if err != nil {
		return nil, err
	}
	findings, err := x.inputs.audit(built)
	if err != nil {
		return nil, err
	}
	return &TargetInputs{Unit: x.unit, Corpus: x.inputs.corpus(), Findings: findings}, nil
}
