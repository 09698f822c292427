package temporal

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/campaign"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/campaigns"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
)

// hotspots are the targets of a campaign on this module.
var hotspots = []string{"github.com/beagle-go/beagle/examples/tags.MergeTags",
	"github.com/beagle-go/beagle/examples/tags.NormalizeTagArbTagValue"}

// planned writes a campaign over hot spots into the store, with the number of candidates of each
// search.
func planned(t *testing.T, f *testFleet, candidates int) campaigns.Base {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	s := &campaign.State{Dir: root, Most: len(hotspots), Campaign: beagle.Campaign{ID: "c", Least: 0.001}}
	for i, target := range hotspots {
		s.Table.Hotspots = append(s.Table.Hotspots, beagle.Hotspot{Target: target, Net: 0.1 / float64(i+1), Cum: 0.1})
	}
	s.Plan()
	b := campaigns.Base{Store: openAt(f.home()), ID: "c"}
	spec := simSpec(candidates)
	spec.Target = ""
	if err := errors.Join(b.Save(s), b.Keep(campaigns.Order{Spec: spec})); err != nil {
		t.Fatal(err)
	}
	return b
}

func (f *testFleet) campaign(ctx context.Context) chan error {
	end := make(chan error, 1)
	go func() { end <- f.driver().Campaign(ctx, "c") }()
	return end
}

// TestCampaign kills a worker and who follows while a campaign searches. It goes on, and nothing
// that was judged is judged again, also when the campaign is started once more.
func TestCampaign(t *testing.T) {
	drawn(t)
	t.Parallel() // it waits for a server to notice what was killed
	f := newFleet(t, "127.0.0.1")
	base := planned(t, f, 30)
	r := role{Kinds: fleet.Kinds, Class: "test", Simulate: true, Pause: 20 * time.Millisecond}
	worker := f.worker(r)
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	following, leave := context.WithCancel(ctx)
	end := f.campaign(following)
	until(t, "a search", func() bool { return len(evaluations(f.home())) >= 8 })
	leave()
	var away *fleet.Detached
	if err := <-end; !errors.As(err, &away) {
		t.Errorf("who stops following gets %v", err)
	}
	kill(worker)
	kept := evaluations(f.home())
	f.worker(r)
	if err := <-f.campaign(ctx); err != nil {
		t.Fatal(err)
	}
	if n := redone(kept, evaluations(f.home())); n > 0 {
		t.Errorf("%d of %d verdicts were made again", n, len(kept))
	}
	s, err := base.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range s.Campaign.Targets {
		if target.State != beagle.CampaignNothing || target.Run != base.Run(target.Target) ||
			target.Reason != "simulated" {
			t.Errorf("%+v", target)
		}
	}
	if s.Campaign.State != "done" || len(s.Campaign.Targets) != 2 || s.Round != 2 {
		t.Errorf("%+v, round %d", s.Campaign, s.Round)
	}
	memory, err := store.ReadLines[beagle.CampaignAttempt](filepath.Join(f.home(), "campaigns.jsonl"))
	if err != nil || len(memory) != 2 || memory[0].By == "" || memory[0].Go == "" || memory[0].TargetID == "" {
		t.Errorf("%+v, %v", memory, err)
	}
	all := evaluations(f.home())
	err = <-f.campaign(ctx)
	if now := evaluations(f.home()); err != nil || redone(all, now) > 0 || len(all) != len(now) {
		t.Errorf("started once more: %v", err)
	}
}

// TestCampaignCancel cancels a campaign within a search, which ends too. Started again it goes on
// with that search.
func TestCampaignCancel(t *testing.T) {
	drawn(t)
	t.Parallel() // it waits for a server
	f := newFleet(t, "127.0.0.1")
	base := planned(t, f, 30)
	f.worker(role{Kinds: fleet.Kinds, Class: "test", Simulate: true, Pause: 50 * time.Millisecond})
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	end := f.campaign(ctx)
	until(t, "a search", func() bool { return len(evaluations(f.home())) >= 4 })
	if err := f.driver().Cancel(ctx, fleet.CampaignRun("c"), false); err != nil {
		t.Fatal(err)
	}
	var canceled *fleet.Canceled
	if err := <-end; !errors.As(err, &canceled) {
		t.Errorf("it ends with %v", err)
	}
	s, err := base.Load()
	if err != nil || s.Campaign.State != "stopped" || s.Campaign.Targets[0].State != beagle.CampaignRunning {
		t.Errorf("%+v, %v", s.Campaign, err)
	}
	kept := evaluations(f.home())
	if err := <-f.campaign(ctx); err != nil {
		t.Fatal(err)
	}
	if s, err = base.Load(); err != nil || s.Campaign.State != "done" || redone(kept, evaluations(f.home())) > 0 {
		t.Errorf("%+v, %v", s.Campaign, err)
	}
}

// TestCampaignBills: the money of a search counts when its workflow fails, and when the campaign is
// stopped within it.
func TestCampaignBills(t *testing.T) {
	s := openAt(t.TempDir())
	base := campaigns.Base{Store: s, ID: "c"}
	state := &campaign.State{Most: 2, Campaign: beagle.Campaign{ID: "c"}}
	state.Table.Hotspots = []beagle.Hotspot{{Target: "m.a", Net: 0.2}, {Target: "m.b", Net: 0.1}}
	state.Plan()
	spec := flow.Spec{Models: flow.Models{Ask: []llm.Model{{Name: "test"}}}}
	for _, target := range []string{"m.a", "m.b"} {
		run := base.Run(target)
		state.Target(target).State = beagle.CampaignRunning
		j, err := s.Journal(run, "calls")
		if err != nil {
			t.Fatal(err)
		}
		line := map[string]any{"id": "1", "reply": llm.Reply{Model: "test", Cost: 250_000}}
		if err := errors.Join(s.Save(run, "spec", spec), j.Append(line), j.Close()); err != nil {
			t.Fatal(err)
		}
	}
	b := &localActivities{store: s}
	part := TargetPart{Campaign: "c", Taken: campaigns.TargetOutcome{
		Target: beagle.CampaignTarget{Target: "m.a", State: beagle.CampaignFailed, Reason: "planted"}}}
	if err := errors.Join(base.Save(state), base.Keep(campaigns.Order{Spec: spec})); err != nil {
		t.Fatal(err)
	}
	for n, step := range []func() error{
		func() error { _, err := b.EnterTarget(t.Context(), part); return err },
		func() error { return b.CloseCampaign(t.Context(), CampaignInput{Campaign: "c"}) },
		func() error { return b.CloseCampaign(t.Context(), CampaignInput{Campaign: "c"}) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		kept, err := base.Load()
		if want := []float64{0.25, 0.5, 0.5}[n]; err != nil || kept.Campaign.Spent.Dollars != want {
			t.Errorf("step %d: %+v, %v", n, kept.Campaign, err)
		}
	}
}

// recordCampaign keeps the histories of a campaign and of a target.
func recordCampaign(t *testing.T) {
	f := newFleet(t, "127.0.0.1")
	base := planned(t, f, 8)
	f.worker(role{Kinds: fleet.Kinds, Class: "test", Simulate: true})
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	if err := <-f.campaign(ctx); err != nil {
		t.Fatal(err)
	}
	c, err := Dial(ctx, f.driver().Server)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	keep(t, c, "testdata/campaign.json", fleet.CampaignRun("c"), "")
	keep(t, c, "testdata/target.json", targetRun(base.ID, hotspots[0]), "")
}
