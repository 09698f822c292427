package local

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/beagle-go/beagle/internal/flow"
)

// A generation is a draft and its verdicts.
type generation struct {
	draft  *flow.Draft
	judged *flow.Assessed
	began  time.Time
}

// searchWithModels is the search of a run in which models write candidates
// too: calls run ahead of the evaluator, and what is there is evaluated.
func (r *run) searchWithModels(ctx context.Context) error {
	d := &desk{r: r, back: make(chan back), warned: map[string]int{}, mark: time.Now(), pace: time.Second}
	d.ctx, d.stop = context.WithCancel(ctx)
	defer d.end()
	var err error
	if d.turns, err = r.openTurns(); err != nil {
		return err
	}
	defer d.turns.close()
	d.relaunch()
	g, err := d.catchUp()
	for err == nil && (g != nil || !d.done()) {
		if g == nil {
			g, err = d.gather()
			continue
		}
		err, g = d.finish(g), nil
	}
	if err == nil {
		err = d.checkpoint(true)
	}
	return err
}

// gather puts the next generation together of what is there: replies first,
// and rules beside them. It waits when there is neither, and returns nil when
// something else happened that may end the search.
func (d *desk) gather() (*generation, error) {
	if err := d.sweep(); err != nil {
		return nil, err
	}
	if err := d.send(); err != nil {
		return nil, err
	}
	if err := d.linger(); err != nil {
		return nil, err
	}
	spec, s := &d.r.spec, d.r.course.Search
	b := &begun{Guests: d.r.inbox()}
	for _, a := range d.arrived[:min(len(d.arrived), spec.Batch)] {
		b.Arrived = append(b.Arrived, a.proposal.ID)
	}
	if !d.dry {
		b.Rules = min(s.Room(), spec.Batch-len(b.Arrived))
	}
	if len(b.Arrived)+len(b.Guests) == 0 && b.Rules == 0 {
		return nil, d.wait()
	}
	d.quiet = time.Time{}
	if err := d.turns.note(turn{Begin: b}); err != nil {
		return nil, err
	}
	return d.begin(b)
}

// begin makes the draft of a generation and has it evaluated, while replies go
// on arriving.
func (d *desk) begin(b *begun) (*generation, error) {
	g := &generation{draft: new(flow.Draft)}
	if err := d.r.welcome(d.ctx, g.draft, b.Guests); err != nil {
		return nil, err
	}
	// Not before they are welcomed: who asks for a verdict finds the version in
	// the inbox or has its fate.
	if err := d.r.dismiss(b.Guests); err != nil {
		return nil, err
	}
	for _, id := range b.Arrived {
		a, err := d.arrival(id)
		if err != nil {
			return nil, err
		}
		g.draft.TakeAsked(d.r.course, a.proposal, *a.asked)
	}
	written := len(g.draft.Made)
	if err := d.r.fill(d.ctx, g.draft, b.Rules); err != nil {
		return nil, err
	}
	d.dry = d.dry || b.Rules > 0 && len(g.draft.Made) == written
	g.began = time.Now()
	type verdicts struct {
		judged *flow.Assessed
		err    error
	}
	done := make(chan verdicts, 1)
	go func() {
		judged, err := d.r.acts.Evaluate(d.ctx, d.r.entry.ID, g.draft.Candidates())
		done <- verdicts{judged, err}
	}()
	if err := d.refill(); err != nil {
		d.stop()
		<-done
		return nil, err
	}
	for {
		select {
		case v := <-done:
			g.judged, g.draft.Judging = v.judged, time.Since(g.began)
			d.pace = g.draft.Judging
			return g, v.err
		case a := <-d.back:
			err := d.take(a)
			if err == nil {
				err = d.refill()
			}
			if err != nil {
				d.stop()
				<-done
				return nil, err
			}
		}
	}
}

