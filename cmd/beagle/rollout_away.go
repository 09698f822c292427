package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
	"github.com/beagle-go/beagle/internal/settings"
)

// lookEvery is the time between two looks at a workflow's progress.
const lookEvery = 500 * time.Millisecond

// placedRollout returns the server whose workflow drives a rollout, if one does.
func placedRollout(b pilot.Base) (at fleet.Server, ok bool, err error) {
	return fleet.ServerIn(b.Path(""))
}

// runOnServer has a workflow carry the rollout out, and follows it by its state in the store.
func (l *flight) runOnServer(ctx context.Context) (int, error) {
	if err := l.place(ctx); err != nil {
		return exitNo, err
	}
	l.unlock() // other commands may follow: the placement keeps them from driving it
	// Follow the workflow's decisions in the store while the driver waits for its end.
	f := &follower{flight: l, told: len(l.f.Log.Told), warned: l.f.Log.Warned}
	stop, err := l.serve(f.answerDeployers)
	if err != nil {
		return exitUsage, err
	}
	defer stop()
	looking, done := context.WithCancel(ctx)
	var looks sync.WaitGroup
	looks.Go(func() { f.follow(looking) })
	watch := newProgress(l.std.err, false)
	d := &fleet.Driver{Store: l.base.Store, Server: l.server, Watch: watch.watch, Log: watch}
	err = d.Rollout(ctx, l.id)
	watch.stop()
	done()
	looks.Wait()
	f.look()
	// Tell how the workflow, or the command alone, ended.
	var detached *fleet.Detached
	var stopped *fleet.Canceled
	switch {
	case errors.As(err, &detached):
		fmt.Fprintf(l.std.err, "\nThe rollout goes on without you. Follow it by the same command, or:\n"+
			"  beagle rollout status %s\n  beagle rollout stop %[1]s\n", l.id)
		return exitInterrupted, nil
	case errors.As(err, &stopped):
		fmt.Fprintf(l.std.err, "its workflow was canceled; the processes run the original. The same command goes on\n")
		return exitInterrupted, nil
	case err != nil:
		return exitNo, err
	}
	return l.printEnd(l.f.Log.Last)
}

// place stores the worker's inputs. A running workflow keeps the inputs that it was started with.
func (l *flight) place(ctx context.Context) error {
	o, err := absolute(l.order)
	if err != nil {
		return err
	}
	follows, err := l.follows(ctx)
	if err != nil {
		return err
	}
	// The worker has begun with the kept order. Name the flags that would change it, and ignore
	// them: they take effect only in a new rollout.
	if follows {
		kept, err := l.base.Order()
		if err != nil {
			return err
		}
		if flags := differing(kept, o); len(flags) > 0 {
			l.warn(fmt.Sprintf("the workflow keeps its first settings: %s of this command change nothing; 'beagle "+
				"rollout stop %s' ends it", strings.Join(flags, ", "), l.id))
		}
		l.order = kept
		return nil
	}
	if err := l.base.Keep(o); err != nil {
		return err
	}
	return l.base.Store.WriteJSON(l.base.Path(fleet.PlaceFile), l.server)
}

// absolute returns an order with paths that hold wherever the worker runs.
func absolute(o pilot.Order) (pilot.Order, error) {
	// The caller's list stays as it is, so make another one.
	all := o.At
	o.At = nil
	for _, at := range all {
		if !strings.HasPrefix(at, "http://") && !strings.HasPrefix(at, "https://") {
			var err error
			if at, err = filepath.Abs(strings.TrimPrefix(at, "unix:")); err != nil {
				return o, err
			}
		}
		o.At = append(o.At, at)
	}
	if o.Token == "" {
		return o, nil
	}
	var err error
	o.Token, err = filepath.Abs(o.Token)
	return o, err
}

// follows reports whether a workflow drives the rollout, which this command then follows. One on
// another server, or on a server that does not answer, is an error.
func (l *flight) follows(ctx context.Context) (bool, error) {
	at, placed, err := placedRollout(l.base)
	if err != nil || !placed {
		return false, err
	}
	// Two drivers of one rollout would undo each other's steps: when in doubt, refuse.
	s, err := (&fleet.Driver{Store: l.base.Store, Server: at}).RolloutStatus(ctx, l.id)
	switch {
	case err != nil:
		return false, fmt.Errorf("whether a workflow on %s drives rollout %s: %w", at.Address, l.id, err)
	case s.State != "running":
		return false, nil
	case at.Address != l.server.Address || at.Namespace != l.server.Namespace:
		return false, &beagle.UsageError{What: fmt.Sprintf("a workflow on %s drives rollout %s", at.Address, l.id),
			Remedy: "follow it with --temporal " + at.Address + ", or give another --id"}
	}
	return true, nil
}

// differing names the flags whose values differ in two orders.
func differing(was, now pilot.Order) (flags []string) {
	for _, f := range []struct {
		name     string
		was, now any
	}{
		{"--at", was.At, now.At}, {"--token", was.Token, now.Token}, {"--service", was.Service, now.Service},
		{"--cores", was.Cores, now.Cores}, {"--predicted", was.Predicted, now.Predicted},
		{"--slice, --turns or another limit of the processes", was.Limits, now.Limits},
		{"guardrails of " + settings.Name, was.Guards, now.Guards},
	} {
		// Compare in JSON, because the kept order was read from there.
		a, errA := json.Marshal(f.was)
		b, errB := json.Marshal(f.now)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			flags = append(flags, f.name)
		}
	}
	return flags
}

// A follower reports the workflow's decisions since its last look.
type follower struct {
	*flight
	mu           sync.Mutex
	told, warned int
}

func (f *follower) follow(ctx context.Context) { lookOften(ctx, f.look) }

// lookOften looks again and again until ctx ends.
func lookOften(ctx context.Context, look func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
			look()
		}
	}
}

// look reads the state, which is written whole or not at all. If it cannot be read, the next look
// reads it.
func (f *follower) look() {
	now, err := f.base.Load()
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.f = now
	for _, d := range now.Log.Told[min(f.told, len(now.Log.Told)):] {
		f.say(d)
	}
	for _, text := range now.Log.NewWarnings(f.warned) {
		f.warn(text)
	}
	f.told, f.warned = len(now.Log.Told), now.Log.Warned
}

// answerDeployers answers deployers; see [pilot.Source].
func (f *follower) answerDeployers(look func(*rollout.Experiment, rollout.Decision)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	look(&f.f.Experiment, f.f.Log.Last)
}

// controllerOf names the workflow that drives a rollout, if one does.
func controllerOf(ctx context.Context, b pilot.Base) (string, error) {
	at, placed, err := placedRollout(b)
	if err != nil || !placed {
		return "", err
	}
	d := &fleet.Driver{Store: b.Store, Server: at}
	s, err := d.RolloutStatus(ctx, b.ID)
	if err != nil {
		return fmt.Sprintf("a workflow on %s, which does not answer: %v", at.Address, err), nil
	}
	return fmt.Sprintf("a workflow on %s: %s", at.Address, s), nil
}
