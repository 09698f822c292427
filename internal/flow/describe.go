package flow

import (
	"context"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/llm"
)

// A Described is what is known of a prepared run's target, for people and
// agents that want to make versions of it themselves.
type Described struct {
	Evidence *llm.Evidence // of the original, without lessons
	Findings []beagle.Finding
	Rewrites []string // the rules that apply to the original, by name
}

// Describe gathers what is known of the target of a prepared run.
func (a *Activities) Describe(ctx context.Context, run string) (*Described, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	parent, err := x.version(ctx, x.works.root.ID)
	if err != nil {
		return nil, err
	}
	d := &Described{Findings: x.ready.Findings, Evidence: &llm.Evidence{
		Kind: llm.Improve, Target: &x.unit.Target, Facets: x.inputs.facets(), Callees: x.callees(), Parent: *parent,
	}}
	for _, m := range x.ready.Moves {
		d.Rewrites = append(d.Rewrites, m.Mutator)
	}
	slices.Sort(d.Rewrites)
	d.Rewrites = slices.Compact(d.Rewrites)
	return d, nil
}
