package flow

import (
	"context"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/mutate/lift"
	"github.com/beagle-go/beagle/mutate/rules"
)

// A pedigree takes apart how a version was made, and what each step bought.
type pedigree struct {
	setting
	inputs   *inputs
	rewriter *rewriter
	verifier *verifier
}

// lineage measures every step of the winner over several link layouts. again is the ratio of the
// whole there, or zero if it could not be timed.
func (p *pedigree) lineage(
	ctx context.Context, c beagle.Candidate,
) (out []beagle.LineageStep, again beagle.Ratio, err error) {
	chain, err := p.path(c)
	if err != nil {
		return nil, again, err
	}
	out = make([]beagle.LineageStep, len(chain))
	for i, at := range chain {
		step := at.Steps[len(at.Steps)-1]
		out[i] = beagle.LineageStep{Step: step, Why: p.explain(step)}
	}
	if err := p.timeSteps(ctx, chain, out); err != nil {
		return nil, again, err
	}
	if last := len(chain) - 1; last >= 0 && chain[last].ID == c.ID {
		again = out[last].Ratio
	}
	return out, again, nil
}

// path returns the version after each step of a candidate. The store knows one way to each text,
// which may not be the candidate's. So path takes the candidate's own steps again, and follows the
// parents only where that leads elsewhere.
func (p *pedigree) path(c beagle.Candidate) ([]beagle.Candidate, error) {
	// Take the candidate's steps again, one after the other.
	var chain []beagle.Candidate
	at := p.works.root
	for i := range c.Steps {
		next, err := p.retrace(at, c.Steps[:i+1])
		if refusalReason(err) != "" {
			break
		}
		if err != nil {
			return nil, err
		}
		chain, at = append(chain, next), next
	}
	if len(chain) == len(c.Steps) && at.ID == c.ID {
		return chain, nil
	}
	// They lead elsewhere: follow the parents that the store knows.
	chain = nil
	seen := map[string]bool{}
	for at := c; len(at.Steps) > 0 && !seen[at.ID]; {
		seen[at.ID] = true
		chain = append([]beagle.Candidate{at}, chain...)
		if len(at.Parents) == 0 {
			break
		}
		parent, err := p.works.candidate(at.Parents[0])
		if err != nil {
			return nil, err
		}
		at = parent
	}
	return chain, nil
}

// retrace takes the last of the steps on the result of the others.
func (p *pedigree) retrace(at beagle.Candidate, steps []beagle.Step) (beagle.Candidate, error) {
	step := steps[len(steps)-1]
	if step.Mutator != evolve.ByAuthor {
		return p.rewriter.work.retrace(at, step)
	}
	c, err := p.works.candidate(step.Param)
	c.Steps = slices.Clone(steps)
	return c, err
}

// timeSteps compares the version after each step with the original, and with the one before it,
// where both behave; the zero Ratio marks an unknown one.
func (p *pedigree) timeSteps(ctx context.Context, chain []beagle.Candidate, steps []beagle.LineageStep) error {
	good, err := p.behaving(ctx, chain)
	if err != nil || len(good) == 0 {
		return err
	}
	// Time each version, and each pair of neighbours.
	var timed []beagle.Candidate
	var pairs [][2]int
	for k, i := range good {
		timed = append(timed, chain[i])
		pairs = append(pairs, [2]int{k, max(k-1, 0)})
	}
	found, err := p.lab.evidence.sift(ctx, timed, pairs, 1)
	if err != nil {
		return err
	}
	// A gain is known where both neighbours were timed.
	for k, i := range good {
		if found.Ratios[k].Low <= 0 { // it could not be timed
			continue
		}
		steps[i].Ratio = found.Ratios[k]
		switch {
		case i == 0:
			steps[i].Gain = found.Ratios[k]
		case k > 0 && good[k-1] == i-1 && found.Over[k].Low > 0:
			steps[i].Gain = found.Over[k]
		}
	}
	return nil
}

// behaving returns the versions that behave as the original does, by index. The original may be
// among them.
func (p *pedigree) behaving(ctx context.Context, cs []beagle.Candidate) (good []int, err error) {
	t, err := p.lab.evidence.assemble(ctx, cs)
	if err != nil {
		return nil, err
	}
	defer t.Remove()
	for i, c := range cs {
		if t.refusal(i+1) != nil {
			continue
		}
		v, err := p.verifier.quick(ctx, t, i+1, c)
		if err != nil {
			return nil, err
		}
		if v.OK() {
			good = append(good, i)
		}
	}
	return good, nil
}

// explain returns a rewrite's own description, or a model's note on its change.
func (p *pedigree) explain(step beagle.Step) string {
	if step.Mutator == evolve.ByAuthor {
		by := "Written by the model " + step.Site
		if step.Site == siteHandedIn {
			by = "Handed in while the search went on"
		}
		c, err := p.works.candidate(step.Param)
		if err != nil || c.Note == "" {
			return by + ", without an explanation."
		}
		return by + ", with the note: " + c.Note
	}
	if step.Mutator == guardStep {
		return "The version was right only under a condition. Where that does not hold, the original does the work."
	}
	if step.Mutator == lift.Name {
		return lift.Mutator(nil).Doc
	}
	if m := rules.Named(step.Mutator); m != nil {
		return m.Doc
	}
	return ""
}
