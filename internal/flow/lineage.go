package flow

import (
	"context"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/mutate/rules"
)

// path is the version after each step of a candidate. The store knows one way
// to each text, which may not be the candidate's: its own steps are taken
// again, and only where that leads elsewhere the parents are followed.
func (x *session) path(c beagle.Candidate) ([]beagle.Candidate, error) {
	var chain []beagle.Candidate
	at := x.works.root
	for i := range c.Steps {
		next, err := x.retrace(at, c.Steps[:i+1])
		if err != nil {
			break
		}
		chain, at = append(chain, next), next
	}
	if len(chain) == len(c.Steps) && at.ID == c.ID {
		return chain, nil
	}
	chain = nil
	seen := map[string]bool{}
	for at := c; len(at.Steps) > 0 && !seen[at.ID]; {
		seen[at.ID] = true
		chain = append([]beagle.Candidate{at}, chain...)
		if len(at.Parents) == 0 {
			break
		}
		parent, err := x.works.candidate(at.Parents[0])
		if err != nil {
			return nil, err
		}
		at = parent
	}
	return chain, nil
}

// retrace takes the last of the steps on what the others have made.
func (x *session) retrace(at beagle.Candidate, steps []beagle.Step) (beagle.Candidate, error) {
	step := steps[len(steps)-1]
	if step.Mutator != evolve.Written {
		return x.rewriter.work.retrace(at, step)
	}
	c, err := x.works.candidate(step.Param)
	c.Steps = slices.Clone(steps)
	return c, err
}

// lineage measures every step of the winner in one program.
func (x *session) lineage(ctx context.Context, c beagle.Candidate) ([]beagle.LineageStep, error) {
	chain, err := x.path(c)
	if err != nil {
		return nil, err
	}
	ratios, err := x.compareAll(ctx, chain)
	if err != nil {
		return nil, err
	}
	out := make([]beagle.LineageStep, len(chain))
	before := beagle.Ratio{Point: 1, Low: 1, High: 1}
	for i, at := range chain {
		step := at.Steps[len(at.Steps)-1]
		out[i] = beagle.LineageStep{Step: step, Why: x.explain(step), Ratio: ratios[i], Gain: ratios[i].Over(before)}
		before = ratios[i]
	}
	return out, nil
}

// explain is what a rewrite says of itself, or a model of what it wrote.
func (x *session) explain(step beagle.Step) string {
	if step.Mutator == evolve.Written {
		by := "Written by the model " + step.Site
		if step.Site == handedIn {
			by = "Handed in while the search went on"
		}
		c, err := x.works.candidate(step.Param)
		if err != nil || c.Note == "" {
			return by + ", without an explanation."
		}
		return by + ", with the note: " + c.Note
	}
	if step.Mutator == guardStep {
		return "The version was right only under a condition. Where that does not hold, the original does the work."
	}
	if m := rules.Named(step.Mutator); m != nil {
		return m.Doc
	}
	return ""
}
