package flow

import (
	"context"
	"fmt"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/store"
)

// A Fate is the outcome of a version that was handed in to a run.
type Fate struct {
	Candidate string         `json:"candidate,omitempty"` // its ID; empty when nothing could be made of it
	Verdict   beagle.Verdict `json:"verdict"`             // without a status as long as it is being judged
}

func fateKey(run, submission string) store.Key {
	return store.Key{Kind: "submission", Candidate: submission, Extra: run}
}

// KeepFate stores the outcome of a submission.
func KeepFate(s *store.Store, run, submission string, f Fate) error {
	return s.Cache(fateKey(run, submission), f)
}

// FateOf returns the outcome of a submission; false if the search has not taken it yet.
func FateOf(s *store.Store, run, submission string) (f Fate, taken bool) {
	taken = s.Cached(fateKey(run, submission), &f)
	return f, taken
}

// Fate returns the outcome of a proposal that was evaluated with the draft.
func (d *Draft) Fate(proposal int, evaluated []Evaluation) (f Fate, ok bool) {
	for _, m := range d.Made {
		is := func(e Evaluation) bool { return e.Candidate == m.Candidate }
		if i := slices.IndexFunc(evaluated, is); m.Proposal == proposal && i >= 0 {
			return Fate{m.Candidate, evaluated[i].Verdict}, true
		}
	}
	for _, o := range d.Known {
		if o.Proposal == proposal && o.Candidate.ID != "" {
			o.Verdict.Reason = "the search has had this version before"
			return Fate{o.Candidate.ID, o.Verdict}, true
		}
	}
	return Fate{}, false
}

// Guests returns the versions in a run's inbox that its search can take: as many as a generation
// has room for. If the inbox cannot be read, the search goes on without, and its driver says so
// once.
func Guests(s *store.Store, run string, search *evolve.Search) ([]store.Submission, error) {
	if !search.CanInvite() {
		return nil, nil
	}
	waiting, err := s.Inbox(run)
	if err != nil {
		return nil, fmt.Errorf("the submitted versions cannot be read: %w", err)
	}
	return waiting[:min(len(waiting), maxGuests)], nil
}

// maxGuests bounds the versions from outside in one generation.
const maxGuests = 4

// siteHandedIn is the site of the step that stands for a version from outside.
const siteHandedIn = "handed in"

// Receive makes the candidate of a submission. It refuses a text that cannot be a candidate at
// once, with the verdict that judging it would give.
func (a *Activities) Receive(
	ctx context.Context, run string, p evolve.Proposal, v store.Submission,
) (*ProposalOutcome, *beagle.Verdict, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	out := &ProposalOutcome{Proposal: p.ID}
	// Admit the text, or refuse it with its verdict.
	arrived := x.door.admit(v.Source, partial)
	refused := arrived.refusal()
	if refused == nil && arrived.ID == x.works.root.ID {
		refused = &beagle.Verdict{Status: beagle.Duplicate, Stage: stageProposed, Reason: "it is the original"}
	}
	if refused != nil {
		out.Refused = fmt.Sprintf("%s: %s", refused.Stage, refused.Reason)
		x.watch.Warn("a version that was handed in is refused: " + out.Refused)
		return out, refused, nil
	}
	// Keep the candidate. Its only step names its author.
	c := arrived.Candidate
	c.Note = v.Note
	c.Steps = []beagle.Step{{Mutator: evolve.ByAuthor, Site: siteHandedIn, Param: c.ID, Class: beagle.E4}}
	if err := x.works.putCandidates(c); err != nil {
		return nil, nil, err
	}
	kept, err := x.works.candidate(c.ID)
	out.Candidate, out.Steps, out.Shape, out.Private = kept.ID, slices.Clone(kept.Steps), shape(arrived.file),
		x.inputs.isPrivate(kept)
	return out, nil, err
}

// stageProposed is the stage at which a search drops a known candidate.
const stageProposed = "propose"
