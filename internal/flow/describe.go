package flow

import (
	"context"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/llm"
)

// A Described describes a prepared run's target to people and agents that want to write versions
// of it themselves.
type Described struct {
	Briefing *llm.Briefing   // of the original, without lessons
	InPlace  *beagle.InPlace // nil where recorded calls judge versions
	Findings []beagle.Finding
	Rewrites []string // the rules that apply to the original, by name
}

// Describe gathers what is known of the target of a prepared run.
func (a *Activities) Describe(ctx context.Context, run string) (*Described, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	return x.briefer.describe(ctx)
}
