package local

import (
	"context"
	"fmt"
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

// patience is how long the evaluator waits for models while the rules have
// used up their share. After that the rules go on with the models' share.
const patience = 15 * time.Second

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
