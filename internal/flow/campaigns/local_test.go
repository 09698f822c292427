package campaigns

import (
	"testing"

	"github.com/beagle-go/beagle"
)

// TestInterrupted: who stopped a search decides whether the campaign goes on with it.
func TestInterrupted(t *testing.T) {
	for _, c := range []struct {
		name                   string
		run                    string
		campaign, time, others bool
		state                  string
		turn                   bool
	}{
		{"the campaign was stopped", "r", true, true, true, beagle.CampaignRunning, false},
		{"before the search had a run", "", true, true, true, beagle.CampaignWaiting, false},
		{"its turn is over", "r", false, true, true, beagle.CampaignWaiting, true},
		{"all time is used", "r", false, true, false, beagle.CampaignUnspent, false},
		{"the search alone was canceled", "r", false, false, true, beagle.CampaignFailed, false},
		{"and nobody waits", "r", false, false, false, beagle.CampaignFailed, false},
	} {
		at := &beagle.CampaignTarget{Run: c.run, State: beagle.CampaignRunning}
		if turn := interrupted(at, c.campaign, c.time, c.others); turn != c.turn || at.State != c.state {
			t.Errorf("%s: %t, %s for %q", c.name, turn, at.State, at.Reason)
		}
	}
}
