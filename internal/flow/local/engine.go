package local

import (
	"context"
	"fmt"
	"time"

	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/loop"
	"github.com/beagle-go/beagle/internal/store"
)

// An engine carries out the decisions of a search's loop in this process. Only one goroutine
// touches the search itself; others wait for models and for the evaluation.
type engine struct {
	r           *run
	ctx         context.Context
	stop        context.CancelFunc
	actions     *actions
	back        chan loop.Reply // calls that ended
	checkpoints *checkpointer

	draft    *flow.Draft
	replies  []*flow.Asked         // that the draft is to take
	begun    *loop.GenerationParts // its parts
	received []flow.Received
	asked    []evolve.Proposal // drawn, and made next
	made     []flow.ProposalOutcome
	rounds   int

	evaluating chan verdicts // nil while nothing is evaluated
	evaluated  *flow.EvaluatedBatch
}

// verdicts are the result of evaluating a draft.
type verdicts struct {
	evaluated *flow.EvaluatedBatch
	err       error
}

// search carries the search to its end.
func (r *run) search(ctx context.Context) error {
	e := &engine{r: r, back: make(chan loop.Reply), checkpoints: &r.checkpoints}
	e.ctx, e.stop = context.WithCancel(ctx)
	defer e.stop()
	var err error
	if e.actions, err = r.openActions(); err != nil {
		return err
	}
	defer e.actions.close()
	defer r.checkpoints.await() // it syncs the journal
	terms := loop.TermsOf(&r.spec)
	terms.Linger = 50 * time.Millisecond
	_, err = loop.Run(e, terms)
	return err
}

func (e *engine) Now() time.Time { return time.Now() }
func (e *engine) Enough() bool   { return false }
func (e *engine) Pause() bool    { return false }

// Await waits for a call, for the evaluation, and, with a door, for guests.
func (e *engine) Await(most time.Duration, door bool) (loop.Wakeup, error) {
	var end, look <-chan time.Time
	if most >= 0 {
		left := time.NewTimer(most)
		defer left.Stop()
		end = left.C
	}
	if door {
		often := time.NewTicker(200 * time.Millisecond) // an agent may wait for the verdict before its turn ends
		defer often.Stop()
		look = often.C
	}
	for {
		select {
		case v := <-e.evaluating:
			e.evaluated, e.evaluating = v.evaluated, nil
			return loop.Wakeup{Evaluated: true}, v.err
		case b := <-e.back:
			return loop.Wakeup{Reply: &b}, nil
		case <-look:
			if e.Visited() {
				return loop.Wakeup{Visited: true}, nil
			}
		case <-end:
			return e.poll()
		case <-e.ctx.Done():
			return loop.Wakeup{}, context.Cause(e.ctx)
		}
	}
}

// poll returns what has happened already, if anything has.
func (e *engine) poll() (loop.Wakeup, error) {
	select {
	case b := <-e.back:
		return loop.Wakeup{Reply: &b}, nil
	default:
		return loop.Wakeup{}, nil
	}
}

// End stops the evaluation and the calls that are under way, and waits for them.
func (e *engine) End(calls int) {
	e.stop()
	for ; calls > 0; calls-- {
		<-e.back
	}
	if e.evaluating != nil {
		<-e.evaluating
	}
}

func (e *engine) Standing() loop.Standing { return loop.StandingOf(&e.r.spec, e.r.course) }

func (e *engine) Behind() bool                     { return len(e.actions.pending) > 0 }
func (e *engine) NextAction() (loop.Action, error) { return e.actions.next() }
func (e *engine) Note(x loop.Action) error         { return e.actions.note(x) }

// Take takes an action that is no part of a generation.
func (e *engine) Take(x loop.Action) (calls int, err error) {
	return e.launch(loop.Apply(e.r.course.Search, x)), nil
}

// Relaunch sends the calls again that were pending at the checkpoint. Replies that arrived since
// are in the journal.
func (e *engine) Relaunch() (calls int, err error) {
	return e.launch(loop.Pending(e.r.course.Search)), nil
}

// launch starts the calls of proposals.
func (e *engine) launch(list []evolve.Proposal) (calls int) {
	for _, p := range list {
		go func() {
			asked, err := e.r.acts.Ask(e.ctx, e.r.entry.ID, p)
			if err != nil {
				e.back <- loop.Reply{Proposal: p.ID, Model: p.Model, Err: err}
				return
			}
			e.back <- loop.ReplyOf(asked)
		}()
	}
	return len(list)
}

// Visited reports whether the inbox holds a version that the search can take.
func (e *engine) Visited() bool { return len(e.r.guests()) > 0 }

// Guests returns the versions in the inbox.
func (e *engine) Guests() []store.Submission { return e.r.guests() }

// Draw begins a draft.
func (e *engine) Draw(b *loop.GenerationParts, replies []loop.Reply) (loop.DraftProgress, error) {
	e.draft, e.begun, e.rounds = e.r.course.Begin(b.Guests), b, 0
	e.replies, e.asked = nil, nil
	for _, r := range replies {
		e.replies = append(e.replies, r.Asked)
	}
	if len(e.draft.Visits) > 0 {
		return loop.DraftProgress{More: true}, nil
	}
	return e.drawRules()
}

