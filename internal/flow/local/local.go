// Package local drives a run in this process. It carries out the decisions of package loop, with
// a journal of the search's actions and a checkpoint now and then. It needs no server. Killed at
// any moment, a run resumes from the last checkpoint and repeats the actions after it; the store
// has the verdicts that were made by then.
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
)

// A Driver runs searches with one store.
type Driver struct {
	Store *store.Store
	Watch flow.Watcher
	ID    string // of the run that Start begins; a new one by default

	wrap func(*flow.Activities) activities // tests put an evaluator of known speed in
}

// activities are the steps of a run, as the driver needs them.
type activities interface {
	Prepare(ctx context.Context, run string, spec flow.Spec) (*flow.Prepared, error)
	Propose(ctx context.Context, run string, proposals []evolve.Proposal) ([]flow.ProposalOutcome, error)
	Ask(ctx context.Context, run string, p evolve.Proposal) (*flow.Asked, error)
	Receive(
		ctx context.Context, run string, p evolve.Proposal, v store.Submission,
	) (*flow.ProposalOutcome, *beagle.Verdict, error)
	Evaluate(ctx context.Context, run string, ids []string, foresee flow.Foresee) (*flow.EvaluatedBatch, error)
	Judge(ctx context.Context, run string, f flow.Field) (*flow.Conclusion, error)
	Report(ctx context.Context, run string, j *flow.Conclusion, log *flow.Log) (*beagle.Result, error)
	StartFrom(ctx context.Context, run string, p flow.Prepared) (*flow.Prepared, error)
	Adopt(ctx context.Context, run string, evaluated []flow.Evaluation) error
	Used(ctx context.Context, run string) (llm.Spent, error)
	Machine(run string) beagle.Machine
	Close()
}

func (d *Driver) activities() activities {
	acts := &flow.Activities{Store: d.Store, Watch: d.Watch, Preview: true}
	if d.wrap != nil {
		return d.wrap(acts)
	}
	return acts
}

// Interrupted says that a run was stopped and can be resumed. Without a Run it
// was stopped before anything of it was kept, and must be started anew.
type Interrupted struct{ Run string }

func (e *Interrupted) Error() string {
	if e.Run == "" {
		return "stopped before anything of the run was kept"
	}
	return "run " + e.Run + " was stopped"
}

// Start begins a new run and carries it to its result.
func (d *Driver) Start(ctx context.Context, spec flow.Spec) (*beagle.Result, error) {
	if err := spec.Anchor(); err != nil {
		return nil, err
	}
	lock, err := d.Store.Lock(spec.Command())
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	r := &run{
		d:     d,
		lock:  lock,
		spec:  spec,
		entry: store.Run{ID: cmp.Or(d.ID, store.NewID()), Spec: spec.Target, State: store.Running, Created: time.Now()},
	}
	return r.carry(ctx)
}

// Resume goes on with a run that was stopped or killed. A run that is done
// gives its result again.
func (d *Driver) Resume(ctx context.Context, id string) (*beagle.Result, error) {
	entry, err := d.Store.Run(id)
	if err != nil {
		return nil, err
	}
	if entry.State == store.Done {
		return Result(d.Store, entry.ID)
	}
	lock, err := d.Store.Lock("beagle resume " + entry.ID)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	if err := lock.Runs(entry.ID); err != nil { // or it would be listed as gone while it is prepared again
		return nil, err
	}
	r := &run{d: d, lock: lock, entry: entry}
	if ok, err := d.Store.Load(entry.ID, "spec", &r.spec); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("run %s has no spec", entry.ID), err)
	}
	if err := r.spec.Anchored(entry.ID); err != nil {
		return nil, err
	}
	if err := d.Store.ClearCancel(entry.ID); err != nil {
		return nil, err
	}
	r.entry.State = store.Running
	return r.carry(ctx)
}

// Result reads the result of a finished run.
func Result(s *store.Store, id string) (*beagle.Result, error) {
	var r beagle.Result
	ok, err := s.Load(id, "result", &r)
	if err == nil && !ok {
		err = &beagle.UsageError{
			What:   fmt.Sprintf("run %s has no result yet", id),
			Remedy: "go on with it: beagle resume " + id,
		}
	}
	return &r, err
}

