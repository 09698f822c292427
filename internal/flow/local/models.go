package local

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/flow"
)

// A desk keeps calls to models under way while the evaluator works. The search
// itself is touched by one goroutine only; the others wait for models.
type desk struct {
	r       *run
	ctx     context.Context
	stop    context.CancelFunc
	turns   *turns
	back    chan back     // calls that ended
	out     int           // calls under way
	arrived []back        // ended and not evaluated, in order of arrival
	missing []back        // of a replay, those that are not in its recording
	mark    time.Time     // end of the last generation
	pace    time.Duration // that the last generation took to judge
	quiet   time.Time     // since when the evaluator has had nothing to do; zero while it has
	dry     bool          // the rules had no new idea when they were last asked
	warned  map[string]int
	saved   time.Time     // end of the last checkpoint
	saving  time.Duration // what it took
}

// A back is a call that ended.
type back struct {
	proposal evolve.Proposal
	asked    *flow.Asked
	err      error
}

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

func (d *desk) done() bool { return d.r.course.Done() || d.timeLeft() <= 0 }

// timeLeft is what is left of the time for searching.
func (d *desk) timeLeft() time.Duration {
	if d.r.spec.Time == 0 {
		return time.Hour
	}
	return d.r.spec.Time - time.Duration(d.r.course.Log.Seconds*float64(time.Second)) - time.Since(d.mark)
}

// end stops the calls that are under way and waits for them.
func (d *desk) end() {
	d.stop()
	for ; d.out > 0; d.out-- {
		<-d.back
	}
}

// launch starts the call of a proposal.
func (d *desk) launch(p evolve.Proposal) {
	d.out++
	go func() {
		asked, err := d.r.acts.Ask(d.ctx, d.r.entry.ID, p)
		d.back <- back{p, asked, err}
	}()
}

// relaunch asks again for what was pending at the checkpoint: replies that
// arrived are in the journal.
func (d *desk) relaunch() {
	for _, p := range d.r.course.Search.Pending {
		if p.Kind == evolve.Model {
			d.launch(p)
		}
	}
}

// take files a call that ended.
func (d *desk) take(b back) error {
	d.out--
	switch {
	case b.err != nil && d.r.spec.Models.Replay != "":
		// The recorded run may not have heard of this one either: an error only if
		// its turns want it.
		d.missing = append(d.missing, b)
		return nil
	case b.err != nil:
		return b.err
	}
	d.arrived = append(d.arrived, b)
	if b.asked.Untold && d.r.spec.Models.Caps.Tokens > 0 {
		d.once("the agent " + b.asked.Model + " does not say how many tokens it uses: --budget-tokens cannot hold for it")
	}
	switch {
	case b.asked.Spent:
		return d.dismiss(b.asked.Model)
	case b.asked.Unheard != "":
		d.warn(b.asked.Model, b.asked.Unheard)
	}
	return nil
}

// warn tells of a model that does not answer, not every time.
func (d *desk) warn(model, why string) {
	n := d.warned[model]
	if d.warned[model]++; n%10 == 0 {
		d.r.d.Watch.Warn(fmt.Sprintf("model %s did not answer: %s; the search goes on without", model, why))
	}
}

// once tells of something the first time that it happens.
func (d *desk) once(what string) {
	if d.warned[what]++; d.warned[what] == 1 {
		d.r.d.Watch.Warn(what)
	}
}

// dismiss ends the asking of a model whose next call the budget does not cover.
// Cheaper ones go on; when none is left, models are not asked any more.
func (d *desk) dismiss(model string) error {
	s := d.r.course.Search
	if !s.Open() || d.dismissed(model) || len(d.turns.again) > 0 {
		return nil // it was told, or what is taken again tells when
	}
	if err := d.turns.note(turn{Dismissed: model}); err != nil {
		return err
	}
	if d.part(model); !s.Open() {
		d.r.d.Watch.Warn("the budget for models is used up" + d.then())
		return nil
	}
	d.r.d.Watch.Warn(outOfBudget + model + ": the search goes on with the others")
	return nil
}

const outOfBudget = "the budget does not cover another call of "

// dismissed reports whether a model is not asked any more.
func (d *desk) dismissed(model string) bool {
	for _, a := range d.r.spec.Models.Authors() {
		if a.Model == model && !d.r.course.Search.Book(a.Name).Dismissed {
			return false
		}
	}
	return true
}

