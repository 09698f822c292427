package temporal

import (
	"context"
	"fmt"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/loop"
	"github.com/beagle-go/beagle/internal/store"
)

// localActivities decide how a run goes on. They may change freely, since their results are in the
// history.
type localActivities struct {
	store *store.Store
	keeper
}

// Begin starts the search, or finds it where it stood.
func (b *localActivities) Begin(_ context.Context, o Order) (TellReply, error) {
	p, err := b.begin(o.Run)
	if err != nil {
		return TellReply{}, err
	}
	defer b.give(o.Run, p)
	var ready flow.Prepared
	if err := b.load(o.Run, "prepared", &ready); err != nil {
		return TellReply{}, err
	}
	err = b.entry(o.Run, func(r *store.Run) { r.Target, r.Spec = ready.Target, ready.Spec })
	if err != nil {
		return TellReply{}, err
	}
	var stood RunState
	if _, err := b.store.Load(o.Run, lastStateName, &stood); err != nil {
		return TellReply{}, err
	}
	out, err := b.report(o.Run, p, TellOrder{})
	if err == nil && stood.State == p.state && stood.Draft != nil {
		out.Draft = stood.Draft
		err = b.stands(o.Run, p, stood)
	}
	return out, err
}

// Draw takes the made candidates into the draft and draws the missing ones. The first draw begins
// the draft with the guests; the engine must receive them before it asks the rules.
func (b *localActivities) Draw(_ context.Context, d Draw) (DrawReply, error) {
	p, err := b.take(d.Run, d.State)
	if err != nil {
		return DrawReply{}, err
	}
	defer b.give(d.Run, p)
	draft, err := b.draft(p, d)
	if err != nil {
		return DrawReply{}, err
	}
	var asked []evolve.Proposal
	if len(draft.Visits) == 0 {
		if asked, err = b.fill(p, d, draft); err != nil {
			return DrawReply{}, err
		}
	}
	return b.draftState(p, d, draft, asked)
}

// draftState returns how far a draft is. If models write, it also saves the draft, since their
// versions are paid for.
func (b *localActivities) draftState(
	p *position, d Draw, draft *flow.Draft, asked []evolve.Proposal,
) (out DrawReply, err error) {
	out = DrawReply{State: p.state, Outside: draft.Outside, Made: len(draft.Made), Standing: loop.StandingOf(&p.spec,
		p.c)}
	if out.Draft, err = b.store.PutJSON(draft); err != nil {
		return out, err
	}
	switch {
	case len(draft.Visits) > 0:
		out.Visits, err = b.store.PutJSON(draft.Visits)
	case len(asked) > 0:
		out.Asked, err = b.store.PutJSON(asked)
	default:
		out.Shares, err = b.shares(d.Run, p, draft)
	}
	if err == nil && p.spec.Models.On() {
		err = b.stands(d.Run, p, RunState{Draft: d.next(out)})
	}
	return out, err
}

// next returns the draw that goes on after another.
func (d Draw) next(after DrawReply) *Draw {
	next := Draw{Run: d.Run, State: after.State, Round: d.Round, Draft: after.Draft, Asked: after.Asked, Begin: d.Begin}
	if after.Visits == "" {
		next.Round++
	}
	return &next
}

// fill draws the missing candidates of the draft.
func (b *localActivities) fill(p *position, d Draw, draft *flow.Draft) ([]evolve.Proposal, error) {
	if draft.Full == 0 && d.Round == 0 {
		asked, rules, err := b.replies(d, p.spec.Batch)
		if err != nil {
			return nil, err
		}
		if err := p.c.Enter(d.Run, draft, asked, rules); err != nil {
			return nil, err
		}
	}
	trim := d.Begin != nil && d.Begin.Trim
	if draft.Full == 0 && d.Begin == nil { // a workflow of an earlier version began it
		draft.Full = p.spec.Batch
	}
	switch lack := draft.Lacks(d.Round, trim); {
	case d.Resumed:
		return nil, nil
	case lack.Trims:
		return b.trims(p)
	case lack.Drawn:
		return b.ask(p, lack.Rules)
	}
	return nil, nil
}

// replies returns the replies in a generation, and the proposals for the rules.
func (b *localActivities) replies(d Draw, batch int) (out []*flow.Asked, rules int, err error) {
	if d.Begin == nil {
		return nil, batch, nil
	}
	for _, id := range d.Begin.Arrived {
		a := new(flow.Asked)
		if !b.store.Cached(askedKey(d.Run, id), a) {
			return nil, 0, fmt.Errorf("run %s: the reply to proposal %d is not in the store", d.Run, id)
		}
		out = append(out, a)
	}
	return out, d.Begin.Rules, nil
}

