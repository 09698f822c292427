package temporal

import (
	"context"
	"fmt"
	"strconv"

	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/loop"
	"github.com/beagle-go/beagle/internal/tail"
)

// Receive makes candidates of versions that were handed in.
func (a *activities) Receive(ctx context.Context, o Order) (out Delivery, err error) {
	var visits []flow.Visit
	if err := a.store.GetJSON(o.What, &visits); err != nil {
		return out, err
	}
	out.Notes, err = a.carryOut(ctx, o.Run, waits, func(ctx context.Context, s Stages) error {
		received := make([]flow.Received, len(visits))
		for i, v := range visits {
			made, refused, err := s.Receive(ctx, o.Run, v.Proposal, v.Submission)
			if err != nil {
				return err
			}
			received[i] = flow.Received{ProposalOutcome: *made, Refusal: refused}
		}
		return a.deliver(&out, received, nil)
	})
	return out, err
}

// Enlist makes this worker the one that makes the calls of a run, and returns its own queue. A
// run's journal of calls has one writer: it records the paid calls and the rest of the budget.
func (a *activities) Enlist(ctx context.Context, o Order) (Delivery, error) {
	defer a.beating(ctx, new(notes), func(error) {})()
	a.desks.refresh(o.Run)
	return Delivery{What: a.own}, nil
}

// Ask has a model or an agent write the candidate of a proposal. When it is repeated, the journal
// of calls has the answer, or the worker sends the question again with the same idempotency key.
func (a *activities) Ask(ctx context.Context, o Order) (out CallResult, err error) {
	var asked []evolve.Proposal
	if err := a.store.GetJSON(o.What, &asked); err != nil {
		return out, err
	}
	i, err := strconv.Atoi(o.More)
	if err != nil || i < 0 || i >= len(asked) {
		return out, fmt.Errorf("run %s: there is no proposal %q among %d", o.Run, o.More, len(asked))
	}
	_, err = a.carryOut(ctx, o.Run, phones, func(ctx context.Context, _ Stages) error {
		k := a.desks.sit(o.Run)
		defer a.desks.leave(k)
		over := a.desks.phone(k)
		if over == nil {
			return errStopped
		}
		defer over()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(k.calls, cancel)()
		err := a.ask(ctx, o.Run, k.stages, asked[i], &out)
		if err != nil && k.calls.Err() != nil {
			return errStopped
		}
		return err
	})
	return out, err
}

// ask makes a call and keeps its outcome for the search.
func (a *activities) ask(ctx context.Context, run string, s Stages, p evolve.Proposal, out *CallResult) error {
	got, err := s.Ask(ctx, run, p)
	if err != nil {
		return err
	}
	if err := a.store.Cache(askedKey(run, got.Proposal), got); err != nil {
		return err
	}
	used, err := s.Usage(ctx, run)
	if err != nil {
		return err
	}
	out.Reply = loop.ReplyOf(got)
	out.Reply.Unheard = tail.Short(out.Reply.Unheard, 500)
	out.Used, err = a.store.PutJSON(used)
	return err
}
