package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/semaphore"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/internal/tail"
)

// activities are the work of a worker.
type activities struct {
	store *store.Store
	desks *desks
	stop  context.Context // ends when the worker must stop

	// quiet keeps a measurement alone on its machine: a measurement takes all of it, other busy
	// work takes one.
	quiet *semaphore.Weighted

	ownQueue string // queue that only this worker takes work from

	// alive tells the server that the work of an activity goes on
	alive func(ctx context.Context, said []flow.Event) error
}

const everybody = 1 << 20

// A room tells what an activity shares its machine with.
type room int64

const (
	phones room = -1        // others, and says nothing of its run
	waits  room = 0         // for others, most of the time
	works  room = 1         // with a processor
	timing room = everybody // alone
)

var errStopped = errors.New("the worker had to stop")

// errLost is the end of work whose heartbeats the server did not answer. The server gives it to
// another worker.
var errLost = errors.New("the server did not answer the worker's heartbeats")

// carryOut carries out an activity's work at the desk of its run. Its heartbeats carry the work's
// messages.
func (a *activities) carryOut(
	ctx context.Context, run string, r room, do func(ctx context.Context, s Stages) error,
) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(a.stop, func() { cancel(errStopped) })()
	k := a.desks.sit(run)
	defer a.desks.leave(k)
	n := new(notes)
	if r != phones {
		n = k.hub.listen()
		defer k.hub.forget(n)
	}
	defer a.beating(ctx, n, cancel)()
	part := max(0, int64(r))
	err := a.quiet.Acquire(ctx, part)
	if err == nil {
		err = do(ctx, k.stages)
		a.quiet.Release(part)
	}
	if err != nil {
		return "", wrap(ctx, err)
	}
	said := n.snapshot()
	if len(said) == 0 {
		return "", nil
	}
	return a.store.PutJSON(said)
}

// beating begins the heartbeats of an activity, and returns what ends them. The SDK's own end an
// activity as soon as one of them is answered late. Work that gets no answer ends before the server
// gives it to another worker: no two make the same calls, and one alone writes their journal.
func (a *activities) beating(ctx context.Context, n *notes, cancel context.CancelCauseFunc) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	patience := beatTimeout - beatEvery
	go func() {
		var gone *serviceerror.NotFound
		for heard := time.Now(); ctx.Err() == nil; {
			sent, end := time.Now(), heard.Add(patience) // the server hears no sooner than it is sent
			switch err := a.beat(ctx, n, end); {
			case err == nil:
				heard = sent
			case temporal.IsCanceledError(err), errors.As(err, &gone): // it is not wanted any more
				activity.RecordHeartbeat(ctx) // so that the SDK hears it, too
				cancel(err)
			case time.Since(heard) >= patience:
				cancel(errLost)
			}
			wait := beatEvery
			if left := time.Until(heard.Add(patience)); left > 0 {
				wait = min(wait, left)
			}
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
		}
	}()
	return stop
}

// beat sends one heartbeat. There is time for another before the end.
func (a *activities) beat(ctx context.Context, n *notes, end time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, beatTimeout/2)
	defer cancel()
	return a.alive(ctx, n.snapshot())
}

// maxMessage bounds what an error takes in a history.
const maxMessage = 2 << 10

// wrap words an error for the workflow.
func wrap(ctx context.Context, err error) error {
	var bad *beagle.UsageError
	switch {
	case errors.As(err, &bad):
		return temporal.NewNonRetryableApplicationError(tail.Short(bad.What, maxMessage), usageType, nil,
			tail.Short(bad.Remedy, maxMessage))
	case context.Cause(ctx) == errStopped, errors.Is(err, errStopped):
		return temporal.NewApplicationError(errStopped.Error(), stoppedType)
	case lostTouch(ctx):
		return temporal.NewApplicationError(errLost.Error(), stoppedType)
	case ctx.Err() != nil:
		return context.Canceled // so that it counts as canceled, whatever the stages made of it
	}
	return temporal.NewApplicationError(tail.Short(err.Error(), maxMessage), "")
}

// lostTouch reports whether an activity was canceled because its heartbeats got no answer. The SDK
// names the reason: no one requested that cancellation, and the work did not fail.
func lostTouch(ctx context.Context) bool {
	if !errors.Is(ctx.Err(), context.Canceled) {
		return false // its time is up
	}
	cause := context.Cause(ctx)
	return !errors.Is(cause, context.Canceled) && !temporal.IsCanceledError(cause)
}

// Identify returns the kind of machine that measures.
func (a *activities) Identify(ctx context.Context, o Order) (Delivery, error) {
	defer a.beating(ctx, new(notes), func(error) {})()
	var spec flow.Spec
	if err := a.store.GetJSON(o.What, &spec); err != nil {
		return Delivery{}, err
	}
	digest, err := a.store.PutJSON(flow.ThisMachine(spec.Dir))
	return Delivery{What: digest}, err
}

