package mutants

import (
	"os"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/verify"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// drawn is the number of mutants that a run tries.
const drawn = 24

// TestTry takes mutants through the real judge: nothing that behaves differently may survive. A run
// tries a few of them, drawn anew each time.
func TestTry(t *testing.T) {
	f, err := Open(t.Context(), "../..", "./suite/tasks/mergetags.MergeTags", t.TempDir(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Make(f.Source())
	if err != nil {
		t.Fatal(err)
	}
	all = sampletest.Of(t, all, drawn)
	var texts []string
	for _, m := range all {
		texts = append(texts, m.Source)
	}
	try := func(most time.Duration, texts ...string) []Result {
		trials, err := f.Try(t.Context(), f.Source(), texts, verify.Budget{Exhaust: most, Fuzz: -1, Race: -1})
		if err != nil {
			t.Fatal(err)
		}
		return trials
	}
	count := map[Status]int{}
	for i, trial := range try(300*time.Millisecond, texts...) {
		if trial.Status == Survived { // a slow machine finds less in a given time
			trial = try(10*time.Second, texts[i])[0]
		}
		count[trial.Status]++
		if trial.Status == Survived {
			t.Errorf("%v survived: %s", &all[i], trial.ID)
		}
	}
	t.Log(count)
	if count[Rejected] < len(texts)/4 {
		t.Errorf("rejected %d of %d: too few to say anything", count[Rejected], len(texts))
	}
}

// TestHistory: the mistakes still fit the suite's originals.
func TestHistory(t *testing.T) {
	originals := map[string]string{}
	targets := map[string]string{
		"contextkey":   "Key",
		"mergetags":    "MergeTags",
		"normalizetag": "NormalizeTag",
		"securewrite":  "SecureWrite",
	}
	for _, h := range History {
		if originals[h.Task] == "" {
			u, err := source.Load(t.Context(), source.Options{
				Dir:  "../..",
				Spec: "./suite/tasks/" + h.Task + "." + targets[h.Task],
			})
			if err != nil {
				t.Fatal(err)
			}
			originals[h.Task] = u.Target.Source
		}
		if _, err := h.Apply(originals[h.Task]); err != nil {
			t.Error(err)
		}
	}
}
