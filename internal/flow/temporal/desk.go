package temporal

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/internal/tail"
)

// Stages are the activities of a run, as [flow.Activities] has them.
type Stages interface {
	PrepareFor(ctx context.Context, run string, spec flow.Spec, m *beagle.Machine) (*flow.Prepared, error)
	Propose(ctx context.Context, run string, proposals []evolve.Proposal) ([]flow.ProposalOutcome, error)
	EvaluateShare(ctx context.Context, run string, batch, mine []string) (*flow.EvaluatedBatch, error)
	Confirm(ctx context.Context, run string, f flow.Field) ([]string, error)
	Prove(ctx context.Context, run string, f flow.Field, candidate string) (bool, error)
	Judge(ctx context.Context, run string, f flow.Field) (*flow.Conclusion, error)
	Report(ctx context.Context, run string, j *flow.Conclusion, log *flow.Log) (*beagle.Result, error)
	Receive(
		ctx context.Context, run string, p evolve.Proposal, v store.Submission,
	) (*flow.ProposalOutcome, *beagle.Verdict, error)
	Ask(ctx context.Context, run string, p evolve.Proposal) (*flow.Asked, error)
	Usage(ctx context.Context, run string) (*flow.ModelsEvent, error)
	Close()
}

// desks are the open sessions of a worker, one for each run, with the loaded target and the
// builder's files. It closes those of runs that it has not worked on for a while.
type desks struct {
	open func(watch flow.Watcher) Stages

	mu    sync.Mutex
	byRun map[string]*desk
}

type desk struct {
	stages Stages
	hub    hub
	users  int
	left   time.Time // when the last user left

	calls   context.Context // of calls that are made here
	hangUp  context.CancelFunc
	calling sync.WaitGroup
	called  bool // the journal of calls was opened here
	retired bool // another desk has taken its place
}

const (
	deskIdle = 10 * time.Minute
	maxIdle  = 4 // idle desks
)

// sit returns the desk of a run; leave must be called.
func (d *desks) sit(run string) *desk {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.byRun[run]
	if k == nil {
		k = new(desk)
		k.calls, k.hangUp = context.WithCancel(context.Background())
		k.stages = d.open(k.hub.tell)
		if d.byRun == nil {
			d.byRun = map[string]*desk{}
		}
		d.byRun[run] = k
	}
	k.users++
	return k
}

// leave ends a user's work at a desk, and closes desks that are idle for too long or too many.
func (d *desks) leave(k *desk) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k.users--
	k.left = time.Now()
	if k.retired {
		k.closeIfLeft()
		return
	}
	for idle := d.idleDesks(); len(idle) > 0; idle = d.idleDesks() {
		oldest := ""
		for _, run := range idle {
			if oldest == "" || d.byRun[run].left.Before(d.byRun[oldest].left) {
				oldest = run
			}
		}
		if len(idle) <= maxIdle && time.Since(d.byRun[oldest].left) < deskIdle {
			return
		}
		d.byRun[oldest].stages.Close()
		delete(d.byRun, oldest)
	}
}

// closeIfLeft closes a desk that no activity will use again.
func (k *desk) closeIfLeft() {
	if k.users == 0 {
		k.stages.Close()
	}
}

// refresh makes the next user of a run's desk read the journal of calls from the store, since
// another worker may have written to it. It waits for calls that this process still makes.
func (d *desks) refresh(run string) {
	d.mu.Lock()
	k := d.byRun[run]
	if k == nil || !k.called {
		d.mu.Unlock()
		return
	}
	delete(d.byRun, run)
	k.hangUp()
	d.mu.Unlock()
	k.calling.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	k.retired = true
	k.closeIfLeft()
}

// phone notes that a call is made at a desk; over must be called at its end. It is
// nil when no call is made there any more.
func (d *desks) phone(k *desk) (over func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k.calls.Err() != nil {
		return nil
	}
	k.called = true
	k.calling.Add(1)
	return k.calling.Done
}

func (d *desks) idleDesks() []string {
	var out []string
	for run, k := range d.byRun {
		if k.users == 0 {
			out = append(out, run)
		}
	}
	return out
}

func (d *desks) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range d.byRun {
		k.stages.Close()
	}
	d.byRun = nil
}

// A hub passes the messages of a run's stages to the activities that are at work on it.
type hub struct {
	mu    sync.Mutex
	notes map[*notes]bool
}

func (h *hub) tell(e flow.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := range h.notes {
		n.add(e)
	}
}

func (h *hub) listen() *notes {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.notes == nil {
		h.notes = map[*notes]bool{}
	}
	n := new(notes)
	h.notes[n] = true
	return n
}

func (h *hub) forget(n *notes) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.notes, n)
}

// notes are the messages of an activity so far.
type notes struct {
	mu     sync.Mutex
	events []flow.Event
	bytes  int
}

// maxNotes bounds what goes into a heartbeat.
const maxNotes = 3 << 10

func (n *notes) add(e flow.Event) {
	e.Warning = tail.Short(e.Warning, 600)
	text, _ := json.Marshal(e)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.bytes+len(text) > maxNotes {
		return
	}
	n.bytes += len(text)
	n.events = append(n.events, e)
}

func (n *notes) snapshot() []flow.Event {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]flow.Event(nil), n.events...)
}
