package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/store"
)

// A Driver starts runs on a server and follows them. It does no work itself:
// it may go, and the run goes on.
type Driver struct {
	Store       *store.Store
	Server      fleet.Server
	Watch       flow.Watcher
	MachineKind string // of the machines that measure; default that of this one
	Block       int    // see Task
}

// Start begins a run under an ID, or a new one if that is empty, and follows it
// to its result. A run of that ID which is under way is followed only.
func (d *Driver) Start(ctx context.Context, id string, spec flow.Spec) (*beagle.Result, error) {
	if spec.Models.Record != "" || spec.Models.Replay != "" {
		return nil, &beagle.UsageError{
			What:   "--record and --replay are for searches in one process",
			Remedy: "leave out --temporal, or both of them",
		}
	}
	c, err := Dial(ctx, d.Server)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if id == "" {
		id = store.NewID()
	}
	// Store the spec and the entry, unless the run has begun.
	if err := spec.Anchor(); err != nil {
		return nil, err
	}
	digest, err := d.Store.PutJSON(spec)
	if err != nil {
		return nil, err
	}
	if entry, err := d.Store.Run(id); err == nil && entry.ID == id {
		if entry.State == store.Done {
			return d.result(id)
		}
	} else if err := d.Store.SaveRun(store.Run{ID: id, Spec: spec.Target, State: store.Running, Created: time.Now(),
		Updated: time.Now()}); err != nil {
		return nil, err
	}
	// Note the server, so that resume and cancel find the run, and start the workflow.
	if err := fleet.Place(d.Store, id, d.Server); err != nil {
		return nil, err
	}
	machineKind := d.MachineKind
	if machineKind == "" {
		machineKind = flow.MachineKind(flow.ThisMachine(""))
	}
	return d.carry(ctx, c, Task{Run: id, Spec: digest, MachineKind: machineKind, Limits: limitsOf(&spec),
		Block: d.Block})
}

// task names the saved order that started a run.
const task = "task"

// carry starts the workflow unless it is there, and follows it.
func (d *Driver) carry(ctx context.Context, c client.Client, t Task) (*beagle.Result, error) {
	if err := d.Store.Save(t.Run, task, t); err != nil {
		return nil, err
	}
	if err := join(ctx, c, t.Run, runQueue, runWorkflow, t); err != nil {
		return nil, fmt.Errorf("start run %s on %s: %w", t.Run, d.Server.Address, err)
	}
	return d.follow(ctx, c, t)
}

// Resume follows a run that is under way, and starts one again that was
// stopped or has failed.
func (d *Driver) Resume(ctx context.Context, id string) (*beagle.Result, error) {
	entry, err := d.Store.Run(id)
	if err != nil {
		return nil, err
	}
	if entry.State == store.Done {
		return d.result(entry.ID)
	}
	var t Task
	if ok, err := d.Store.Load(entry.ID, task, &t); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("run %s was never started", entry.ID), err)
	}
	c, err := Dial(ctx, d.Server)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	entry.State, entry.Note, entry.Updated = store.Running, "", time.Now()
	if err := d.Store.SaveRun(entry); err != nil {
		return nil, err
	}
	if t.RunState, err = d.lastState(entry.ID); err != nil {
		return nil, err
	}
	return d.carry(ctx, c, t)
}

// lastState returns the last known state of a run's search.
func (d *Driver) lastState(id string) (RunState, error) {
	var s RunState
	_, err := d.Store.Load(id, lastStateName, &s)
	return s, err
}

// Cancel stops a run, with all the work for it. With enough, only the search ends, and its findings
// are judged.
func (d *Driver) Cancel(ctx context.Context, id string, enough bool) error {
	c, err := Dial(ctx, d.Server)
	if err != nil {
		return err
	}
	defer c.Close()
	if enough {
		err = c.SignalWorkflow(ctx, id, "", enoughSignal, nil)
	} else {
		err = c.CancelWorkflow(ctx, id, "")
	}
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return &beagle.UsageError{
			What:   fmt.Sprintf("run %s is not under way on %s", id, d.Server.Address),
			Remedy: "'beagle resume " + id + "' starts it again",
		}
	}
	return err
}

func (d *Driver) result(id string) (*beagle.Result, error) {
	r := new(beagle.Result)
	ok, err := d.Store.Load(id, "result", r)
	if err == nil && !ok {
		err = fmt.Errorf("run %s has no result in the store %s: do the workers share it?", id, d.Store.Dir())
	}
	return r, err
}

// endError words the end of a workflow for the user.
func (d *Driver) endError(t Task, err error) (*beagle.Result, error) {
	var failed *temporal.ApplicationError
	var terminated *temporal.TerminatedError
	switch {
	case err == nil:
		return d.result(t.Run)
	case temporal.IsCanceledError(err):
		return nil, &fleet.Canceled{Run: t.Run}
	case errors.As(err, &failed) && failed.Type() == usageType:
		var remedy string
		_ = failed.Details(&remedy) // without it the message alone must do
		return nil, &beagle.UsageError{What: failed.Message(), Remedy: remedy}
	case errors.As(err, &terminated):
		return nil,
			fmt.Errorf("run %s was terminated on the server; 'beagle resume %s' starts it again where it stood", t.Run,
				t.Run)
	}
	return nil,
		fmt.Errorf("run %s failed: %s\nNothing is lost; 'beagle resume %s' goes on with it", t.Run, reason(err), t.Run)
}