// Make receives guests, or has the rules make the drawn proposals.
func (e *engine) Make() (err error) {
	if len(e.draft.Visits) == 0 {
		e.made, err = e.r.acts.Propose(e.ctx, e.r.entry.ID, e.asked)
		return err
	}
	e.received = nil
	for _, v := range e.draft.Visits {
		made, refused, err := e.r.acts.Receive(e.ctx, e.r.entry.ID, v.Proposal, v.Submission)
		if err != nil {
			return err
		}
		e.received = append(e.received, flow.Received{ProposalOutcome: *made, Refusal: refused})
	}
	return nil
}

// Redraw takes the new candidates into the draft.
func (e *engine) Redraw() (loop.DraftProgress, error) {
	if len(e.draft.Visits) == 0 {
		e.draft.Take(e.r.course, e.asked, e.made)
		return e.drawRules()
	}
	home, run := e.r.d.Store, e.r.entry.ID
	if err := e.r.course.Admit(home, run, e.draft, e.received); err != nil {
		return loop.DraftProgress{}, err
	}
	return e.drawRules()
}

// drawRules draws proposals of the rules for the candidates that the draft lacks.
func (e *engine) drawRules() (loop.DraftProgress, error) {
	if e.rounds == 0 {
		if err := e.r.course.Enter(e.r.entry.ID, e.draft, e.replies, e.begun.Rules); err != nil {
			return loop.DraftProgress{}, err
		}
	}
	lack := e.draft.Lacks(e.rounds, e.begun.Trim)
	e.asked = e.r.course.Ask(lack)
	if n := len(e.asked); n > 0 && lack.Trims {
		e.r.d.Watch.Stage("trim",
			fmt.Sprintf("versions that leave out steps of the best, or join steps that gain: %d", n))
	}
	e.rounds++
	return loop.DraftProgress{More: len(e.asked) > 0, Outside: e.draft.Outside, Made: len(e.draft.Made)}, nil
}

// Evaluate begins to evaluate the draft.
func (e *engine) Evaluate() error {
	done, ids := make(chan verdicts, 1), e.draft.Candidates()
	e.evaluating = done
	foresee := e.foresee
	if e.r.spec.Models.On() { // replies change the search while it is evaluated
		foresee = nil
	}
	go func() {
		evaluated, err := e.r.acts.Evaluate(e.ctx, e.r.entry.ID, ids, foresee)
		done <- verdicts{evaluated, err}
	}()
	return nil
}

// foresee returns the course after likely verdicts on the draft under evaluation. Nothing changes
// the search meanwhile.
func (e *engine) foresee(likely []flow.Evaluation) (next *flow.Course, trim bool) {
	next, err := e.r.course.Foreseen(&e.r.spec, e.draft, likely)
	if err != nil {
		return nil, false
	}
	return next, e.begun.Trim || next.Done()
}

// Tell tells the search of the verdicts.
func (e *engine) Tell(t loop.Telling, again bool) error {
	t.Evaluated = e.evaluated.Candidates
	write := e.actions.note
	if again {
		write = e.actions.addToRecording
	}
	if err := write(loop.Action{Telling: &t}); err != nil {
		return err
	}
	c := e.r.course
	log := c.Log
	e.draft.Evaluating = t.Evaluating
	if err := e.draft.Answer(e.r.d.Store, e.r.entry.ID, e.evaluated.Candidates); err != nil {
		return err
	}
	if err := c.Tell(&e.r.spec, e.draft, e.evaluated, t.Took); err != nil {
		return err
	}
	if e.actions.taken <= log.Actions {
		c.Log = log // it was saved, and the search that goes with it was not
	}
	// Only after they have their fate: a client finds a version in the inbox or its fate, at any
	// time, and the same text handed in again counts once.
	return e.draft.Dismiss(e.r.d.Store, e.r.entry.ID)
}

// Keep saves the course.
func (e *engine) Keep(last bool) error {
	c := e.r.course
	c.Log.Actions, c.Search.Mark = e.actions.taken, e.actions.taken
	return e.checkpoints.saveIfDue(c, e.actions.journal, last)
}

// Show tells the watcher where the run stands.
func (e *engine) Show(calls int) {
	r := e.r
	if r.d.Watch == nil {
		return
	}
	event := r.course.Event(&r.spec)
	if r.spec.Models.On() {
		if spent, err := r.acts.Used(e.ctx, r.entry.ID); err == nil {
			event.Models = &flow.ModelsEvent{Spent: spent, Caps: r.spec.Models.Caps, InFlight: calls}
		}
	}
	r.d.Watch(flow.Event{Evaluated: event})
}

func (e *engine) Warn(text string) { e.r.d.Watch.Warn(text) }
func (e *engine) Say(text string)  { e.r.d.Watch.Note("models", text) }

// guests returns the versions that wait in the run's inbox.
func (r *run) guests() []store.Submission {
	waiting, err := flow.Guests(r.d.Store, r.entry.ID, r.course.Search)
	if err != nil && !r.deaf { // a search that waits for an agent looks several times a second
		r.d.Watch.Warn(err.Error())
	}
	r.deaf = err != nil
	return waiting
}
