package flow

import (
	"context"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/store"
)

// A Fate is what became of a version that was handed in to a run.
type Fate struct {
	Candidate string         `json:"candidate,omitempty"` // its ID; empty when nothing could be made of it
	Verdict   beagle.Verdict `json:"verdict"`             // without a status as long as it is being judged
}

func fateKey(run, submission string) store.Key {
	return store.Key{Kind: "submission", Candidate: submission, Extra: run}
}

// KeepFate writes down what became of a version that was handed in.
func KeepFate(s *store.Store, run, submission string, f Fate) error {
	return s.Cache(fateKey(run, submission), f)
}

// FateOf is what became of a version that was handed in; false when the search
// has not taken it.
func FateOf(s *store.Store, run, submission string) (f Fate, taken bool) {
	taken = s.Cached(fateKey(run, submission), &f)
	return f, taken
}

// Fate is what a draft says of a proposal that was judged with it.
func (d *Draft) Fate(proposal int, judged []Evaluated) (f Fate, ok bool) {
	for i, m := range d.Made {
		if m.Proposal == proposal {
			o := d.outcomes(judged)[i]
			return Fate{o.Candidate.ID, o.Verdict}, true
		}
	}
	for _, o := range d.Known {
		if o.Proposal == proposal && o.Candidate.ID != "" {
			return Fate{o.Candidate.ID, o.Verdict}, true
		}
	}
	return Fate{}, false
}

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
