package temporal

import (
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// answerWithin bounds the time that a call lies in the queue of the worker that makes a run's
// calls. A living worker takes it at once. A worker that lost touch with the server has ended its
// calls by then, so that a run's journal never has two writers.
func answerWithin() time.Duration { return max(15*time.Second, beatTimeout+beatEvery) }

// callOptions returns the options of a call: a question, and one more if the reply does not
// compile. It is not repeated by the server, since only a worker that reads the journal of calls
// anew may repeat it.
func callOptions(queue string, limit time.Duration) workflow.ActivityOptions {
	o := activityOptions(queue, grace+2*limit)
	o.ScheduleToStartTimeout = answerWithin()
	o.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: 1}
	return o
}

// ask has the worker that is enlisted for the run make a call. When that worker is
// gone, another is enlisted.
func (e *engine) ask(ctx workflow.Context, o Order) (out CallResult, err error) {
	for lost, failed := 0, 0; ; {
		queue, err := e.enlisted(ctx)
		if err != nil {
			return out, err
		}
		options := callOptions(queue, e.task.Limits.Call)
		err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), askActivity, o).Get(ctx, &out)
		switch {
		case err == nil || ctx.Err() != nil || isUsage(err):
			return out, err
		case (workerLost(err) || timedOut(err, enums.TIMEOUT_TYPE_SCHEDULE_TO_START)) && lost < losses:
			if lost++; e.Desk == queue {
				e.Desk = ""
			}
		case failed < attempts-1:
			failed++
			if err := workflow.Sleep(ctx, time.Second<<failed); err != nil {
				return out, err
			}
		default:
			return out, err
		}
	}
}

// enlisted returns the queue of the worker that makes the run's calls.
func (e *engine) enlisted(ctx workflow.Context) (string, error) {
	if err := workflow.Await(ctx, func() bool { return !e.enlisting }); err != nil {
		return "", err
	}
	if e.Desk != "" {
		return e.Desk, nil
	}
	e.enlisting = true
	defer func() { e.enlisting = false }()
	var got Delivery
	err := act(ctx, llmQueue, grace, enlistActivity, Order{Run: e.task.Run}, &got, func(queue string) {
		e.waiting = queue
	})
	if err == nil {
		e.Desk = got.What
	}
	return e.Desk, err
}