// arrival takes the reply to a proposal out of those that arrived, and waits
// for it if need be: it was there when the run was at this turn before.
func (d *desk) arrival(id int) (back, error) {
	for {
		i := slices.IndexFunc(d.arrived, func(b back) bool { return b.proposal.ID == id })
		if i >= 0 {
			b := d.arrived[i]
			d.arrived = slices.Delete(d.arrived, i, i+1)
			return b, nil
		}
		if i = slices.IndexFunc(d.missing, func(b back) bool { return b.proposal.ID == id }); i >= 0 {
			return back{}, d.missing[i].err
		}
		if d.out == 0 {
			return back{}, fmt.Errorf("proposal %d of run %s was never asked", id, d.r.entry.ID)
		}
		select {
		case b := <-d.back:
			if err := d.take(b); err != nil {
				return back{}, err
			}
		case <-d.ctx.Done():
			return back{}, context.Cause(d.ctx)
		}
	}
}

// finish tells the search of a generation.
func (d *desk) finish(g *generation) error {
	x := &told{Took: time.Since(d.mark), Judging: g.draft.Judging, Judged: g.judged.Candidates}
	if err := d.turns.note(turn{Told: x}); err != nil {
		return err
	}
	return d.tell(g, x)
}

func (d *desk) tell(g *generation, x *told) error {
	c := d.r.course
	open, members := c.Search.Open(), len(c.Search.Members)
	g.draft.Judging = x.Judging
	log := c.Log
	if err := d.r.answer(g.draft, g.judged.Candidates); err != nil {
		return err
	}
	if err := c.Tell(&d.r.spec, g.draft, g.judged, x.Took); err != nil {
		return err
	}
	if d.turns.taken <= log.Turn {
		c.Log = log // it was saved, and the search that goes with it was not
	}
	d.mark = time.Now()
	if len(c.Search.Members) > members {
		d.dry = false // there is something new to start from
	}
	if open && !c.Search.Open() {
		d.r.d.Watch.Warn("the models do not answer, or bring nothing new any more" + d.then())
	}
	d.show()
	return d.checkpoint(false)
}

// catchUp takes the turns again that came after the checkpoint. It may end in
// the midst of a generation.
func (d *desk) catchUp() (*generation, error) {
	var g *generation
	for len(d.turns.again) > 0 {
		x, err := d.turns.next()
		if err != nil {
			return nil, err
		}
		switch {
		case x.Ask > 0:
			d.ask(x.Ask)
		case x.Begin != nil:
			g, err = d.begin(x.Begin)
		case x.Told != nil && g == nil:
			err = fmt.Errorf("run %s: its journal of turns tells of a generation that never began", d.r.entry.ID)
		case x.Told != nil:
			err = d.turns.keep(turn{Told: &told{Took: x.Told.Took, Judging: x.Told.Judging, Judged: g.judged.Candidates}})
			if err == nil {
				err = d.tell(g, x.Told)
			}
			g = nil
		case x.Lend > 0:
			d.r.course.Search.Lend(x.Lend)
		case x.Closed != "":
			d.close()
		case x.Dismissed != "":
			d.part(x.Dismissed)
		}
		if err != nil {
			return nil, err
		}
	}
	return g, nil
}

// checkpoint saves the course, and spends no more than a twentieth of the time
// on it: what came after the last one is in the journals.
func (d *desk) checkpoint(last bool) error {
	if !last && time.Since(d.saved) < 20*d.saving {
		return nil
	}
	start := time.Now()
	d.r.course.Log.Turn, d.r.course.Search.Mark = d.turns.taken, d.turns.taken
	err := d.r.checkpoint()
	d.saved = time.Now()
	d.saving = d.saved.Sub(start)
	return err
}

// show tells the watcher where the run stands.
func (d *desk) show() {
	if d.r.d.Watch == nil {
		return
	}
	e := d.r.course.Event(&d.r.spec)
	spent, err := d.r.acts.Used(d.ctx, d.r.entry.ID)
	if err == nil {
		e.Models = &flow.ModelsEvent{Spent: spent, Caps: d.r.spec.Models.Caps, InFlight: d.out}
	}
	d.r.d.Watch(flow.Event{Evaluated: e})
}
