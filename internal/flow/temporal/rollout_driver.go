package temporal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
)

// Rollout starts the workflow of a rollout, or finds the one that is under way, and returns when it
// is over. Its order and state are in the store.
func (d *Driver) Rollout(ctx context.Context, id string) error {
	c, err := Dial(ctx, d.Server)
	if err != nil {
		return err
	}
	defer c.Close()
	f, err := (pilot.Base{Store: d.Store, ID: id}).Load()
	if err != nil {
		return err
	}
	at := f.Leg()
	at.Begun = false // whoever held the leases is gone, or is followed
	_, err = c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: rolloutPrefix + id, TaskQueue: rolloutQueue, WorkflowTaskTimeout: taskTimeout,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, rolloutWorkflow, Flying{Rollout: id, Leg: at, Rounds: d.Block})
	if err != nil {
		return fmt.Errorf("start rollout %s on %s: %w", id, d.Server.Address, err)
	}
	return d.followRollout(ctx, c, id)
}

// followRollout waits for the end. Once it warns that nobody takes the work, and once that the
// server is away.
func (d *Driver) followRollout(ctx context.Context, c client.Client, id string) error {
	w := &waiter{c: c, workflow: rolloutPrefix + id, warn: d.Watch.Warn, server: d.Server.Address,
		queue: rolloutQueue, missing: fmt.Sprintf("no worker takes rollouts, so the processes run the original: "+
			"beagle worker --temporal %s --queues %s", d.Server.Address, fleet.Rollout)}
	err := w.wait(ctx, nil)
	switch {
	case ctx.Err() != nil:
		return &fleet.Detached{Run: id}
	case err == nil:
		return nil
	case temporal.IsCanceledError(err):
		return &fleet.Canceled{Run: id}
	}
	return worded(err, "rollout "+id, "nothing ships, and the processes run the original; start it again to go on")
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

// RolloutStatus asks the workflow of a rollout how it stands.
func (d *Driver) RolloutStatus(ctx context.Context, id string) (s fleet.RolloutStatus, err error) {
	c, err := Dial(ctx, d.Server)
	if err != nil {
		return s, err
	}
	defer c.Close()
	e, err := c.DescribeWorkflowExecution(ctx, rolloutPrefix+id, "")
	if err != nil {
		return s, err
	}
	s.State = strings.ToLower(e.WorkflowExecutionInfo.Status.String())
	if served, err := served(ctx, c, rolloutQueue); err == nil {
		s.Waits = !served && e.WorkflowExecutionInfo.Status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	}
	if s.Waits {
		return s, nil
	}
	asked, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var at pilot.Leg
	answer, err := c.QueryWorkflow(asked, rolloutPrefix+id, "", legQuery)
	if err == nil {
		err = answer.Get(&at)
	}
	if err != nil {
		s.Unknown = err.Error()
	}
	s.Round = at.Round
	return s, nil
}

// StopRollout has the workflow of a rollout roll back.
func (d *Driver) StopRollout(ctx context.Context, id string) error {
	c, err := Dial(ctx, d.Server)
	if err != nil {
		return err
	}
	defer c.Close()
	err = c.SignalWorkflow(ctx, rolloutPrefix+id, "", stopSignal, nil)
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return nil // it has ended, and the processes run the original
	}
	return err
}

// A waiter waits for the end of a workflow.
type waiter struct {
	c        client.Client
	workflow string
	warn     func(string)
	server   string
	queue    string // whose workers are looked for
	missing  string // what is said when there is none
}

// wait returns the workflow's own error. A server that is away says nothing of it: it is asked
// again.
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
			w.warn(fmt.Sprintf("the server %s does not answer (%v); it is followed when it does", w.server, err))
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
		there, err := served(ctx, w.c, w.queue)
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