// part takes leave of a model.
func (d *desk) part(model string) {
	if d.r.course.Search.Dismiss(model); !d.r.course.Search.Open() {
		d.dry = false
	}
}

// shut ends the asking of models.
func (d *desk) shut(why string) error {
	s := d.r.course.Search
	if !s.Open() || len(d.turns.again) > 0 {
		return nil // it is closed, or what is taken again tells when
	}
	d.r.d.Watch.Warn(why + d.then())
	if err := d.turns.note(turn{Closed: why}); err != nil {
		return err
	}
	d.close()
	return nil
}

// then says what becomes of the search without models.
func (d *desk) then() string {
	if d.r.spec.Models.NoRules {
		return ": the search ends"
	}
	return ": the search goes on with rules"
}

// close gives the rules what was kept for the models.
func (d *desk) close() {
	d.r.course.Search.Close()
	d.dry = false
}

// send keeps as many calls under way as are allowed, unless the evaluator is
// far behind.
func (d *desk) send() error {
	spec := &d.r.spec
	n := spec.Models.InFlight - d.out
	if n <= 0 || len(d.arrived) >= max(spec.Batch, spec.Models.InFlight) || !d.r.course.Search.CanCommission() || d.timeLeft() <= 0 {
		return nil
	}
	if err := d.turns.note(turn{Ask: n}); err != nil {
		return err
	}
	d.ask(n)
	return nil
}

// refill sends while a generation is being evaluated: it has taken replies, and
// so made room. What is taken again tells by itself when.
func (d *desk) refill() error {
	if len(d.turns.again) > 0 {
		return nil
	}
	return d.send()
}

func (d *desk) ask(n int) {
	for _, p := range d.r.course.Search.AskModels(n) {
		d.launch(p)
	}
}

// patience is how long the evaluator waits for models while the rules have
// used up their share. After that the rules go on with the models' share.
const patience = 15 * time.Second

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
	if err := d.r.dismiss(b.Guests); err != nil {
		return nil, err
	}
	return d.begin(b)
}

// linger waits a moment for replies that come together with the first: a
// generation of few costs about as much as one of many.
func (d *desk) linger() error {
	const share, most = 20, 50 * time.Millisecond // of the last generation's time
	if len(d.arrived) == 0 {
		return nil
	}
	end := time.NewTimer(min(d.pace/share, most))
	defer end.Stop()
	for d.out > 0 && len(d.arrived) < d.r.spec.Batch {
		select {
		case b := <-d.back:
			if err := d.take(b); err != nil {
				return err
			}
		case <-end.C:
			return nil
		case <-d.ctx.Done():
			return context.Cause(d.ctx)
		}
	}
	return nil
}

// wait waits for a reply, and for no longer than the rules can bear.
func (d *desk) wait() error {
	s := d.r.course.Search
	if d.out == 0 && s.Open() {
		return d.shut("no model can be asked any more")
	}
	if d.out == 0 {
		s.Finish()
		return nil
	}
	if d.quiet.IsZero() {
		d.quiet = time.Now()
	}
	d.show()
	left := time.NewTimer(max(0, min(patience-time.Since(d.quiet), d.timeLeft())))
	defer left.Stop()
	door := time.NewTicker(200 * time.Millisecond) // an agent may wait for the verdict before its turn ends
	defer door.Stop()
	for {
		select {
		case b := <-d.back:
			return d.take(b)
		case <-door.C:
			if d.r.visited() {
				return nil
			}
		case <-left.C:
			return d.lend()
		case <-d.ctx.Done():
			return context.Cause(d.ctx)
		}
	}
}

// lend gives the rules a batch of the models' share.
func (d *desk) lend() error {
	n := d.r.spec.Batch
	d.quiet = time.Now()
	if d.dry || d.r.spec.Models.NoRules {
		return nil // they have no use for it
	}
	if err := d.turns.note(turn{Lend: n}); err != nil {
		return err
	}
	d.r.course.Search.Lend(n)
	return nil
}

// sweep files what has ended in the meantime, without waiting.
func (d *desk) sweep() error {
	for {
		select {
		case b := <-d.back:
			if err := d.take(b); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// begin makes the draft of a generation and has it evaluated, while replies go
// on arriving.
func (d *desk) begin(b *begun) (*generation, error) {
	g := &generation{draft: new(flow.Draft)}
	if err := d.r.welcome(d.ctx, g.draft, b.Guests); err != nil {
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
