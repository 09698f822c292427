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
	at.Begun = false // the holder of the leases is gone, or is followed
	if err := join(ctx, c, rolloutPrefix+id, rolloutQueue, rolloutWorkflow,
		RolloutInput{Rollout: id, Leg: at, Rounds: d.Block}); err != nil {
		return fmt.Errorf("start rollout %s on %s: %w", id, d.Server.Address, err)
	}
	return d.followRollout(ctx, c, id)
}

// followRollout waits for the end. It warns once if no worker takes the work, and once if the
// server is away.
func (d *Driver) followRollout(ctx context.Context, c client.Client, id string) error {
	w := &waiter{c: c, workflow: rolloutPrefix + id, warn: d.Watch.Warn, server: d.Server.Address,
		queue: rolloutQueue, missing: fmt.Sprintf("no worker takes rollouts, so the processes run the original: "+
			"beagle worker --temporal %s --queues %s", d.Server.Address, fleet.Rollout)}
	return awaitedEnd(ctx, w.wait(ctx, nil), id, "rollout "+id,
		"nothing ships, and the processes run the original; start it again to go on")
}

// RolloutStatus asks the workflow of a rollout how it stands.
func (d *Driver) RolloutStatus(ctx context.Context, id string) (s fleet.RolloutStatus, err error) {
	c, err := Dial(ctx, d.Server)
	if err != nil {
		return s, err
	}
	defer c.Close()
	// Ask the server for the state, and whether a worker takes such workflows.
	e, err := c.DescribeWorkflowExecution(ctx, rolloutPrefix+id, "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		return fleet.RolloutStatus{State: "absent"}, nil
	}
	if err != nil {
		return s, err
	}
	s.State = strings.ToLower(e.WorkflowExecutionInfo.Status.String())
	if served, err := queueServed(ctx, c, rolloutQueue); err == nil {
		s.Waits = !served && e.WorkflowExecutionInfo.Status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	}
	if s.Waits {
		return s, nil
	}
	// Ask the workflow itself, which a worker answers.
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
