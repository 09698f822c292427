package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow/fleet"
)

// join starts a workflow, or finds the one that is under way.
func join(ctx context.Context, c client.Client, id, queue, workflow string, order any) error {
	_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: queue, WorkflowTaskTimeout: taskTimeout,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, workflow, order)
	return err
}

// awaitedEnd returns the error of an awaited workflow.
func awaitedEnd(ctx context.Context, err error, id, what, remedy string) error {
	switch {
	case ctx.Err() != nil:
		return &fleet.Detached{Run: id}
	case err == nil:
		return nil
	case temporal.IsCanceledError(err):
		return &fleet.Canceled{Run: id}
	}
	return worded(err, what, remedy)
}

// worded words the failure of a workflow for the user.
func worded(err error, what, remedy string) error {
	var failed *temporal.ApplicationError
	if errors.As(err, &failed) && failed.Type() == usageType {
		var own string
		_ = failed.Details(&own) // without it the message alone must do
		return &beagle.UsageError{What: failed.Message(), Remedy: own}
	}
	return fmt.Errorf("%s failed: %s\n%s", what, reason(err), remedy)
}

// A waiter waits for the end of a workflow.
type waiter struct {
	c        client.Client
	workflow string
	warn     func(string)
	server   string
	queue    string // whose workers are looked for
	missing  string // the message if there is none
}

// wait returns the workflow's own error. An unreachable server is not one: wait retries.
func (w *waiter) wait(ctx context.Context, out any) error {
	watching, done := context.WithCancel(ctx)
	defer done()
	go w.look(watching)
	for away := false; ; {
		err := w.c.GetWorkflow(ctx, w.workflow, "").Get(ctx, out)
		if ctx.Err() != nil || !unreachable(err) {
			return err
		}
		if !away {
			away = true
			w.warn(fmt.Sprintf("the server %s does not answer (%v); waiting for it", w.server, err))
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
		}
	}
}

// look warns, once for each time, that no worker is there.
func (w *waiter) look(ctx context.Context) {
	told := false
	for {
		there, err := queueServed(ctx, w.c, w.queue)
		if err == nil && !there && !told {
			w.warn(w.missing)
		}
		if err == nil {
			told = !there
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pollEvery):
		}
	}
}
