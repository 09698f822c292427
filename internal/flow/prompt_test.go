package flow

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/mutate/llm"
)

var update = flag.Bool("update", false, "write the golden files anew")

// prompted returns the prompt for a commission of a search that knows the original, a version that
// behaves and one that fell, through the flow's own evidence.
func prompted(t *testing.T, x *session, fallen beagle.Verdict) llm.Prompt {
	t.Helper()
	s := evolve.New(evolve.Config{
		Seed:    1,
		Budget:  20,
		Islands: 1,
		Authors: []evolve.Author{{Name: "test", Model: "test"}},
	})
	s.Add(x.works.root, beagle.Verdict{Candidate: x.works.root.ID, Status: beagle.Equal}, nil)
	even := beagle.Ratio{Point: 1.3, Low: 1.25, High: 1.35}
	for i, v := range []beagle.Verdict{{Status: beagle.Equal, Stage: "screen", Screen: &even}, fallen} {
		c := beagle.NewCandidate(strings.Replace(x.works.root.Source, "n := 0", "n := "+[]string{"0 + 0", "1"}[i], 1),
			[]string{x.works.root.ID}, nil)
		c.Steps = []beagle.Step{{Mutator: []string{"range-bytes", "one-more"}[i], Site: "for i := 0"}}
		v.Candidate = c.ID
		if err := x.works.putCandidates(c); err != nil {
			t.Fatal(err)
		}
		e := Evaluation{Candidate: c.ID, StoredVerdict: StoredVerdict{Verdict: v}}
		if err := x.works.putVerdict(e); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			s.Add(c, v, nil)
			continue
		}
		p := s.AskModels(1)[0]
		s.Tell([]evolve.Feedback{{Proposal: p.ID, Candidate: c, Verdict: v}})
	}
	if err := x.authors.openOnce(); err != nil {
		t.Fatal(err)
	}
	p := s.AskModels(1)[0]
	p.Parent = x.works.root.ID // whatever the search prefers
	e, err := x.briefer.brief(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	e.Lessons = nil // they have goldens of their own
	return llm.Compose(e, llm.DefaultLimits(), 0)
}

// TestPromptOfASearch holds a golden of what a model reads: the flow gathers it, and nothing of it
// is made up for the test but the verdicts.
func TestPromptOfASearch(t *testing.T) {
	x := asked(t, openStore(t), original, llmtest.New(t, llmtest.Say(better)), llm.Caps{})
	p := prompted(t, x, beagle.Verdict{
		Status:         beagle.Wrong,
		Stage:          "quick",
		Reason:         `Sum("") = 1, want 0`,
		Counterexample: &beagle.Counterexample{Go: `Sum("")`, Want: "0", Got: "1", Kind: "result"},
	})
	golden := filepath.Join("testdata", "prompt.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(p.User), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if p.User != string(want) {
		t.Errorf("the prompt is not that of %s (-update writes it):\n%s", golden, p.User)
	}
	if n := strings.Count(p.User, "\n- "); strings.Contains(p.User, ":  by ") || n == 0 {
		t.Errorf("an attempt has no verdict, or there is none (%d):\n%s", n, p.User)
	}
}
