package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
)

// rolloutStatus prints how rollouts stand, by their files.
func rolloutStatus(ctx context.Context, o *rolloutFlags) (int, error) {
	s, err := openStore()
	if err != nil {
		return exitNo, err
	}
	// Without names, list all rollouts of the store.
	names := o.rest
	if len(names) == 0 {
		found, err := filepath.Glob(pilot.Base{Store: s, ID: "*"}.Path("state.json"))
		if err != nil {
			return exitNo, err
		}
		for _, f := range found {
			names = append(names, filepath.Base(filepath.Dir(f)))
		}
	}
	if len(names) == 0 && !o.asJSON {
		fmt.Fprintln(o.std.out, "There are no rollouts yet.")
	}
	status := exitOK
	// Print each rollout. With a single name, the status is that of the rollout.
	for _, name := range names {
		b := pilot.Base{Store: s, ID: name}
		f, err := b.Load()
		if errors.Is(err, fs.ErrNotExist) {
			err = &beagle.UsageError{What: fmt.Sprintf("there is no rollout %q", name),
				Remedy: "'beagle rollout status' lists them"}
		}
		if err != nil {
			return exitUsage, err
		}
		r := reportOf(&f.Experiment, uncontrolledDecision(f))
		r.Stopping = b.Stopped() && !f.Over()
		if r.Controller, err = controllerOf(ctx, b); err != nil {
			return exitNo, err
		}
		if len(o.rest) == 1 {
			status = rolloutExit(r)
		}
		if o.asJSON {
			err = printJSON(o.std.out, r)
		} else {
			fmt.Fprintf(o.std.out, "%s  ", name)
			printRollout(o.std.out, r)
		}
		if err != nil {
			return exitNo, err
		}
	}
	return status, nil
}

// rolloutStop has the controller end a rollout, or the next start of it.
func rolloutStop(ctx context.Context, o *rolloutFlags) (int, error) {
	if !plainName.MatchString(o.rest[0]) {
		return exitUsage, &beagle.UsageError{What: fmt.Sprintf("%q is not the name of a rollout", o.rest[0]),
			Remedy: "'beagle rollout status' lists them"}
	}
	s, err := openStore()
	if err != nil {
		return exitNo, err
	}
	b := pilot.Base{Store: s, ID: o.rest[0]}
	f, err := b.Load()
	if errors.Is(err, fs.ErrNotExist) {
		return exitUsage, &beagle.UsageError{What: fmt.Sprintf("there is no rollout %q", o.rest[0]),
			Remedy: "'beagle rollout status' lists them"}
	}
	if err == nil && f.Over() {
		fmt.Fprintf(o.std.out, "%s has ended before (%s): %s\n", b.ID, f.State.Phase, clean(f.State.Cause))
		return exitOK, nil
	}
	// A state that cannot be read must not keep a rollout from being stopped.
	// The file ends it also when no Temporal server answers.
	if err := b.Write("stop", nil); err != nil {
		return exitNo, err
	}
	if at, placed, err := placedRollout(b); err != nil {
		return exitNo, err
	} else if placed {
		d := &fleet.Driver{Store: s, Server: at, Log: o.std.err}
		if err := d.StopRollout(ctx, b.ID); err != nil {
			fmt.Fprintf(o.std.err,
				"warning: the workflow did not get the stop, and will find it in the store: %v\n", err)
		}
	}
	fmt.Fprintf(o.std.out,
		"%s ends: its controller rolls back within a second; without one the processes run the original "+
			"already, or within ten seconds\n", o.rest[0])
	return exitOK, nil
}
