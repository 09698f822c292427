package temporal

import (
	"strconv"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/loop"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/internal/tail"
)

// An engine carries out the decisions of a search's loop, as steps of a Run workflow. Only local
// activities touch the search.
type engine struct {
	*runner
	ctx         workflow.Context
	working     workflow.Context // of calls and islands, which end with the search
	hangUp      workflow.CancelFunc
	events      workflow.Channel // of happened
	block       int              // generations that this history may hold
	generations int              // generations that it holds

	drawing   Draw // the last draw
	drawn     DrawReply
	made      string   // digest of the candidates that were made of the last draw
	received  string   // digest of the outcomes of guests
	busy      bool     // islands are at work
	evaluated []string // digests of flow.EvaluatedBatch

	calls     int    // under way
	enlisting bool   // a worker is looked for that makes them
	used      string // digest of a flow.ModelsEvent
	says      []flow.Event
	deaf      bool // the inbox cannot be read, and the watcher knows
}

// A wakeup is an event that a coroutine waited for.
type wakeup struct {
	reply     *loop.Reply
	used      string
	evaluated []string
	err       error
}

func newEngine(ctx workflow.Context, r *runner) *engine {
	e := &engine{runner: r, ctx: ctx, block: r.task.Block, events: workflow.NewBufferedChannel(ctx, calls)}
	if e.block == 0 {
		e.block = defaultBlock
	}
	e.working, e.hangUp = workflow.WithCancel(ctx)
	return e
}

func (e *engine) Now() time.Time { return workflow.Now(e.ctx) }

func (e *engine) Enough() bool {
	e.heed()
	return e.RunState.Enough
}

// Pause reports whether this history is long enough.
func (e *engine) Pause() bool {
	return e.generations > 0 && (e.generations >= e.block || workflow.GetInfo(e.ctx).GetContinueAsNewSuggested())
}

// doorEvery is the time between a waiting search's looks into its inbox.
const doorEvery = 2 * time.Second

// Await waits for a call or for the islands, and, with a door, for guests.
func (e *engine) Await(most time.Duration, door bool) (loop.Wakeup, error) {
	var h wakeup
	if most < 0 {
		e.events.Receive(e.ctx, &h)
		return e.nextWakeup(h)
	}
	// Wait in stretches. After each, look for guests at the door.
	for {
		if e.events.ReceiveAsync(&h) {
			return e.nextWakeup(h)
		}
		if most <= 0 {
			return loop.Wakeup{}, nil
		}
		wait := most
		if door {
			wait = min(wait, doorEvery)
		}
		got, err := e.waitFor(wait, &h)
		if err != nil {
			return loop.Wakeup{}, err
		}
		if got {
			return e.nextWakeup(h)
		}
		if most -= wait; !door {
			continue
		}
		if _, err := e.act(ActionOrder{}); err != nil || e.RunState.Visited {
			return loop.Wakeup{Visited: err == nil}, err
		}
	}
}

// waitFor waits for an event, for this long.
func (e *engine) waitFor(wait time.Duration, h *wakeup) (got bool, err error) {
	ctx, cancel := workflow.WithCancel(e.ctx)
	defer cancel()
	s := workflow.NewSelector(ctx)
	s.AddReceive(e.events, func(c workflow.ReceiveChannel, _ bool) {
		c.Receive(ctx, h)
		got = true
	})
	s.AddFuture(workflow.NewTimer(ctx, wait), func(f workflow.Future) { err = f.Get(ctx, nil) })
	s.Select(ctx)
	return got, err
}

// nextWakeup returns the next event.
func (e *engine) nextWakeup(h wakeup) (loop.Wakeup, error) {
	if h.reply == nil {
		e.busy, e.evaluated = false, h.evaluated
		return loop.Wakeup{Evaluated: h.err == nil}, h.err
	}
	e.calls--
	if h.used != "" {
		e.used = h.used
	}
	h.reply.Err = h.err
	return loop.Wakeup{Reply: h.reply}, nil
}

// End stops the calls and islands that are under way, and waits for them.
func (e *engine) End(int) {
	e.hangUp()
	for e.calls > 0 || e.busy {
		var h wakeup
		e.events.Receive(e.ctx, &h)
		_, _ = e.nextWakeup(h) // calls that end now come too late
	}
}

// Behind reports whether a generation was under way when the run was stopped.
func (e *engine) Behind() bool { return e.Draft != nil }

// NextAction goes on with that generation; see Draw.
func (e *engine) NextAction() (loop.Action, error) {
	return loop.Action{Begin: new(loop.GenerationParts)}, nil
}

// Note and Keep have nothing to do: the history is the journal.
func (e *engine) Note(loop.Action) error { return nil }
func (e *engine) Keep(bool) error        { return nil }

func (e *engine) Standing() loop.Standing {
	s := e.RunState.Standing
	s.Done, s.Seconds = e.Done, e.Seconds
	return s
}

func (e *engine) Visited() bool { return e.RunState.Visited }

// Guests returns none: Draw takes them.
func (e *engine) Guests() []store.Submission { return nil }

// Take takes an action that is no part of a generation.
func (e *engine) Take(x loop.Action) (calls int, err error) { return e.act(ActionOrder{Action: x}) }

// Relaunch begins the calls again that the search waits for: of those that
// ended, the answers are in the journal.
func (e *engine) Relaunch() (calls int, err error) {
	if e.task.Limits.Terms.InFlight == 0 {
		return 0, nil
	}
	return e.act(ActionOrder{Pending: true})
}

