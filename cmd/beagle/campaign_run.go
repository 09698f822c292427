package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/campaign"
	"github.com/beagle-go/beagle/internal/flow/campaigns"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/store"
)

// relate notes how the profile relates the hot spots to each other.
func (o *campaignRun) relate(t *hotspots.Table, s *campaign.State) {
	for i, a := range t.Hotspots.Hotspots {
		if i >= campaign.Looked*o.targets && !o.heads {
			break // no campaign gets that far, unless it passes over what its heads reach
		}
		s.Callers[a.Target] = t.Payers(a.Target)
		s.Inside[a.Target] = t.EntriesBelow(a.Target, o.spec.Across)
		s.Together[a.Target] = map[string]float64{}
		for _, b := range t.Hotspots.Hotspots {
			if both := t.SharedShare(a.Target, b.Target); both > 0 && a.Target != b.Target {
				s.Together[a.Target][b.Target] = both
			}
		}
		if below, err := t.Subtree(a.Target); err == nil {
			s.Subtrees[a.Target] = &campaign.Subtree{Share: below.Share, Known: below.Known,
				Samples: below.Samples, Effective: below.Effective, Callees: below.Callees, Lines: below.Lines}
		}
	}
	// The table lists no function below the least share. Those that were improved may be there now.
	s.Table.Dropped = nil
	for target := range s.Memory {
		if dropped, _, err := t.Why(target); err == nil {
			s.Table.Dropped = append(s.Table.Dropped, dropped...)
		}
	}
}

// work returns the worker on targets.
func (o *campaignRun) work() campaigns.Work {
	w := campaigns.Work{Base: campaigns.Base{Store: o.store, ID: o.state.Campaign.ID}, Order: o.order(),
		Watch: o.watch.watch}
	if o.at != "" {
		w.Capture = o.capture
	}
	return w
}

// order returns the flags that a campaign keeps for --resume.
func (o *campaignRun) order() campaigns.Order {
	return campaigns.Order{Spec: o.spec, Evidence: o.evidence, Inputs: o.inputs, Files: o.files, At: o.at,
		Again: o.again, NoBench: o.noBench}
}

// capture records calls of a target at the probes of --at.
func (o *campaignRun) capture(ctx context.Context, target, file string) error {
	_, err := captureCommand.run(ctx, captureCommand, []string{"start", "--at", o.at, "--for", "30s", "--out", file,
		"-C", o.state.Dir, target}, stdio{io.Discard, o.watch})
	return err
}

// carry takes up targets until all are done, the budget is spent, or the user stops it.
func (o *campaignRun) carry(ctx context.Context) (int, error) {
	// Carry the campaign out here, or have a workflow do it.
	var err error
	if o.server.Address != "" {
		err = o.runOnServer(ctx)
	} else {
		lock, lerr := o.claim()
		if lerr != nil {
			return exitUsage, lerr
		}
		defer lock.Unlock()
		l := &campaigns.Local{Work: o.work(), State: o.state, Used: o.used}
		if err := l.Keep(l.Order); err != nil { // flags may have changed it
			return exitNo, err
		}
		err = l.Carry(ctx)
	}
	o.watch.stop()
	if ferr := o.report(); ferr != nil && err == nil {
		err = ferr
	}
	// Tell how the campaign ended. A target that failed makes the status 1.
	id := o.state.Campaign.ID
	var detached *fleet.Detached
	var stopped *fleet.Canceled
	switch {
	case errors.As(err, &detached):
		fmt.Fprintf(o.std.err, "\nThe campaign goes on without you. Follow it again, or stop it, with:\n"+
			"  beagle campaign --resume %s --temporal %s\n  beagle cancel %[1]s\n", id, o.server.Address)
		return exitInterrupted, nil
	case ctx.Err() != nil || errors.As(err, &stopped):
		fmt.Fprintf(o.std.err, "\nStopped; nothing is lost. Go on with:\n  beagle campaign --resume %s\n", id)
		return exitInterrupted, nil
	case err != nil:
		return exitNo, err
	}
	for _, t := range o.state.Campaign.Targets {
		if t.State == beagle.CampaignFailed {
			return exitNo, nil
		}
	}
	return exitOK, nil
}

// claim takes the campaign for this process, unless a workflow or another process has it.
func (o *campaignRun) claim() (*store.Lock, error) {
	b := campaigns.Base{Store: o.store, ID: o.state.Campaign.ID}
	lock, err := b.Lock()
	if err != nil {
		return nil, err
	}
	if at, placed, err := b.Server(); err != nil || placed {
		lock.Unlock()
		return nil, cmp.Or(err, placedError(b, at))
	}
	return lock, nil
}

// placedError says that a workflow has a campaign.
func placedError(b campaigns.Base, at fleet.Server) error {
	return &beagle.UsageError{
		What:   fmt.Sprintf("a workflow on %s carries campaign %s out", at.Address, b.ID),
		Remedy: "follow it with --temporal " + at.Address,
	}
}

// report writes the reports of the searches with a result.
func (o *campaignRun) report() error {
	for _, t := range o.state.Campaign.Targets {
		if t.Run == "" || t.State == beagle.CampaignKnown {
			continue
		}
		r := new(beagle.Result)
		if ok, err := o.store.Load(t.Run, "result", r); err != nil || !ok {
			continue // it was stopped
		}
		if err := writeFiles(o.store.RunDir(t.Run), r); err != nil {
			return err
		}
	}
	return nil
}