// A run is one run under way.
type run struct {
	d           *Driver
	lock        *store.Lock
	spec        flow.Spec
	entry       store.Run
	course      *flow.Course
	acts        activities
	ready       *flow.Prepared
	registered  bool // the run is in the store
	deaf        bool // the inbox cannot be read, and the watcher knows
	checkpoints checkpointer
}

// carry takes the run from wherever it stands to its result, and records how
// that ended.
func (r *run) carry(ctx context.Context) (*beagle.Result, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go r.heedCancel(ctx, stop)
	r.acts = r.d.activities()
	defer r.acts.Close()
	r.checkpoints = checkpointer{store: r.d.Store, run: r.entry.ID}
	defer r.checkpoints.await() // however the run ends, nothing is written after it
	result, err := r.work(ctx)
	switch {
	case r.registered:
	case ctx.Err() == nil:
		return nil, err
	case r.entry.Target != "": // of an earlier process
		return nil, &Interrupted{r.entry.ID}
	default:
		return nil, &Interrupted{}
	}
	switch {
	case err == nil:
		r.entry.State, r.entry.Note = store.Done, fmt.Sprintf("%s: %s", result.Outcome, result.Why)
	case r.d.Store.CancelRequested(r.entry.ID):
		r.entry.State, err = store.Canceled, &Interrupted{r.entry.ID}
	case ctx.Err() != nil:
		r.entry.State, err = store.Stopped, &Interrupted{r.entry.ID}
	default:
		r.entry.State, r.entry.Note = store.Failed, err.Error()
	}
	return result, errors.Join(err, r.save())
}

// heedCancel stops the run when another process asks for it.
func (r *run) heedCancel(ctx context.Context, stop func()) {
	const often = 300 * time.Millisecond
	for tick := time.NewTicker(often); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
			if r.d.Store.CancelRequested(r.entry.ID) {
				stop()
			}
		}
	}
}

func (r *run) save() error {
	r.entry.Updated = time.Now()
	return r.d.Store.SaveRun(r.entry)
}

// work takes a run through its stages: prepare, restore, search, judge and report.
func (r *run) work(ctx context.Context) (*beagle.Result, error) {
	if r.spec.Models.On() { // said before anything else, since something may leave the machine
		r.d.Watch.Note("models", r.spec.DescribeModels())
	}
	ready, err := r.prepare(ctx)
	if err != nil {
		return nil, err
	}
	if r.ready = ready; r.spec.Models.Replay != "" {
		if err := r.recorded(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.restore(r.ready); err != nil {
		return nil, err
	}
	r.d.Watch.Stage("search", r.spec.Describe())
	if err := r.search(ctx); err != nil {
		return nil, err
	}
	if err := r.d.Store.CloseInbox(r.entry.ID); err != nil {
		return nil, err
	}
	return r.finish(ctx)
}

// prepare makes the corpus and everything else that the search starts from.
// Until it succeeded nothing is written for the run: bad input leaves no trace.
func (r *run) prepare(ctx context.Context) (*flow.Prepared, error) {
	ready, err := r.acts.Prepare(ctx, r.entry.ID, r.spec)
	if err != nil {
		return nil, err
	}
	r.entry.Target, r.entry.Spec = ready.Target, ready.Spec
	r.registered = true
	return ready, errors.Join(r.save(), r.lock.Runs(r.entry.ID))
}

// restore continues from the checkpoint, or begins.
func (r *run) restore(ready *flow.Prepared) error {
	c := &flow.Course{Search: new(evolve.Search)}
	if ok, err := r.d.Store.Load(r.entry.ID, "search", c.Search); err != nil {
		return err
	} else if ok {
		r.course = c
		_, err := r.d.Store.Load(r.entry.ID, "log", &c.Log)
		return err
	}
	r.course = flow.NewCourse(&r.spec, ready)
	return nil
}
