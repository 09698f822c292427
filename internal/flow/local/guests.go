package local

import (
	"context"

	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
)

// inbox is what was handed in for the run and not taken yet, as much as a
// generation takes.
func (r *run) inbox() []store.Submission {
	waiting, err := r.d.Store.Inbox(r.entry.ID)
	if err != nil && !r.deaf { // a search that waits for an agent looks several times a second
		r.d.Watch.Warn("what was handed in cannot be read: " + err.Error())
	}
	if r.deaf = err != nil; r.deaf {
		return nil // the search goes on without
	}
	return waiting[:min(len(waiting), flow.MaxGuests)]
}

// visited reports whether a search that has nothing left to try was handed
// something.
func (r *run) visited() bool { return r.course.Search.CanInvite() && len(r.inbox()) > 0 }

// welcome puts versions from outside into a draft.
func (r *run) welcome(ctx context.Context, draft *flow.Draft, guests []store.Submission) error {
	for _, v := range guests {
		p, ok := r.course.Search.Invite()
		if !ok {
			return nil // the budget is used up
		}
		made, refused, err := r.acts.Receive(ctx, r.entry.ID, p, v)
		if err != nil {
			return err
		}
		fate := flow.Fate{Candidate: made.Candidate}
		if refused != nil {
			r.d.Watch.Warn("a version that was handed in is refused: " + made.Refused)
			fate.Verdict = *refused
		} else {
			draft.Welcome(p.ID, v.ID)
		}
		if err := flow.KeepFate(r.d.Store, r.entry.ID, v.ID, fate); err != nil {
			return err
		}
		draft.Take(r.course, []evolve.Proposal{p}, []flow.Proposed{*made})
	}
	return nil
}

// answer writes down what became of the versions from outside in a draft, for
// who handed them in.
func (r *run) answer(draft *flow.Draft, judged []flow.Evaluated) error {
	for proposal, submission := range draft.Guests {
		fate, ok := draft.Fate(proposal, judged)
		if !ok {
			continue
		}
		if err := flow.KeepFate(r.d.Store, r.entry.ID, submission, fate); err != nil {
			return err
		}
	}
	return nil
}

// dismiss takes versions out of the inbox once what came of them is saved.
func (r *run) dismiss(guests []store.Submission) error {
	for _, v := range guests {
		if err := r.d.Store.Taken(r.entry.ID, v.ID); err != nil {
			return err
		}
	}
	return nil
}