// askedKey returns the key of a call's outcome in the store.
func askedKey(run string, proposal int) store.Key {
	return store.Key{Kind: "asked", Candidate: fmt.Sprint(proposal), Extra: run}
}

// draft returns the draft that a draw goes on with, or a new one.
func (b *localActivities) draft(p *position, d Draw) (*flow.Draft, error) {
	if d.Draft == "" {
		if d.Begin != nil && d.Begin.Trim {
			return p.c.Begin(nil), nil
		}
		guests, _ := flow.Guests(b.store, d.Run, p.c.Search) // visited says when they cannot be read
		draft := p.c.Begin(guests)
		if n := len(draft.Visits); n > 0 {
			return draft, b.step(p, &link{Invite: n})
		}
		return draft, nil
	}
	draft := new(flow.Draft)
	if err := b.store.GetJSON(d.Draft, draft); err != nil {
		return nil, err
	}
	if d.Received != "" {
		var received []flow.Received
		if err := b.store.GetJSON(d.Received, &received); err != nil {
			return nil, err
		}
		return draft, p.c.Admit(b.store, d.Run, draft, received)
	}
	if d.Made == "" {
		return draft, nil
	}
	var asked []evolve.Proposal
	var made []flow.ProposalOutcome
	for digest, v := range map[string]any{d.Asked: &asked, d.Made: &made} {
		if err := b.store.GetJSON(digest, v); err != nil {
			return nil, err
		}
	}
	if len(made) != len(asked) {
		return nil,
			fmt.Errorf("run %s: %d proposals, but %d outcomes", d.Run, len(asked), len(made))
	}
	draft.Take(p.c, asked, made)
	return draft, nil
}

// visited reports whether there are new hand-ins, or why that is unknown.
func (b *localActivities) visited(run string, p *position) (visited bool, deaf string) {
	waiting, err := flow.Guests(b.store, run, p.c.Search)
	if err != nil {
		deaf = err.Error()
	}
	return len(waiting) > 0, deaf
}

// shares returns the parts of a batch that islands take, without the empty ones.
func (b *localActivities) shares(run string, p *position, draft *flow.Draft) ([]Share, error) {
	var out []Share
	for island, mine := range draft.Shares(p.c.Search.Config.Islands) {
		if len(mine) == 0 {
			continue
		}
		digest, err := b.store.PutJSON(batch{All: draft.Candidates(), Mine: mine})
		if err != nil {
			return nil, err
		}
		out = append(out, Share{Run: run, Island: island, Batch: digest})
	}
	return out, nil
}

// Tell settles a generation and tells the search of it.
func (b *localActivities) Tell(_ context.Context, t TellOrder) (TellReply, error) {
	var draft flow.Draft
	if err := b.store.GetJSON(t.Draft, &draft); err != nil {
		return TellReply{}, err
	}
	all, evaluated, err := b.settle(t, &draft)
	if err != nil {
		return TellReply{}, err
	}
	p, err := b.take(t.Run, t.State)
	if err != nil {
		return TellReply{}, err
	}
	defer b.give(t.Run, p)
	if err := draft.Answer(b.store, t.Run, all); err != nil {
		return TellReply{}, err
	}
	if err := b.tell(p, tellLink{Draft: t.Draft, Evaluated: evaluated, Took: t.Took,
		Evaluating: t.Evaluating}); err != nil {
		return TellReply{}, err
	}
	out, err := b.report(t.Run, p, t)
	if err != nil {
		return out, err
	}
	// The search that took them must be saved first.
	if err := draft.Dismiss(b.store, t.Run); err != nil {
		return out, err
	}
	out.Visited, out.Deaf = b.visited(t.Run, p)
	return out, nil
}

// Act takes an action that is no part of a generation. Without one it looks into the inbox.
func (b *localActivities) Act(_ context.Context, t ActionOrder) (out ActionResult, err error) {
	p, err := b.take(t.Run, t.State)
	if err != nil {
		return out, err
	}
	defer b.give(t.Run, p)
	// Apply the action to the search, or list the proposals that are pending.
	var asked []evolve.Proposal
	switch {
	case t.Pending:
		asked = loop.Pending(p.c.Search)
	case t.Action != (loop.Action{}):
		if asked, err = b.act(p, t.Action); err != nil {
			return out, err
		}
		if t.Draft != nil {
			t.Draft.State = p.state
		}
		if err := b.stands(t.Run, p, RunState{Draft: t.Draft}); err != nil {
			return out, err
		}
	}
	// Say where the search stands and what it asks.
	out = ActionResult{
		State:    p.state,
		Standing: loop.StandingOf(&p.spec, p.c),
		Calls:    len(asked),
	}
	out.Visited, out.Deaf = b.visited(t.Run, p)
	if len(asked) > 0 {
		if out.Asked, err = b.store.PutJSON(asked); err != nil {
			return out, err
		}
	}
	out.Notes, err = b.notes(t.Says)
	return out, err
}

