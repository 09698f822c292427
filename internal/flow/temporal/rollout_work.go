package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/internal/tail"
	"github.com/beagle-go/beagle/probe/wire"
)

// failedType marks an error of the machinery that a repetition does not mend.
const failedType = "failed"

// rollouts are the activities of rollouts.
type rollouts struct {
	store *store.Store
	stop  context.Context // ends when the worker must stop
	beat  time.Duration   // between heartbeats of the processes; 0 is the pilot's
}

// registerRollouts takes rollouts and their work.
func registerRollouts(r registry, a *rollouts) {
	r.RegisterWorkflowWithOptions(Rollout, workflow.RegisterOptions{Name: rolloutWorkflow})
	for name, f := range map[string]any{
		boardActivity: a.Board, listenActivity: a.Listen, landActivity: a.Land, enterLocal: a.Enter,
	} {
		r.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
}

// Board lets the arms take turns in all processes, and returns the name of the news.
func (a *rollouts) Board(ctx context.Context, b Beat) (string, error) {
	return a.hear(ctx, b, func(ctx context.Context, w *piece) (*pilot.News, error) {
		return w.crew.Begin(ctx, w.orders)
	})
}

// Listen renews the leases until the processes have news.
func (a *rollouts) Listen(ctx context.Context, b Beat) (string, error) {
	return a.hear(ctx, b, func(ctx context.Context, w *piece) (*pilot.News, error) {
		return w.crew.Listen(ctx, w.orders, w.flight.Log.Seats, w.flight.State.Held, listenFor)
	})
}

// A piece holds the needs of one activity on processes.
type piece struct {
	crew   *pilot.Crew
	flight *pilot.Flight
	orders *wire.RolloutOrders
}

// hear carries out what touches processes, with heartbeats to the server.
func (a *rollouts) hear(
	ctx context.Context, b Beat, do func(context.Context, *piece) (*pilot.News, error),
) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(a.stop, func() { cancel(errStopped) })()
	base := pilot.Base{Store: a.store, ID: b.Rollout}
	w, err := a.piece(base, b)
	if err != nil {
		return "", wrapRollout(ctx, err)
	}
	beating := make(chan struct{})
	defer close(beating)
	go pulse(ctx, beating)
	news, err := do(ctx, w)
	if err != nil {
		return "", wrapRollout(ctx, err)
	}
	name, err := keepNews(base, news)
	if err != nil {
		return "", wrapRollout(ctx, err)
	}
	return name, nil
}

// pulse tells the server that a worker lives. The answer may be that its work is not wanted any
// more, which ends ctx.
func pulse(ctx context.Context, done chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		activity.RecordHeartbeat(ctx)
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

// piece reads what an activity needs. It refuses a state of another round: that activity works
// for a workflow that has gone on without it.
func (a *rollouts) piece(base pilot.Base, b Beat) (*piece, error) {
	o, err := base.Order()
	if err != nil {
		return nil, err
	}
	f, err := base.Load()
	if err != nil {
		return nil, err
	}
	if err := f.CheckRound(b.Round, b.Rollout); err != nil {
		return nil, err
	}
	crew, err := base.Crew(&o)
	if err != nil {
		return nil, err
	}
	crew.Beat, crew.CheckSole = a.beat, base.SoleController(func() int { return b.Round })
	return &piece{crew, f, f.Orders(o.Limits)}, nil
}

func keepNews(base pilot.Base, n *pilot.News) (string, error) {
	data, err := json.Marshal(n)
	if err != nil {
		return "", err
	}
	name := "news-" + beagle.HashOf("news", string(data)) + ".json"
	return name, base.Write(name, data)
}

// Enter lets the experiment decide on news, and stores the ledger and the state. It is a local
// activity, and enters nothing twice if its worker died.
func (a *rollouts) Enter(_ context.Context, e Entry) (pilot.Leg, error) {
	at, err := a.enter(e)
	if err != nil {
		return at, temporal.NewNonRetryableApplicationError(tail.Short(err.Error(), maxMessage), failedType, nil)
	}
	return at, nil
}

// enter adds a round's news to a rollout's state. A repeated round changes nothing.
func (a *rollouts) enter(e Entry) (pilot.Leg, error) {
	base := pilot.Base{Store: a.store, ID: e.Rollout}
	f, err := base.Load()
	if err != nil {
		return pilot.Leg{}, err
	}
	if f.Log.Round == e.Round+1 && f.Log.News == e.News {
		return f.Leg(), nil
	}
	if err := f.CheckRound(e.Round, e.Rollout); err != nil {
		return pilot.Leg{}, err
	}
	news := pilot.StopNews()
	if e.News != "" {
		data, err := os.ReadFile(base.Path(e.News))
		if err == nil {
			news = new(pilot.News)
			err = json.Unmarshal(data, news)
		}
		if err != nil {
			return pilot.Leg{}, fmt.Errorf("the news of rollout %s: %w", e.Rollout, err)
		}
	}
	o, err := base.Order()
	if err != nil {
		return pilot.Leg{}, err
	}
	before := f.Log.News
	told := f.Enter(news, e.At)
	f.Log.News = e.News
	for _, d := range told { // before the state, which says that it was done
		if err := base.Enter(&o, f, d, e.At); err != nil {
			f.Warn("the ledger: " + err.Error())
		}
	}
	if err := base.Save(f); err != nil {
		return pilot.Leg{}, err
	}
	if before != "" && before != e.News {
		_ = os.Remove(base.Path(before)) // a file that stays does no harm
	}
	return f.Leg(), nil
}

// Land has the processes run the original.
func (a *rollouts) Land(ctx context.Context, b Beat) error {
	base := pilot.Base{Store: a.store, ID: b.Rollout}
	o, err := base.Order()
	if err != nil {
		return wrapRollout(ctx, err)
	}
	f, err := base.Load()
	if err != nil {
		return wrapRollout(ctx, err)
	}
	crew, err := base.Crew(&o)
	if err != nil {
		return wrapRollout(ctx, err)
	}
	crew.Release(ctx, f.Log.Seats)
	return nil
}

// wrapRollout words an error for the workflow. A worker that has to end leaves its work to the next
// one.
func wrapRollout(ctx context.Context, err error) error {
	if wrapped := wrap(ctx, err); errors.Is(wrapped, context.Canceled) {
		return wrapped
	} else if a := new(temporal.ApplicationError); errors.As(wrapped, &a) && a.Type() != "" {
		return wrapped
	}
	return temporal.NewNonRetryableApplicationError(tail.Short(err.Error(), maxMessage), failedType, nil)
}
