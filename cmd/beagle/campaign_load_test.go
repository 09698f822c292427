package main

import (
	"errors"
	"io"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/campaign"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/campaigns"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/store"
)

// TestResumeBudget: a budget that is given with --resume takes the place of the old one, which
// stays otherwise. It is refused when a workflow has the campaign.
func TestResumeBudget(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := campaigns.Base{Store: s, ID: "c1"}
	old := &campaign.State{Campaign: beagle.Campaign{ID: "c1", Budget: beagle.CampaignCost{Dollars: 2}}}
	if err := b.Save(old); err != nil {
		t.Fatal(err)
	}
	resume := func(at fleet.Server, args ...string) (float64, error) {
		o := &campaignRun{campaignFlags: campaignFlags{spec: flow.Defaults(), resume: "c1", server: at}, store: s}
		models, f := modelOptions{}, campaignCommand.flags(stdio{io.Discard, io.Discard})
		models.flags(f, &o.spec.Models)
		if err := f.Parse(append(args, "--model", "test@http://127.0.0.1:1/v1")); err != nil {
			t.Fatal(err)
		}
		if err := models.settle(&o.spec.Models); err != nil {
			t.Fatal(err)
		}
		err := o.load(f, nil)
		return o.state.Campaign.Budget.Dollars, err
	}
	if got, err := resume(fleet.Server{}, "--budget-usd", "5"); err != nil || got != 5 {
		t.Errorf("given: %v, %v", got, err)
	}
	if got, err := resume(fleet.Server{}); err != nil || got != 2 {
		t.Errorf("not given: %v, %v", got, err)
	}
	at := fleet.Server{Address: "127.0.0.1:1"}
	if err := b.Place(at); err != nil {
		t.Fatal(err)
	}
	var bad *beagle.UsageError
	if _, err := resume(at, "--budget-usd", "5"); !errors.As(err, &bad) {
		t.Errorf("in a workflow: %v", err)
	}
	if _, err := resume(at); err != nil {
		t.Errorf("in a workflow, not given: %v", err)
	}
}

// TestCampaignOwned: while a process has a campaign, it is neither carried out by another one nor
// handed to a server.
func TestCampaignOwned(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	lock, err := campaigns.Base{Store: s, ID: "c1"}.Lock()
	if err != nil {
		t.Fatal(err)
	}
	o := &campaignRun{
		campaignFlags: campaignFlags{server: fleet.Server{Address: "127.0.0.1:1"}, spec: flow.Defaults()},
		store:         s,
		state:         &campaign.State{Campaign: beagle.Campaign{ID: "c1"}},
		watch:         newProgress(io.Discard, true),
	}
	w := o.work()
	var bad *beagle.UsageError
	if err := o.hand(t.Context(), &w); !errors.As(err, &bad) {
		t.Errorf("handed over: %v", err)
	}
	if _, placed, err := w.Placed(); placed || err != nil {
		t.Errorf("placed %v, %v", placed, err)
	}
	o.server = fleet.Server{}
	if _, err := o.carry(t.Context()); !errors.As(err, &bad) {
		t.Errorf("carried out: %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := o.own(); err != nil {
		t.Errorf("when it is free: %v", err)
	}
}