// notes stores events for followers of the run.
func (b *localActivities) notes(events []flow.Event) (string, error) {
	if len(events) == 0 {
		return "", nil
	}
	return b.store.PutJSON(events)
}

// settle joins the shares in the order of the draft.
func (b *localActivities) settle(t TellOrder, draft *flow.Draft) ([]flow.Evaluation, string, error) {
	var all flow.EvaluatedBatch
	by := map[string]flow.Evaluation{}
	for _, digest := range t.Evaluated {
		var share flow.EvaluatedBatch
		if err := b.store.GetJSON(digest, &share); err != nil {
			return nil, "", err
		}
		for _, e := range share.Candidates {
			by[e.Candidate] = e
		}
		all.Cost.Add(share.Cost)
	}
	for _, id := range draft.Candidates() {
		e, ok := by[id]
		if !ok {
			return nil, "", fmt.Errorf("run %s: no island has assessed candidate %s", t.Run, id)
		}
		all.Candidates = append(all.Candidates, e)
	}
	if err := flow.Settle(b.store, t.Run, all.Candidates); err != nil {
		return nil, "", err
	}
	digest, err := b.store.PutJSON(all)
	return all.Candidates, digest, err
}

// report returns where the search stands, and saves it for a run that is started again.
func (b *localActivities) report(run string, p *position, t TellOrder) (TellReply, error) {
	e := p.c.Event(&p.spec)
	if t.Used != "" {
		e.Models = new(flow.ModelsEvent)
		if err := b.store.GetJSON(t.Used, e.Models); err != nil {
			return TellReply{}, err
		}
		e.Models.InFlight = t.Calls
	}
	event, err := b.store.PutJSON(e)
	if err != nil {
		return TellReply{}, err
	}
	out := TellReply{
		State:    p.state,
		Done:     p.c.Done(),
		Seconds:  p.c.Log.Seconds,
		Event:    event,
		Standing: loop.StandingOf(&p.spec, p.c),
	}
	if out.Notes, err = b.notes(t.Says); err != nil {
		return out, err
	}
	return out, b.stands(run, p, RunState{Event: event})
}

// stands saves where the search stands, with the draft of the generation that is
// under way.
func (b *localActivities) stands(run string, p *position, s RunState) error {
	s.State, s.Seconds, s.Done, s.Standing = p.state, p.c.Log.Seconds, p.c.Done(), loop.StandingOf(&p.spec, p.c)
	return b.store.Save(run, lastStateName, s)
}

// reportInput is the search's part of the report.
type reportInput struct {
	Log flow.Log      `json:"log"`
	Sum beagle.Result `json:"sum"` // only what Course.Sum fills in

	Accounts map[string]evolve.Account `json:"books,omitempty"` // of the authors, where models write too
	Shut     bool                      `json:"shut,omitempty"`  // they were not asked any more in the end
}

// Rank ends the search. Its IDs are the digests of a [flow.Field] and of a
// reportInput.
func (b *localActivities) Rank(_ context.Context, o Order) (Delivery, error) {
	p, err := b.take(o.Run, o.What) // for the last time
	if err != nil {
		return Delivery{}, err
	}
	field, err := b.store.PutJSON(p.c.Field())
	if err != nil {
		return Delivery{}, err
	}
	if err := b.store.CloseInbox(o.Run); err != nil {
		return Delivery{}, err
	}
	end := reportInput{Log: p.c.Log, Accounts: p.c.Accounts(&p.spec), Shut: !p.c.Search.Open()}
	p.c.Sum(&p.spec, &end.Sum, 0)
	left, err := b.store.PutJSON(end)
	return Delivery{IDs: []string{field, left}}, err
}

// Close notes that a run ended without a result.
func (b *localActivities) Close(_ context.Context, e EndOrder) error {
	b.drop(e.Run)
	return b.entry(e.Run, func(r *store.Run) {
		r.State, r.Note = store.Failed, e.Why
		if e.Canceled {
			r.State, r.Note = store.Canceled, ""
		}
	})
}

// entry changes a run's line in the index.
func (b *localActivities) entry(run string, change func(*store.Run)) error {
	var r store.Run
	if err := b.load(run, "run", &r); err != nil {
		return err
	}
	change(&r)
	r.Updated = time.Now()
	return b.store.SaveRun(r)
}
