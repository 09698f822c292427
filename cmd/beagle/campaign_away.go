package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/campaigns"
	"github.com/beagle-go/beagle/internal/flow/fleet"
)

// runOnServer has a workflow carry the campaign out, and follows it by its state in the store.
func (o *campaignRun) runOnServer(ctx context.Context) error {
	w := o.work()
	if err := o.hand(ctx, &w); err != nil {
		return err
	}
	// Follow the state in the store while the workflow runs, and once more after its end.
	looking, done := context.WithCancel(ctx)
	defer done()
	var looks sync.WaitGroup
	f := &campaignFollower{campaignRun: o, base: w.Base, said: map[string]string{}}
	looks.Go(func() { f.follow(looking) })
	d := &fleet.Driver{Store: o.store, Server: o.server, Watch: o.watch.watch, Log: o.watch}
	err := d.Campaign(ctx, w.ID)
	done()
	looks.Wait()
	f.look()
	return err
}

// hand stores the workflow's inputs. Inputs that are stored already stay: the workflow may use
// them.
func (o *campaignRun) hand(ctx context.Context, w *campaigns.Work) error {
	if _, placed, err := w.Server(); err != nil || placed {
		return err
	}
	lock, err := o.claim()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if o.at != "" {
		// A worker may not reach the probes, so that the calls are captured here.
		for i := range o.state.Campaign.Targets {
			if t := &o.state.Campaign.Targets[i]; t.State == beagle.CampaignWaiting {
				w.FindInputs(ctx, t)
			}
		}
		if err := w.Save(o.state); err != nil {
			return err
		}
	}
	order := w.Order
	if err := order.Spec.Anchor(); err != nil {
		return err
	}
	if err := w.Keep(order); err != nil {
		return err
	}
	return w.Place(o.server)
}

// A campaignFollower reports the workflow's progress since its last look.
type campaignFollower struct {
	*campaignRun
	base campaigns.Base
	said map[string]string // the last word of each target
}

func (f *campaignFollower) follow(ctx context.Context) { lookOften(ctx, f.look) }

// look reads the state, which is written whole or not at all. If it cannot be read, the next look
// reads it.
func (f *campaignFollower) look() {
	now, err := f.base.Load()
	if err != nil {
		return
	}
	f.state = now
	watch := flow.Watcher(f.watch.watch)
	// Report each target whose state has changed since the last look.
	for i, t := range now.Campaign.Targets {
		word := ""
		switch t.State {
		case beagle.CampaignWaiting:
			if next := now.Next(); next != nil && next.Target == t.Target {
				word = fmt.Sprintf("%d of %d: %s (%s)", i+1, len(now.Campaign.Targets), t.Target, t.Why)
			}
		case beagle.CampaignRunning:
			word = fmt.Sprintf("%s: its search is run %s", t.Target, t.Run)
		default:
			word = fmt.Sprintf("%s: %s", t.Target, t.State)
			if t.Next != "" {
				word += "; " + t.Next
			}
		}
		if word != "" && f.said[t.Target] != word {
			f.said[t.Target] = word
			watch.Stage("target", word)
		}
	}
}