// act has the search take an action, and launches the calls that it asks for.
func (e *engine) act(t ActionOrder) (calls int, err error) {
	t.Run, t.State, t.Says = e.task.Run, e.State, e.says
	if e.busy {
		t.Draft = e.draft()
	}
	var out ActionResult
	if err := locally(e.ctx, actLocal, t, &out); err != nil {
		return 0, err
	}
	e.says = nil
	e.State, e.RunState.Standing, e.Done, e.RunState.Visited = out.State, out.Standing, out.Standing.Done, out.Visited
	if e.busy {
		e.drawn.State = out.State
	}
	e.hear(out.Deaf)
	e.note(out.Notes)
	for i := range out.Calls {
		e.launch(out.Asked, i)
	}
	return out.Calls, nil
}

// Draw begins a draft, or goes on with the one that was under way when the run
// was stopped.
func (e *engine) Draw(b *loop.GenerationParts, _ []loop.Reply) (loop.DraftProgress, error) {
	d := Draw{Run: e.task.Run, State: e.State}
	if was := e.Draft; was != nil {
		e.Draft = nil
		e.drawing = *was
		e.drawing.Round-- // it is the draw that comes next
		if was.Asked != "" {
			e.drawn = DrawReply{State: was.State, Draft: was.Draft, Asked: was.Asked}
			return loop.DraftProgress{More: true}, nil
		}
		d, d.Resumed = *was, true
	} else if b.Trim && workflow.GetVersion(e.ctx, "trim", workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return loop.DraftProgress{}, nil // a history of an earlier version
	} else if b.Trim || e.task.Limits.Terms.InFlight > 0 {
		d.Begin = b
	}
	return e.draw(d)
}

// draw takes a step of the draft.
func (e *engine) draw(d Draw) (loop.DraftProgress, error) {
	var out DrawReply
	if err := locally(e.ctx, drawLocal, d, &out); err != nil {
		return loop.DraftProgress{}, err
	}
	e.drawing, e.drawn, e.State = d, out, out.State
	e.RunState.Standing = out.Standing
	return loop.DraftProgress{More: out.Visits != "" || out.Asked != "", Outside: out.Outside, Made: out.Made}, nil
}

// Make has guests received, or the drawn proposals made.
func (e *engine) Make() error {
	e.made, e.received = "", ""
	if e.drawn.Visits != "" {
		got, err := e.runActivity(e.ctx, llmQueue, grace, receiveActivity, Order{Run: e.task.Run, What: e.drawn.Visits})
		e.received = got.What
		return err
	}
	got, err := e.runActivity(e.ctx, llmQueue, grace, proposeActivity, Order{Run: e.task.Run, What: e.drawn.Asked})
	e.made = got.What
	return err
}

// Redraw takes the new candidates into the draft.
func (e *engine) Redraw() (loop.DraftProgress, error) {
	next := *e.draft()
	next.Made, next.Received = e.made, e.received
	return e.draw(next)
}

// draft returns the draw that goes on with the draft.
func (e *engine) draft() *Draw { return e.drawing.next(e.drawn) }

// Evaluate has the islands evaluate the draft.
func (e *engine) Evaluate() error {
	shares := e.drawn.Shares
	working, hangUp := workflow.WithCancel(e.working)
	islands := e.begin(working, shares)
	e.busy = true
	workflow.Go(working, func(ctx workflow.Context) {
		got, err := evaluatedShares(ctx, shares, islands, hangUp)
		e.events.Send(ctx, wakeup{evaluated: got, err: err})
	})
	return nil
}

// Tell tells the search of the verdicts.
func (e *engine) Tell(t loop.Telling, _ bool) error {
	in := TellOrder{
		Run: e.task.Run, State: e.drawn.State, Draft: e.drawn.Draft, Evaluated: e.evaluated, Took: t.Took,
		Evaluating: t.Evaluating, Used: e.used, Calls: e.calls, Says: e.says,
	}
	var out TellReply
	if err := locally(e.ctx, tellLocal, in, &out); err != nil {
		return err
	}
	e.says = nil
	e.hear(out.Deaf)
	e.generations++
	e.stand(out)
	return nil
}

// hear says once that the inbox cannot be read.
func (e *engine) hear(deaf string) {
	if deaf != "" && !e.deaf {
		e.Warn(deaf)
	}
	e.deaf = deaf != ""
}

// Show has nothing to do: a generation's event is its news.
func (e *engine) Show(int) {}

// Warn and Say keep messages until a step can write them down.
func (e *engine) Warn(text string) { e.keep(flow.Event{Warning: tail.Short(text, 600)}) }
func (e *engine) Say(text string) {
	e.keep(flow.Event{Stage: &flow.StageEvent{Name: "models", Detail: tail.Short(text, 600), Over: true}})
}

func (e *engine) keep(what flow.Event) {
	const most = 4 // of a few hundred bytes each: histories hold small payloads only
	if len(e.says) < most {
		e.says = append(e.says, what)
	}
}

// launch begins a call.
func (e *engine) launch(list string, i int) {
	e.calls++
	workflow.Go(e.working, func(ctx workflow.Context) {
		got, err := e.ask(ctx, Order{Run: e.task.Run, What: list, More: strconv.Itoa(i)})
		e.events.Send(ctx, wakeup{reply: &got.Reply, used: got.Used, err: err})
	})
}