// Prepare makes the inputs and the rest of the state that a search starts from.
func (a *activities) Prepare(ctx context.Context, o Order) (out Delivery, err error) {
	var spec flow.Spec
	var m beagle.Machine
	if err := errors.Join(a.store.GetJSON(o.What, &spec), a.store.GetJSON(o.More, &m)); err != nil {
		return out, err
	}
	out.Notes, err = a.carryOut(ctx, o.Run, works, func(ctx context.Context, s Stages) error {
		_, err := s.PrepareFor(ctx, o.Run, spec, &m)
		return err
	})
	return out, err
}

// Propose makes the candidates of proposals.
func (a *activities) Propose(ctx context.Context, o Order) (out Delivery, err error) {
	var asked []evolve.Proposal
	if err := a.store.GetJSON(o.What, &asked); err != nil {
		return out, err
	}
	_, err = a.carryOut(ctx, o.Run, waits, func(ctx context.Context, s Stages) error {
		made, err := s.Propose(ctx, o.Run, asked)
		return a.deliver(&out, made, err)
	})
	return out, err
}

func (a *activities) deliver(out *Delivery, v any, err error) error {
	if err == nil {
		out.What, err = a.store.PutJSON(v)
	}
	return err
}

// Evaluate takes an island's share of a generation through the cheap end of the
// ladder.
func (a *activities) Evaluate(ctx context.Context, o Order) (out Delivery, err error) {
	var b batch
	if err := a.store.GetJSON(o.What, &b); err != nil {
		return out, err
	}
	_, err = a.carryOut(ctx, o.Run, timing, func(ctx context.Context, s Stages) error {
		assessed, err := s.EvaluateShare(ctx, o.Run, b.All, b.Mine)
		return a.deliver(&out, assessed, err)
	})
	return out, err
}

// Confirm measures the finalists.
func (a *activities) Confirm(ctx context.Context, o Order) (out Delivery, err error) {
	return out, a.withField(ctx, o, timing, &out, func(ctx context.Context, s Stages, f flow.Field) error {
		var err error
		out.IDs, err = s.Confirm(ctx, o.Run, f)
		return err
	})
}

// Prove verifies a finalist in full.
func (a *activities) Prove(ctx context.Context, o Order) (out Delivery, err error) {
	return out, a.withField(ctx, o, works, &out, func(ctx context.Context, s Stages, f flow.Field) error {
		var err error
		out.Yes, err = s.Prove(ctx, o.Run, f, o.More)
		return err
	})
}

// Judge joins what Confirm and Prove have found, and takes apart the winner.
func (a *activities) Judge(ctx context.Context, o Order) (out Delivery, err error) {
	return out, a.withField(ctx, o, timing, &out, func(ctx context.Context, s Stages, f flow.Field) error {
		judged, err := s.Judge(ctx, o.Run, f)
		return a.deliver(&out, judged, err)
	})
}

func (a *activities) withField(
	ctx context.Context, o Order, r room, out *Delivery, do func(context.Context, Stages, flow.Field) error,
) error {
	var f flow.Field
	if err := a.store.GetJSON(o.What, &f); err != nil {
		return err
	}
	var err error
	out.Notes, err = a.carryOut(ctx, o.Run, r, func(ctx context.Context, s Stages) error { return do(ctx, s, f) })
	return err
}

// Report assembles the result and ends the run.
func (a *activities) Report(ctx context.Context, c ReportOrder) (out Delivery, err error) {
	var judged flow.Conclusion
	var end reportInput
	if err := errors.Join(a.store.GetJSON(c.Judged, &judged), a.store.GetJSON(c.Closing, &end)); err != nil {
		return out, err
	}
	judged.Seconds = c.Seconds
	out.Notes, err = a.carryOut(ctx, c.Run, works, func(ctx context.Context, s Stages) error {
		r, err := s.Report(ctx, c.Run, &judged, &end.Log)
		if err != nil {
			return err
		}
		r.Candidates, r.Search, r.WallSeconds = end.Sum.Candidates, end.Sum.Search, end.Sum.WallSeconds+c.Seconds
		if r.Models != nil {
			if err := a.sumModels(c.Run, r.Models, &end); err != nil {
				return err
			}
		}
		if err := a.store.Save(c.Run, "result", r); err != nil {
			return err
		}
		books := localActivities{store: a.store, keeper: keeper{store: a.store}}
		err = books.entry(c.Run, func(e *store.Run) {
			e.State, e.Note = store.Done, fmt.Sprintf("%s: %s", r.Outcome, r.Why)
		})
		return a.deliver(&out, r, err)
	})
	return out, err
}

// sumModels adds the search's knowledge of the models to a result.
func (a *activities) sumModels(run string, m *beagle.ModelSummary, end *reportInput) error {
	var spec flow.Spec
	if ok, err := a.store.Load(run, "spec", &spec); err != nil || !ok {
		return errors.Join(fmt.Errorf("run %s has no spec", run), err)
	}
	flow.SumModels(&spec, m, end.Accounts, end.Shut)
	return nil
}
