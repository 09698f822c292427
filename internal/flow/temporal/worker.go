package temporal

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/semaphore"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/store"
)

// A Worker does work of some kinds, from the queues of a server, with a store
// that it shares with all others.
type Worker struct {
	Store       *store.Store
	Kinds       []string                         // of [fleet.Kinds]
	MachineKind string                           // of this machine; default what [flow.MachineKind] says
	Open        func(watch flow.Watcher) Stages  // default [flow.Activities] over the store
	Says        func(format string, args ...any) // prints a line for the worker's operator; may be nil
}

// Serve works until ctx ends. Then it gives its work back: its programs are killed, and another
// worker takes over.
func (w *Worker) Serve(ctx context.Context, c client.Client) error {
	own := llmQueue + "/" + store.NewID()
	queues, err := w.queues(own)
	if err != nil {
		return err
	}
	// One worker at a time measures on a machine.
	if slices.Contains(w.Kinds, benchKind) {
		lock, err := store.LockMachine("beagle worker")
		if err != nil {
			return err
		}
		defer lock.Unlock()
	}
	desks := &desks{open: w.open()}
	defer desks.close()
	acts := &activities{store: w.Store, desks: desks, stop: ctx, quiet: semaphore.NewWeighted(everybody), ownQueue: own,
		alive: func(ctx context.Context, said []flow.Event) error {
			return c.RecordActivityHeartbeat(ctx, activity.GetInfo(ctx).TaskToken, said)
		}}
	// One poller for each queue.
	fatal := make(chan error, len(queues))
	for _, q := range queues {
		o := q.options()
		o.OnFatalError = func(err error) { fatal <- err }
		s := worker.New(c, q.name, o)
		if q.name == rolloutQueue {
			registerRollouts(s, &rollouts{store: w.Store, stop: ctx})
		} else {
			register(s, w.Store, acts, q.workflows)
		}
		if err := s.Start(); err != nil {
			return fmt.Errorf("queue %s: %w", q.name, err)
		}
		defer s.Stop()
		if q.name != own {
			w.say("takes work from %s", q.name)
		}
	}
	select {
	case <-ctx.Done():
		w.say("stops")
		return nil
	case err := <-fatal:
		return err
	}
}

func (w *Worker) say(format string, args ...any) {
	if w.Says != nil {
		w.Says(format, args...)
	}
}

func (w *Worker) open() func(flow.Watcher) Stages {
	if w.Open != nil {
		return w.Open
	}
	return func(watch flow.Watcher) Stages { return &flow.Activities{Store: w.Store, Watch: watch} }
}

// calls bounds the calls to models that a worker makes at once. Each run has a limit of its own.
const calls = 256

// maxRollouts bounds the rollouts that a worker drives at once: they mostly wait.
const maxRollouts = 64

// A queue is a place that a worker takes work from.
type queue struct {
	name      string
	at        int // once
	workflows bool
}

// queues returns the queues of the worker's kinds. A worker that does more than measure takes
// workflows too: they are little work, and measuring machines are left in peace. own is the queue
// for the calls of runs that enlisted this worker.
func (w *Worker) queues(own string) ([]queue, error) {
	machineKind := w.MachineKind
	if machineKind == "" {
		machineKind = flow.MachineKind(flow.ThisMachine(""))
	}
	// List a queue for each kind, with the tasks that it may do at once.
	var out []queue
	for _, k := range w.Kinds {
		switch k {
		case llmQueue:
			out = append(out, queue{name: k, at: 8}, queue{name: own, at: calls})
		case buildQueue, verifyQueue:
			out = append(out, queue{name: k, at: max(1, runtime.NumCPU()/2)})
		case benchKind:
			out = append(out, queue{name: benchQueue(machineKind), at: 1})
		case rolloutQueue:
			out = append(out, queue{name: k, at: maxRollouts, workflows: true})
		default:
			return nil, &beagle.UsageError{
				What:   fmt.Sprintf("--queues names %q, which is not a kind of work", k),
				Remedy: fmt.Sprintf("give some of %q and %q, separated by commas", fleet.Kinds, fleet.Rollout),
			}
		}
	}
	if len(out) == 0 {
		return nil, &beagle.UsageError{
			What:   "--queues is empty",
			Remedy: fmt.Sprintf("give some of %q, separated by commas", fleet.Kinds),
		}
	}
	// Add the workflows of runs.
	if slices.ContainsFunc(w.Kinds, func(k string) bool { return k != benchKind && k != rolloutQueue }) {
		out = append(out, queue{name: runQueue, at: 1, workflows: true})
	}
	return out, nil
}

// maxYield bounds the time that a workflow may go on without a pause before the SDK takes it for
// hanging and has its task done again. The SDK's second is short on a machine that searches.
const maxYield = time.Minute

func (q queue) options() worker.Options {
	host, _ := os.Hostname()
	return worker.Options{
		Identity:                           fmt.Sprintf("%s %d %s", host, os.Getpid(), q.name),
		MaxConcurrentActivityExecutionSize: q.at,
		DisableWorkflowWorker:              !q.workflows,
		DisableEagerActivities:             true, // work goes through its queue, to any free worker
		StickyScheduleToStartTimeout:       time.Second,
		DeadlockDetectionTimeout:           maxYield,
		MaxHeartbeatThrottleInterval:       rolloutBeat / 2, // the SDK's own: how long it waits for an answer, too
		DefaultHeartbeatThrottleInterval:   rolloutBeat / 2,
		WorkerStopTimeout:                  30 * time.Second, // for programs to be killed and work to be given back
	}
}

// A registry is a worker, or what tests have in its place.
type registry interface {
	RegisterWorkflowWithOptions(w any, o workflow.RegisterOptions)
	RegisterActivityWithOptions(a any, o activity.RegisterOptions)
}

// register registers the workflows with their local activities, or the other activities.
func register(r registry, s *store.Store, a *activities, workflows bool) {
	named := func(name string) activity.RegisterOptions { return activity.RegisterOptions{Name: name} }
	if workflows {
		r.RegisterWorkflowWithOptions(Run, workflow.RegisterOptions{Name: runWorkflow})
		r.RegisterWorkflowWithOptions(Island, workflow.RegisterOptions{Name: islandWorkflow})
		b := &localActivities{store: s, keeper: keeper{store: s}}
		for name, f := range map[string]any{
			beginLocal: b.Begin,
			drawLocal:  b.Draw,
			tellLocal:  b.Tell,
			rankLocal:  b.Rank,
			closeLocal: b.Close,
			actLocal:   b.Act,
		} {
			r.RegisterActivityWithOptions(f, named(name))
		}
		registerCampaigns(r, b)
		return
	}
	for name, f := range map[string]any{
		identifyActivity: a.Identify, prepareActivity: a.Prepare, proposeActivity: a.Propose,
		evaluateActivity: a.Evaluate,
		confirmActivity:  a.Confirm, proveActivity: a.Prove, judgeActivity: a.Judge, reportActivity: a.Report,
		receiveActivity: a.Receive, enlistActivity: a.Enlist, askActivity: a.Ask,
		lookActivity: a.LookTarget, judgeTargetActivity: a.JudgeTarget,
	} {
		r.RegisterActivityWithOptions(f, named(name))
	}
}
