package campaigns

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/campaign"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
)

// billed returns a campaign over two hot spots, with a budget of 1 dollar.
func billed(t *testing.T) (*Work, *campaign.State) {
	t.Helper()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	models := flow.Models{Ask: []llm.Model{{Name: "test", Price: llm.Price{In: 1, Out: 10, AsOf: "given"}}}}
	w := &Work{Base: Base{Store: s, ID: "c"}, Order: Order{Spec: flow.Spec{Models: models}}}
	state := &campaign.State{Most: 2, Table: beagle.Hotspots{Hotspots: []beagle.Hotspot{{Target: "m.a", Net: 0.2},
		{Target: "m.b", Net: 0.1}}}}
	state.Campaign.Budget.Dollars = 1
	state.Plan()
	return w, state
}

// pays writes a reply of that price into the journal of calls of a target's search.
func pays(t *testing.T, w *Work, target string, cost llm.Micros) {
	t.Helper()
	run := w.Run(target)
	j, err := w.Store.Journal(run, "calls")
	if err != nil {
		t.Fatal(err)
	}
	line := map[string]any{"id": beagle.HashOf("call", cost), "reply": llm.Reply{Model: "test", Cost: cost}}
	if err := errors.Join(w.Store.Save(run, "spec", w.Order.Spec), j.Append(line), j.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestEnterBills: the money of a search counts however it ended, and once.
func TestEnterBills(t *testing.T) {
	for _, end := range []string{beagle.CampaignFailed, beagle.CampaignRefused, beagle.CampaignUnspent,
		beagle.CampaignNothing} {
		w, s := billed(t)
		pays(t, w, "m.a", 400_000)
		for _, want := range []float64{0.4, 0.4, 0.7} {
			if _, err := w.Enter(s, TargetOutcome{Target: beagle.CampaignTarget{Target: "m.a",
				State: end}}); err != nil {
				t.Fatal(err)
			}
			if got := s.Campaign.Spent.Dollars; math.Abs(got-want) > 1e-9 || s.Target("m.a").Spent.Dollars != got {
				t.Errorf("%s: %v for the target, %v in all, want %v", end, s.Target("m.a").Spent.Dollars, got, want)
			}
			if want == 0.4 && s.Round == 2 {
				pays(t, w, "m.a", 300_000) // its search went on
			}
		}
		if left := w.Spec(s, s.Target("m.b")).Models.Caps.Money; left != 300_000 {
			t.Errorf("%s: %v are left for the next", end, left)
		}
		pays(t, w, "m.b", 300_000)
		if err := w.Bill(s, "m.b"); err != nil || len(w.Spec(s, s.Target("m.b")).Models.Ask) > 0 {
			t.Errorf("%s: all money is spent, and models are asked: %v", end, err)
		}
	}
}

// TestStopBills: the money of a search that a person stops counts too.
func TestStopBills(t *testing.T) {
	w, s := billed(t)
	pays(t, w, "m.a", 250_000)
	at := s.Target("m.a")
	at.State, at.Run = beagle.CampaignRunning, w.Run("m.a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.Watch = func(flow.Event) {}
	l := &Local{Work: *w, State: s, Used: func() float64 { return 0 }}
	if err := l.Carry(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	kept, err := w.Load()
	if err != nil || kept.Campaign.Spent.Dollars != 0.25 || kept.Target("m.a").Spent.Dollars != 0.25 ||
		kept.Target("m.a").State != beagle.CampaignRunning {
		t.Errorf("%+v, %v", kept.Campaign, err)
	}
}
