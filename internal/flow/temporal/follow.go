package temporal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/fleet"
)

const (
	lookEvery = 500 * time.Millisecond
	pollEvery = 15 * time.Second // looks for workers
	recently  = 90 * time.Second // a worker polls at least once a minute
)

// A follower tells the user what goes on in a run.
type follower struct {
	d       *Driver
	c       client.Client
	t       Task
	stage   string
	event   string
	told    int            // of Progress.Notes
	said    map[string]int // events of the activity under way that the watcher has, by its name
	missing map[string]bool
}

// follow waits for the end of a run. When ctx ends it lets go of the run.
func (d *Driver) follow(ctx context.Context, c client.Client, t Task) (*beagle.Result, error) {
	f := &follower{d: d, c: c, t: t, said: map[string]int{}, missing: map[string]bool{}}
	end, away := make(chan error, 1), make(chan error, 1)
	go func() { end <- f.outcome(ctx, away) }()
	look, poll := time.NewTicker(lookEvery), time.NewTicker(pollEvery)
	defer look.Stop()
	defer poll.Stop()
	f.pollers(ctx)
	for {
		select {
		case err := <-end:
			if ctx.Err() != nil {
				return nil, &fleet.Detached{Run: t.Run}
			}
			f.look(ctx)
			return d.endError(t, err)
		case err := <-away:
			d.Watch.Warn(fmt.Sprintf("the server %s does not answer (%v); waiting for it",
				d.Server.Address, err))
		case <-poll.C:
			f.pollers(ctx)
		case <-look.C:
			f.look(ctx)
		}
	}
}

// outcome waits for the run's end and returns the run's own error. An unreachable server is not an
// outcome: outcome warns once and retries.
func (f *follower) outcome(ctx context.Context, away chan<- error) error {
	for {
		err := f.c.GetWorkflow(ctx, f.t.Run, "").Get(ctx, nil)
		if ctx.Err() != nil || !unreachable(err) {
			return err
		}
		select {
		case away <- err:
			away = nil // once
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// unreachable reports whether an error says that the server did not answer. An answer of the
// server, such as that there is no such run, is final.
func unreachable(err error) bool {
	var unavailable *serviceerror.Unavailable
	var late *serviceerror.DeadlineExceeded
	var failed *temporal.WorkflowExecutionError
	if err == nil || errors.As(err, &failed) {
		return false
	}
	return errors.As(err, &unavailable) || errors.As(err, &late) || errors.Is(err, context.DeadlineExceeded)
}

// look asks the run how far it is. No answer is no news: its worker may just
// be starting.
func (f *follower) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*lookEvery)
	defer cancel()
	answer, err := f.c.QueryWorkflow(ctx, f.t.Run, "", progressQuery)
	var p Progress
	if err != nil || answer.Get(&p) != nil {
		return
	}
	for _, digest := range p.Notes[min(f.told, len(p.Notes)):] {
		f.told++
		var events []flow.Event
		if f.d.Store.GetJSON(digest, &events) == nil {
			f.tell(events)
		}
	}
	f.live(ctx)
	if p.Stage != f.stage {
		if f.stage = p.Stage; p.Stage == "search" {
			f.d.Watch.Stage("search", p.About)
		}
	}
	if p.Event != "" && p.Event != f.event {
		f.event = p.Event
		event := new(flow.EvaluatedEvent)
		if f.d.Watch != nil && f.d.Store.GetJSON(p.Event, event) == nil && event.Generation > 0 {
			f.d.Watch(flow.Event{Evaluated: event})
		}
	}
}

// tell passes on the messages of a finished activity, except those that its heartbeats have
// brought already.
func (f *follower) tell(events []flow.Event) {
	for name, n := range f.said {
		if n > 0 {
			events = events[min(n, len(events)):]
			f.said[name] = 0
			break
		}
	}
	f.pass(events)
}

func (f *follower) pass(events []flow.Event) {
	if f.d.Watch == nil {
		return
	}
	for _, e := range events {
		f.d.Watch(e)
	}
}

// live passes on the messages in the heartbeats of the activity under way.
func (f *follower) live(ctx context.Context) {
	d, err := f.c.DescribeWorkflowExecution(ctx, f.t.Run, "")
	if err != nil {
		return
	}
	for _, a := range d.PendingActivities {
		var events []flow.Event
		if a.HeartbeatDetails == nil ||
			converter.GetDefaultDataConverter().FromPayloads(a.HeartbeatDetails, &events) != nil {
			continue
		}
		name := a.ActivityType.GetName()
		f.pass(events[min(f.said[name], len(events)):])
		f.said[name] = max(f.said[name], len(events))
	}
}

// pollers warns, once, of work that no worker takes.
func (f *follower) pollers(ctx context.Context) {
	bench := benchQueue(f.t.MachineKind)
	kinds := map[string]string{
		runQueue:    buildQueue,
		llmQueue:    llmQueue,
		buildQueue:  buildQueue,
		verifyQueue: verifyQueue,
		bench:       benchKind,
	}
	var idle, new []string
	for _, q := range []string{runQueue, llmQueue, buildQueue, verifyQueue, bench} {
		served, err := f.queueServed(ctx, q)
		if err != nil {
			return // the server is unreachable, so there is no news
		}
		if !served {
			idle = append(idle, q)
			if !f.missing[q] {
				new = append(new, q)
			}
		}
		f.missing[q] = !served
	}
	command := "beagle worker --temporal " + f.d.Server.Address
	switch {
	case len(new) > 0 && len(idle) == len(kinds):
		f.d.Watch.Warn("the run waits for workers: " + command)
	case len(new) > 0:
		for _, q := range new {
			f.d.Watch.Warn(fmt.Sprintf("no worker takes work from the queue %s; the run waits for one: %s --queues %s",
				q, command, kinds[q]))
		}
	}
}

func (f *follower) queueServed(ctx context.Context, queue string) (bool, error) {
	return queueServed(ctx, f.c, queue)
}

// queueServed reports whether a worker has asked for work of a queue lately.
func queueServed(ctx context.Context, c client.Client, queue string) (bool, error) {
	kind := enums.TASK_QUEUE_TYPE_ACTIVITY
	if queue == runQueue {
		kind = enums.TASK_QUEUE_TYPE_WORKFLOW
	}
	d, err := c.DescribeTaskQueue(ctx, queue, kind)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(d.Pollers, func(p *taskqueue.PollerInfo) bool {
		return time.Since(p.LastAccessTime.AsTime()) < recently
	}), nil
}
