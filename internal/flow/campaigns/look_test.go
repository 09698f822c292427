package campaigns

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/campaign"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
)

// eachSource has a function whose calls no record can hold, and to which rules apply.
const eachSource = `package m

// Each calls f with the texts that are not empty, in lower case.
func Each(texts []string, f func(string)) {
	for i := 0; i < len(texts); i++ {
		out := ""
		for _, c := range texts[i] {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			out += string(c)
		}
		if len(out) > 0 {
			f(out)
		}
	}
}
`

// TestLookTakesInPlace: a hot spot whose calls cannot be recorded is searched in place, unless the
// user asks for recorded calls.
func TestLookTakesInPlace(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "m.go": eachSource} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const each = "example.com/m.Each"
	for evidence, want := range map[string]string{
		flow.EvidenceState:  beagle.CampaignRunning,
		flow.EvidenceCorpus: beagle.CampaignRefused,
	} {
		s, err := store.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		state := &campaign.State{Most: 1, Dir: dir,
			Table: beagle.Hotspots{Hotspots: []beagle.Hotspot{{Target: each, Net: 0.2}}}}
		state.Plan()
		w := &Work{Base: Base{Store: s, ID: "c"}, Order: Order{Evidence: evidence}}
		w.Order.Spec.Candidates = 4
		taken, err := w.Look(t.Context(), state, each)
		if err != nil || taken.Target.State != want {
			t.Errorf("evidence %s: %s (%s), %v, want %s", evidence, taken.Target.State, taken.Target.Reason, err, want)
		}
	}
}
