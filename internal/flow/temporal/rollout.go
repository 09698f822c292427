package temporal

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
)

// rolloutQueue has the workflows of rollouts and their work. Its workers reach the processes and
// have their token.
const rolloutQueue = fleet.Rollout

const (
	listenFor     = 15 * time.Second // without news
	rolloutBeat   = 4 * time.Second  // a worker that is silent for this long is dead: its leases hold 10 s
	roundsAtOnce  = 300              // in one history: some 3,000 events
	rolloutPrefix = "rollout/"       // of the workflow's ID
)

// A RolloutInput is the input of a Rollout workflow, which passes it on when it continues as new.
type RolloutInput struct {
	Rollout string    `json:"rollout"`
	Leg     pilot.Leg `json:"leg"`
	Rounds  int       `json:"rounds,omitempty"` // in one history; 0 is roundsAtOnce
}

// A Beat orders the processes' work after a round.
type Beat struct {
	Rollout string `json:"rollout"`
	Round   int    `json:"round"`
}

// An Entry has news entered. Without any, a person ends the rollout.
type Entry struct {
	Rollout string    `json:"rollout"`
	Round   int       `json:"round"` // that it follows
	News    string    `json:"news,omitempty"`
	At      time.Time `json:"at"`
}

// Rollout carries out a rollout as a workflow. However it ends, the processes return to the
// original: a worker tells them if it can, and otherwise their leases expire.
func Rollout(ctx workflow.Context, f RolloutInput) (pilot.Leg, error) {
	e := &rolloutEngine{ctx: ctx, flying: f, boarded: f.Leg.Begun, stop: workflow.GetSignalChannel(ctx, stopSignal)}
	err := workflow.SetQueryHandler(ctx, legQuery, func() (pilot.Leg, error) { return e.flying.Leg, nil })
	if err != nil {
		return f.Leg, err
	}
	at, err := pilot.Fly(e, f.Leg)
	if err != nil || at.Over {
		return at, err
	}
	e.heed()
	if e.stopped {
		return e.land()
	}
	return at, workflow.NewContinueAsNewError(ctx, rolloutWorkflow,
		RolloutInput{Rollout: f.Rollout, Leg: at, Rounds: f.Rounds})
}

// A rolloutEngine carries a rollout out as steps of a workflow. It hands on the names of news: the
// news are in the store, and so is the experiment.
type rolloutEngine struct {
	ctx     workflow.Context
	flying  RolloutInput
	rounds  int // in this history
	stop    workflow.ReceiveChannel
	stopped bool // a person wants it to end
	boarded bool // this workflow's own leases are in the state
}

var _ pilot.Engine[string] = (*rolloutEngine)(nil)

// heed takes the signals that have come in.
func (e *rolloutEngine) heed() {
	for e.stop.ReceiveAsync(nil) {
		e.stopped = true
	}
}

// land rolls back a rollout that a person stopped between two histories.
func (e *rolloutEngine) land() (pilot.Leg, error) {
	at, err := e.Enter("")
	e.Release()
	return at, err
}

// Begin starts the processes; see [pilot.Engine].
func (e *rolloutEngine) Begin() (string, error) { return e.await(boardActivity, 2*time.Minute) }

// Listen waits for news of the processes; see [pilot.Engine].
func (e *rolloutEngine) Listen() (string, error) { return e.await(listenActivity, time.Minute) }

// await has an activity done, unless a person ends the rollout first.
func (e *rolloutEngine) await(name string, limit time.Duration) (news string, err error) {
	if e.heed(); e.stopped {
		return "", nil
	}
	ctx, cancel := workflow.WithCancel(workflow.WithActivityOptions(e.ctx, rolloutOptions(limit)))
	defer cancel()
	done := workflow.ExecuteActivity(ctx, name, Beat{e.flying.Rollout, e.flying.Leg.Round})
	workflow.NewSelector(ctx).
		AddFuture(done, func(f workflow.Future) { err = f.Get(e.ctx, &news) }).
		AddReceive(e.stop, func(c workflow.ReceiveChannel, _ bool) {
			c.Receive(ctx, nil)
			e.stopped = true
		}).Select(ctx)
	if !e.stopped {
		return news, err
	}
	cancel()
	_ = done.Get(e.ctx, nil) // its news come too late
	return "", e.ctx.Err()
}

// Enter has the experiment decide; see [pilot.Engine].
func (e *rolloutEngine) Enter(news string) (pilot.Leg, error) {
	at := e.flying.Leg
	err := locally(e.ctx, enterLocal, Entry{Rollout: e.flying.Rollout, Round: at.Round, News: news,
		At: workflow.Now(e.ctx)}, &at)
	if err == nil {
		e.flying.Leg = at
		e.rounds++
		e.boarded = e.boarded || news != ""
	}
	return at, err
}

// Rest reports whether this history is long enough; see [pilot.Engine].
func (e *rolloutEngine) Rest() bool {
	most := e.flying.Rounds
	if most == 0 {
		most = roundsAtOnce
	}
	return e.rounds >= most || e.rounds > 0 && workflow.GetInfo(e.ctx).GetContinueAsNewSuggested()
}

// Release makes the processes run the original, also after the workflow was canceled. Leases of
// processes that it cannot reach end by themselves. It leaves leases of other controllers alone.
func (e *rolloutEngine) Release() {
	if !e.boarded {
		return
	}
	apart, _ := workflow.NewDisconnectedContext(e.ctx)
	o := rolloutOptions(30 * time.Second)
	o.RetryPolicy.MaximumAttempts = 3
	o.ScheduleToCloseTimeout = time.Minute
	ctx := workflow.WithActivityOptions(apart, o)
	if err := workflow.ExecuteActivity(ctx, landActivity, Beat{e.flying.Rollout, e.flying.Leg.Round}).
		Get(apart, nil); err != nil {
		workflow.GetLogger(apart).Warn("cannot land the processes", "rollout", e.flying.Rollout, "error", err)
	}
}

// rolloutOptions returns the options of work on processes. That workers die is no reason to end a
// rollout: without one the processes run the original, and the next one goes on.
func rolloutOptions(limit time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue: rolloutQueue, StartToCloseTimeout: limit, HeartbeatTimeout: rolloutBeat, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 1.5, MaximumInterval: 2 * time.Second,
			NonRetryableErrorTypes: []string{usageType, failedType},
		},
	}
}
