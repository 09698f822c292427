package main

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/campaign"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/campaigns"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
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
		std := stdio{io.Discard, io.Discard}
		args = append(args, "--resume", "c1")
		if at.Address == "" {
			args = append(args, "--model", "test@http://127.0.0.1:1/v1")
		}
		first := &campaignRun{campaignFlags: campaignFlags{resume: "c1"}, std: std, store: s}
		o, f, err := first.reread(campaignCommand, args, nil)
		if err != nil {
			t.Fatal(err)
		}
		o.server = at
		if err := o.settleModels(f); err != nil {
			t.Fatal(err)
		}
		err = o.load(f)
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
	if _, err := resume(at, "--candidates", "5"); !errors.As(err, &bad) {
		t.Errorf("in a workflow: %v", err)
	}
	if _, err := resume(at); err != nil {
		t.Errorf("in a workflow, not given: %v", err)
	}
}

// TestResumeKeepsSettings: a campaign that is taken up from another directory searches as it began.
// A flag that is given again changes its own setting alone.
func TestResumeKeepsSettings(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	std := stdio{io.Discard, io.Discard}
	settled := func(o *campaignRun, f *flagSet) *campaignRun {
		t.Helper()
		o.store = s
		if err := o.settle(f); err != nil {
			t.Fatal(err)
		}
		return o
	}
	// Begin with settings that differ from all defaults.
	inputs := t.TempDir()
	o, f, _, err := readCampaign(campaignCommand, []string{"--candidates", "12", "--measure", "5s", "--rules", "lift",
		"--across", "--fastest", "--evidence", "inplace", "--inputs", inputs, "--no-bench", "--again", "--score", "allocs",
		"--model", "test@http://127.0.0.1:1/v1", "--budget-usd", "2", "cpu.pprof"}, std, nil)
	if err != nil {
		t.Fatal(err)
	}
	o = settled(o, f)
	o.state = &campaign.State{Dir: t.TempDir(), Campaign: beagle.Campaign{ID: "c1"}}
	if err := errors.Join(o.work().Keep(o.order()), o.save()); err != nil {
		t.Fatal(err)
	}
	// Go on.
	resume := func(args ...string) campaigns.Order {
		t.Helper()
		args = append(args, "--resume", "c1")
		first, _, _, err := readCampaign(campaignCommand, args, std, nil)
		if err != nil {
			t.Fatal(err)
		}
		first.store = s
		again, f, err := first.reread(campaignCommand, args, nil)
		if err != nil {
			t.Fatal(err)
		}
		return settled(again, f).order()
	}
	want := o.order()
	want.Spec.Dir = o.state.Dir
	if got := resume(); !reflect.DeepEqual(got, want) {
		t.Errorf("resumed:\n%+v\nwant\n%+v", got, want)
	}
	probes := want
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	probes.Inputs, probes.At = "", "http://host/probe,"+filepath.Join(wd, "a.sock")
	if got := resume("--at", "http://host/probe,a.sock"); !reflect.DeepEqual(got, probes) {
		t.Errorf("resumed with probes:\n%+v\nwant\n%+v", got, probes)
	}
	want.Spec.Candidates, want.Spec.Models.Caps.Money = 20, llm.MicrosOf(5)
	if got := resume("--candidates", "20", "--budget-usd", "5"); !reflect.DeepEqual(got, want) {
		t.Errorf("resumed with other settings:\n%+v\nwant\n%+v", got, want)
	}
}

// TestResumeRefuses: a flag beside --resume that would change nothing is refused, with its name.
func TestResumeRefuses(t *testing.T) {
	kept := campaigns.Order{Spec: flow.Defaults()}
	var err error
	if kept.Spec.Models.Ask, err = llm.ParseModels([]string{"test@http://127.0.0.1:1/v1"}); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--targets", "9"}, {"--least", "2"}, {"-C", "."}, {"--temperature", "0.5"}, {"--key-file", "x"},
	} {
		o, f, _, err := readCampaign(campaignCommand, args, stdio{io.Discard, io.Discard}, &kept)
		if err != nil {
			t.Fatal(err)
		}
		var bad *beagle.UsageError
		err = cmp.Or(o.changes(f), o.settleModels(f))
		if !errors.As(err, &bad) || !strings.Contains(bad.What, args[0]) {
			t.Errorf("%q: %v", args, err)
		}
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
	if _, placed, err := w.Server(); placed || err != nil {
		t.Errorf("placed %v, %v", placed, err)
	}
	o.server = fleet.Server{}
	if _, err := o.carry(t.Context()); !errors.As(err, &bad) {
		t.Errorf("carried out: %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := o.claim(); err != nil {
		t.Errorf("when it is free: %v", err)
	}
}
