package temporal

import (
	"context"
	"fmt"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
)

// bookkeeping are the local activities: what decides how a run goes on. They
// may change freely, since their results are in the history.
type bookkeeping struct {
	store *store.Store
	keeper
}

// Begin starts the search, or finds it where it stood.
func (b *bookkeeping) Begin(_ context.Context, o Order) (Told, error) {
	p, err := b.begin(o.Run)
	if err != nil {
		return Told{}, err
	}
	defer b.give(o.Run, p)
	var ready flow.Prepared
	if err := b.load(o.Run, "prepared", &ready); err != nil {
		return Told{}, err
	}
	err = b.entry(o.Run, func(r *store.Run) { r.Target, r.Spec = ready.Target, ready.Spec })
	if err != nil {
		return Told{}, err
	}
	return b.told(o.Run, p)
}

// Draw takes what was made into the draft and draws what is missing.
func (b *bookkeeping) Draw(_ context.Context, d Draw) (Drawn, error) {
	p, err := b.take(d.Run, d.State)
	if err != nil {
		return Drawn{}, err
	}
	defer b.give(d.Run, p)
	draft, err := b.draft(p, d)
	if err != nil {
		return Drawn{}, err
	}
	var asked []evolve.Proposal
	if d.Round < flow.MaxRefills {
		if asked, err = b.ask(p, p.spec.Batch-len(draft.Made)); err != nil {
			return Drawn{}, err
		}
	}
	out := Drawn{State: p.state}
	if out.Draft, err = b.store.PutJSON(draft); err != nil {
		return out, err
	}
	if len(asked) > 0 {
		out.Asked, err = b.store.PutJSON(asked)
		return out, err
	}
	out.Shares, err = b.shares(d.Run, p, draft)
	return out, err
}

func (b *bookkeeping) draft(p *position, d Draw) (*flow.Draft, error) {
	draft := new(flow.Draft)
	if d.Made == "" {
		return draft, nil
	}
	var asked []evolve.Proposal
	var made []flow.Proposed
	for digest, v := range map[string]any{d.Draft: draft, d.Asked: &asked, d.Made: &made} {
		if err := b.store.GetJSON(digest, v); err != nil {
			return nil, err
		}
	}
	if len(made) != len(asked) {
		return nil, fmt.Errorf("run %s: %d proposals, of %d it is known what became of them", d.Run, len(asked), len(made))
	}
	draft.Take(p.c, asked, made)
	return draft, nil
}

// shares are the parts of a batch that islands take, without the empty ones.
func (b *bookkeeping) shares(run string, p *position, draft *flow.Draft) ([]Share, error) {
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
func (b *bookkeeping) Tell(_ context.Context, t Telling) (Told, error) {
	judged, err := b.settle(t)
	if err != nil {
		return Told{}, err
	}
	p, err := b.take(t.Run, t.State)
	if err != nil {
		return Told{}, err
	}
	defer b.give(t.Run, p)
	if err := b.tell(p, told{Draft: t.Draft, Judged: judged, Took: t.Took}); err != nil {
		return Told{}, err
	}
	return b.told(t.Run, p)
}

// settle joins the shares in the order of the draft.
func (b *bookkeeping) settle(t Telling) (string, error) {
	var draft flow.Draft
	if err := b.store.GetJSON(t.Draft, &draft); err != nil {
		return "", err
	}
	var all flow.Assessed
	by := map[string]flow.Evaluated{}
	for _, digest := range t.Assessed {
		var share flow.Assessed
		if err := b.store.GetJSON(digest, &share); err != nil {
			return "", err
		}
		for _, e := range share.Candidates {
			by[e.Candidate] = e
		}
		all.Cost.Add(share.Cost)
	}
	for _, id := range draft.Candidates() {
		e, ok := by[id]
		if !ok {
			return "", fmt.Errorf("run %s: no island has assessed candidate %s", t.Run, id)
		}
		all.Candidates = append(all.Candidates, e)
	}
	if err := flow.Settle(b.store, t.Run, all.Candidates); err != nil {
		return "", err
	}
	return b.store.PutJSON(all)
}

// told says where the search stands, and saves it for a run that is started
// again.
func (b *bookkeeping) told(run string, p *position) (Told, error) {
	event, err := b.store.PutJSON(p.c.Event(&p.spec))
	if err != nil {
		return Told{}, err
	}
	out := Told{State: p.state, Done: p.c.Done(), Seconds: p.c.Log.Seconds, Event: event}
	return out, b.store.Save(run, standing, Stand{State: p.state, Seconds: out.Seconds, Done: out.Done, Event: event})
}

// closing is what the report needs of the search.
type closing struct {
	Log flow.Log      `json:"log"`
	Sum beagle.Result `json:"sum"` // only what Course.Sum fills in
}

// Rank ends the search. Its IDs are the digests of a [flow.Field] and of a
// closing.
func (b *bookkeeping) Rank(_ context.Context, o Order) (Delivery, error) {
	p, err := b.take(o.Run, o.What) // for the last time
	if err != nil {
		return Delivery{}, err
	}
	field, err := b.store.PutJSON(p.c.Field())
	if err != nil {
		return Delivery{}, err
	}
	end := closing{Log: p.c.Log}
	p.c.Sum(&p.spec, &end.Sum, 0)
	left, err := b.store.PutJSON(end)
	return Delivery{IDs: []string{field, left}}, err
}

// Close notes that a run ended without a result.
func (b *bookkeeping) Close(_ context.Context, e Ending) error {
	b.drop(e.Run)
	return b.entry(e.Run, func(r *store.Run) {
		r.State, r.Note = store.Failed, e.Why
		if e.Canceled {
			r.State, r.Note = store.Canceled, ""
		}
	})
}

// entry changes a run's line in the index.
func (b *bookkeeping) entry(run string, change func(*store.Run)) error {
	var r store.Run
	if err := b.load(run, "run", &r); err != nil {
		return err
	}
	change(&r)
	r.Updated = time.Now()
	return b.store.SaveRun(r)
}
