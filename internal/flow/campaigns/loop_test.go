package campaigns

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/campaign"
	"github.com/beagle-go/beagle/internal/store"
)

// scripted are the parts of a target, each of which leaves it in a state.
type scripted struct {
	states []string
	did    []string
}

var errPlanted = errors.New("planted")

func (s *scripted) part(name string, t TargetOutcome) (TargetOutcome, error) {
	s.did = append(s.did, name)
	state := s.states[0]
	s.states = s.states[1:]
	if state == "error" {
		return t, errPlanted
	}
	t.Target.State = state
	return t, nil
}
func (s *scripted) Look(name string) (TargetOutcome, error) {
	return s.part("look", TargetOutcome{Target: beagle.CampaignTarget{Target: name}})
}
func (s *scripted) Search(t TargetOutcome) (TargetOutcome, error) { return s.part("search", t) }
func (s *scripted) Judge(t TargetOutcome) (TargetOutcome, error)  { return s.part("judge", t) }

// TestTake: a part is done only while the target is running.
func TestTake(t *testing.T) {
	for script, want := range map[string]string{
		"known": "look", "error": "look", "running no-improvement": "look search", "running error": "look search",
		"running running improved": "look search judge",
	} {
		s := &scripted{states: strings.Fields(script)}
		got, err := Take(s, "m.a")
		if did := strings.Join(s.did, " "); did != want || (err != nil) != strings.Contains(script, "error") ||
			got.Target.Target != "m.a" {
			t.Errorf("%s: %s, %+v, %v", script, did, got, err)
		}
	}
}

// TestEnterKeeps: the outcome of a target is in the state and in the memory. A target without any
// cost is not remembered, also when it was refused for its surroundings.
func TestEnterKeeps(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &Work{Base: Base{Store: s, ID: "c"}}
	state := &campaign.State{Most: 3, Table: beagle.Hotspots{Hotspots: []beagle.Hotspot{{Target: "m.a", Net: 0.2},
		{Target: "m.b", Net: 0.1}, {Target: "m.c", Net: 0.05}}}}
	state.Plan()
	for i, row := range []struct {
		target, state string
		searched      bool
		remembered    int
	}{{"m.a", beagle.CampaignNothing, false, 0}, {"m.b", beagle.CampaignRefused, false, 0},
		{"m.c", beagle.CampaignNothing, true, 1}} {
		at, err := w.Enter(state, TargetOutcome{Target: beagle.CampaignTarget{Target: row.target, State: row.state},
			Attempt: beagle.CampaignAttempt{Target: row.target, By: "x"}, Searched: row.searched})
		kept, lerr := w.Load()
		memory, rerr := store.ReadLines[beagle.CampaignAttempt](filepath.Join(s.Dir(), "campaigns.jsonl"))
		if err := errors.Join(err, lerr, rerr); err != nil {
			t.Fatal(err)
		}
		if at.Round != i+1 || kept.Round != i+1 || kept.Target(row.target).State != row.state ||
			len(memory) != row.remembered {
			t.Errorf("%s: %+v, %+v, %+v", row.target, at, kept.Campaign, memory)
		}
	}
	if _, err := os.Stat(w.Path()); err != nil || state.Campaign.State != "done" {
		t.Errorf("%s, %v", state.Campaign.State, err)
	}
}
