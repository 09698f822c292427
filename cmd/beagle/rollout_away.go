package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
)

// lookEvery is how often a command looks how far a workflow has brought a rollout.
const lookEvery = 500 * time.Millisecond

// placedRollout is the server whose workflow drives a rollout, if one does.
func placedRollout(b pilot.Base) (at fleet.Server, ok bool, err error) {
	return fleet.PlacedIn(b.Path(""))
}

// away has a workflow carry the rollout out, and follows it by its state in the store.
func (l *flight) away(ctx context.Context) (int, error) {
	if err := l.place(); err != nil {
		return exitNo, err
	}
	l.unlock() // others may follow: what is placed keeps other commands from driving it
	f := &follower{flight: l, told: len(l.f.Log.Told), warned: l.f.Log.Warned}
	stop, err := l.serve(f.standing)
	if err != nil {
		return exitUsage, err
	}
	defer stop()
	looking, done := context.WithCancel(ctx)
	var looks sync.WaitGroup
	looks.Go(func() { f.follow(looking) })
	watch := newProgress(l.std.err, false)
	d := &fleet.Driver{Store: l.base.Store, Server: l.server, Watch: watch.watch, Log: l.std.err}
	err = d.Rollout(ctx, l.id)
	watch.stop()
	done()
	looks.Wait()
	f.look()
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
	return l.ended(l.f.Log.Last)
}

// place keeps what the worker needs to know, with paths that hold wherever it runs.
func (l *flight) place() error {
	o := l.order
	o.At = nil
	for _, at := range l.order.At {
		if !strings.HasPrefix(at, "http://") && !strings.HasPrefix(at, "https://") {
			var err error
			if at, err = filepath.Abs(strings.TrimPrefix(at, "unix:")); err != nil {
				return err
			}
		}
		o.At = append(o.At, at)
	}
	if o.Token != "" {
		whole, err := filepath.Abs(o.Token)
		if err != nil {
			return err
		}
		o.Token = whole
	}
	if err := l.base.Keep(o); err != nil {
		return err
	}
	return l.base.Store.WriteJSON(l.base.Path(fleet.PlaceFile), l.server)
}

// A follower tells what a workflow has decided since it looked last.
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

// look reads the state, which is written whole or not at all. What cannot be read is read later.
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

// standing answers deployers; see [pilot.Source].
func (f *follower) standing(look func(*rollout.Experiment, rollout.Decision)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	look(&f.f.Experiment, f.f.Log.Last)
}

// controllerOf says what drives a rollout, where a workflow does.
func controllerOf(ctx context.Context, b pilot.Base) (string, error) {
	at, placed, err := placedRollout(b)
	if err != nil || !placed {
		return "", err
	}
	d := &fleet.Driver{Store: b.Store, Server: at}
	s, err := d.RolloutStatus(ctx, b.ID)
	if err != nil {
		return fmt.Sprintf("a workflow on %s, which does not tell: %v", at.Address, err), nil
	}
	return fmt.Sprintf("a workflow on %s: %s", at.Address, s), nil
}
