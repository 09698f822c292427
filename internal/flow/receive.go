package flow

import (
	"context"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/store"
)

// MaxGuests is how many versions from outside a generation takes.
const MaxGuests = 4

// handedIn is the site of the step that a version from outside is.
const handedIn = "handed in"

// Receive makes the candidate of a version that somebody handed in. What does
// not compile is refused at once.
func (a *Activities) Receive(ctx context.Context, run string, p evolve.Proposal, v store.Submission) (*Proposed, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	out := &Proposed{Proposal: p.ID}
	text, err := x.unit.Normalize(v.Source)
	if err != nil {
		out.Refused = err.Error()
		return out, nil
	}
	f, complaint := x.compiles(text)
	if complaint != "" {
		out.Refused = complaint
		return out, nil
	}
	c := beagle.NewCandidate(text, []string{x.root.ID}, nil)
	if c.ID == x.root.ID {
		out.Refused = "it is the original"
		return out, nil
	}
	c.Note = v.Note
	c.Steps = []beagle.Step{{Mutator: evolve.Written, Site: handedIn, Param: c.ID, Class: beagle.E4}}
	if err := x.putCandidate(c); err != nil {
		return nil, err
	}
	kept, err := x.candidate(c.ID)
	out.Candidate, out.Steps, out.Shape, out.Private = kept.ID, slices.Clone(kept.Steps), shape(f), x.private(kept)
	return out, err
}
