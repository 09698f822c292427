package temporal

import (
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/beagle-go/beagle/internal/flow/fleet"
)

// Queues, apart from those of kinds of machines.
const (
	runQueue    = "run" // workflows: any worker that does more than measure takes them
	llmQueue    = fleet.LLM
	buildQueue  = fleet.Build
	verifyQueue = fleet.Verify
	benchKind   = fleet.Bench
)

// benchQueue returns the queue of a kind of machine.
func benchQueue(machineKind string) string { return benchKind + "/" + machineKind }

// Tests that kill workers shorten these.
var (
	beatTimeout = 30 * time.Second // a worker that is silent for this long is dead; a worker on a busy machine is not
	beatEvery   = 2 * time.Second
	taskTimeout = 5 * time.Second // of a workflow task: how long a dead worker holds it
)

const (
	startWithin = 10 * time.Minute // after that the user learns that no worker serves the queue
	grace       = time.Hour        // beyond the time in the spec: hundreds of builds, on a slow machine
	attempts    = 3                // of work that fails; see act
	losses      = 20               // workers that one piece of work may lose
)

// usageType marks an error that the user must mend; stoppedType one of a worker that had to end, or
// lost touch with the server.
const (
	usageType   = "usage"
	stoppedType = "stopped"
)

func activityOptions(queue string, limit time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue: queue, StartToCloseTimeout: limit, ScheduleToStartTimeout: startWithin,
		HeartbeatTimeout:    beatTimeout,
		WaitForCancellation: true, // until its programs are gone
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute,
			MaximumAttempts:        attempts,
			NonRetryableErrorTypes: []string{usageType},
		},
	}
}

// localOptions returns the options of the search and of entries in the store: short, and repeated
// when the store fails for a moment.
func localOptions() workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{
		StartToCloseTimeout: 5 * time.Minute,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:        200 * time.Millisecond,
			BackoffCoefficient:     2,
			MaximumAttempts:        5,
			NonRetryableErrorTypes: []string{usageType},
		},
	}
}

// act runs an activity. Work that fails is tried a few times. Work whose worker dies, stops, loses
// touch or is missing stays in the queue, since that is no fault of the work. act calls waiting
// with the unserved queue, or "" once a worker polls it.
func act(
	ctx workflow.Context, queue string, limit time.Duration, name string, in, out any, waiting func(string),
) error {
	for lost := 0; ; {
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, activityOptions(queue, limit)), name, in).
			Get(ctx, out)
		switch {
		case ctx.Err() != nil || err == nil:
			waiting("")
			return err
		case timedOut(err, enums.TIMEOUT_TYPE_SCHEDULE_TO_START):
			waiting(queue)
		case workerLost(err) && lost < losses:
			lost++
		default:
			return err
		}
	}
}

func timedOut(err error, kind enums.TimeoutType) bool {
	var t *temporal.TimeoutError
	return errors.As(err, &t) && t.TimeoutType() == kind
}

func workerLost(err error) bool {
	var a *temporal.ApplicationError
	return timedOut(err, enums.TIMEOUT_TYPE_HEARTBEAT) || errors.As(err, &a) && a.Type() == stoppedType
}

// isUsage reports whether the user must do something about an error.
func isUsage(err error) bool {
	var a *temporal.ApplicationError
	return errors.As(err, &a) && a.Type() == usageType
}
