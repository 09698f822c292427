package flow

import (
	"context"
	"errors"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/evolve"
)

// A ProposalOutcome names the candidate that a proposal made, or says why there is none.
type ProposalOutcome struct {
	Proposal  int           `json:"proposal"`
	Candidate string        `json:"candidate,omitempty"`
	Steps     []beagle.Step `json:"steps,omitempty"`
	Refused   string        `json:"refused,omitempty"`
	Private   bool          `json:"private,omitempty"` // its source holds captured values that models may not see
	// of what a model wrote: the same for texts that differ in comments and local names alone
	Shape string `json:"shape,omitempty"`
	// the effort to read the source; see reading
	Reading int `json:"reading,omitempty"`
}

// Propose makes the candidates of proposals. It keeps the versions between a parent and the end of
// a stack too, since the report shows every step.
func (a *Activities) Propose(ctx context.Context, run string, proposals []evolve.Proposal) ([]ProposalOutcome, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	first, last := span(proposals)
	if err := x.rewriter.readFaults(last); err != nil {
		return nil, err
	}
	for {
		out, chains, err := x.rewriter.proposeAll(proposals)
		if err != nil {
			return nil, err
		}
		// If a rule fails, drop it from all of these proposals: which of them were made before the
		// failure depends on the processors' speed.
		again, err := x.rewriter.keepFaults(first)
		if err != nil {
			return nil, err
		}
		if !again {
			return out, x.rewriter.putChains(out, chains)
		}
	}
}

// span returns the first and the last ID of proposals.
func span(proposals []evolve.Proposal) (first, last int) {
	for i, p := range proposals {
		if last = max(last, p.ID); i == 0 || p.ID < first {
			first = p.ID
		}
	}
	return first, last
}

// An Evaluation is the verdict on one candidate.
type Evaluation struct {
	Candidate string        `json:"candidate"`
	Parents   []string      `json:"parents,omitempty"`
	Steps     []beagle.Step `json:"steps,omitempty"`
	StoredVerdict
	Cached bool `json:"cached"`
}

// A StoredVerdict is the part of an evaluation that the store keeps for later runs.
type StoredVerdict struct {
	Verdict beagle.Verdict `json:"verdict"`
	Moves   []beagle.Move  `json:"moves,omitempty"`
	Without []string       `json:"without,omitempty"` // rules that failed, of which Moves has none
	// where the time goes and what a call costs, for models
	Insight *bench.Insight `json:"insight,omitempty"`
}

// An EvaluatedBatch is a batch, or a worker's share of one, after its evaluation.
type EvaluatedBatch struct {
	Candidates []Evaluation `json:"candidates"`
	Cost       Split        `json:"cost"`
}

// Evaluate takes a whole batch of candidates through the cheap end of the
// ladder, and settles it. With foresee it begins to make the next generation meanwhile.
func (a *Activities) Evaluate(
	ctx context.Context, run string, ids []string, foresee Foresee,
) (*EvaluatedBatch, error) {
	out, err := a.evaluateShare(ctx, run, ids, ids, foresee)
	if err != nil {
		return nil, err
	}
	return out, Settle(a.Store, run, out.Candidates)
}

// EvaluateShare takes candidates through the cheap end of the ladder: policy, one
// build for all, quick verification, and one screening measurement for those that
// are left. Verdicts that the store has are not made again.
//
// batch is the whole batch in its order, mine the part of it to evaluate, in the
// same order. Several workers may evaluate parts of one batch at once: nothing
// that they find counts for the run before Settle.
func (a *Activities) EvaluateShare(ctx context.Context, run string, batch, mine []string) (*EvaluatedBatch, error) {
	return a.evaluateShare(ctx, run, batch, mine, nil)
}

func (a *Activities) evaluateShare(
	ctx context.Context, run string, batch, mine []string, foresee Foresee,
) (*EvaluatedBatch, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(x.inputs.refresh(), x.rewriter.readFaults(0)); err != nil {
		return nil, err
	}
	return x.screener.evaluate(ctx, batch, mine, foresee)
}
