package flow

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/mutate/llm"
)

const vowels = `package p

// Vowels counts them.
func Vowels(s string) int {
	n := 0
	for _, r := range s {
		switch r {
		case 'a', 'e', 'i', 'o', 'u':
			n++
		}
	}
	return n
}
`

// outlined has the original's loop in a helper that no recorded input reaches, and
// another loop that does the work.
const outlined = `package p

// Vowels counts them.
func Vowels(s string) int {
	const set = 1<<('a'-'a') | 1<<('e'-'a') | 1<<('i'-'a') | 1<<('o'-'a') | 1<<('u'-'a')
	count := 0
	for at := 0; at < len(s); at++ {
		c := s[at]
		if c >= 0x80 {
			return slowly(s)
		}
		if d := c - 'a'; d < 32 {
			count += set >> d & 1
		}
	}
	return count
}

func slowly(s string) int {
	n := 0
	for _, r := range s {
		switch r {
		case 'a', 'e', 'i', 'o', 'u':
			n++
		}
	}
	return n
}
`

// TestTrueProfile checks that the profile of a version that a model wrote is measured: a
// helper that never runs has none of the time, though its lines are those on which the
// original spends it, and rules make no moves there. The version's cost and assembly are
// its own.
func TestTrueProfile(t *testing.T) {
	x := prepareVowels(t)
	reply := beagle.NewCandidate(outlined, []string{x.works.root.ID}, nil)
	reply.Steps = []beagle.Step{{Mutator: evolve.ByAuthor, Site: "test", Param: reply.ID}}
	if err := x.works.putCandidates(reply); err != nil {
		t.Fatal(err)
	}
	out, err := x.screener.evaluate(t.Context(), []string{reply.ID}, []string{reply.ID}, nil)
	if err != nil || !out.Candidates[0].Verdict.OK() || out.Candidates[0].Insight == nil {
		t.Fatalf("%v: %+v", err, out)
	}
	in := out.Candidates[0].Insight
	cold := func(lines map[int]float64) (sum float64) {
		at := 1 + strings.Count(outlined[:strings.Index(outlined, "func slowly")], "\n")
		for line, share := range lines {
			if line >= at {
				sum += share
			}
		}
		return sum
	}
	guessed := cold(carryShares(shares{texts: x.rewriter.work.known.texts}, outlined, nil))
	if got := cold(in.Lines); got > 0.02 || guessed < 0.5 || in.Samples == 0 {
		t.Errorf("the helper that never runs has %.0f %% of %d samples; guessed from equal lines it had %.0f %%",
			100*got,
			in.Samples, 100*guessed)
	}
	if len(out.Candidates[0].Moves) == 0 {
		t.Error("no moves at all")
	}
	for _, m := range out.Candidates[0].Moves {
		if m.Weight == 0 && in.Samples >= bench.EnoughSamples { // a machine that is too busy gives few
			t.Errorf("a move without weight: %+v", m)
		}
	}
	v, err := x.briefer.version(t.Context(), reply.ID)
	if err != nil || v.Cost == nil || v.Cost.Nanos <= 0 || v.Cost.Allocs > 0.01 || len(v.Assembly) == 0 {
		t.Errorf("%v: cost %+v, %d instructions", err, v.Cost, len(v.Assembly))
	}
	t.Logf("share of the helper that never runs: guessed %.0f %%, measured %.1f %% of %d samples", 100*guessed,
		100*cold(in.Lines), in.Samples)

	// The inputs come from a file, so that what is kept of them holds shapes alone.
	calls := x.preparer.ready.Calls
	if calls == nil || len(calls.Samples) == 0 || len(calls.Results) == 0 || !calls.Shaped ||
		strings.Contains(fmt.Sprint(calls), "zebra") || !strings.HasPrefix(calls.Samples[0].Args, "Vowels(text(") {
		t.Fatalf("%+v", calls)
	}
	raw := &llm.Calls{Samples: []llm.Sample{{Why: "frequent", Args: `Vowels("zebra")`, Result: "2"}}}
	for _, redact := range []bool{true, false} {
		e := &llm.Briefing{Target: &x.unit.Target, Parent: *v, Calls: raw, Redact: redact}
		if p := llm.Compose(e, llm.DefaultLimits(), 0).User; strings.Contains(p, "zebra") == redact {
			t.Errorf("redacted %v: %s", redact, p)
		}
	}
}

// prepareVowels returns a session with recorded inputs, a profile and a model.
func prepareVowels(t *testing.T) *session {
	t.Helper()
	dir := t.TempDir()
	var calls strings.Builder
	for i := range 400 {
		fmt.Fprintf(&calls, "{\"args\":[%q]}\n", strings.Repeat("zebra crossing ", 1+i%9)+fmt.Sprint(i))
	}
	for name, text := range map[string]string{
		"go.mod": "module example.com/p\n\ngo 1.26\n", "p.go": vowels, "calls.jsonl": calls.String(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	acts := &Activities{Store: openStore(t)}
	t.Cleanup(acts.Close)
	spec := Defaults()
	spec.Dir, spec.Target, spec.CorpusFile, spec.Force = dir, ".Vowels", filepath.Join(dir, "calls.jsonl"), true
	model, err := llm.ParseModel("test@http://127.0.0.1:1/v1")
	if err != nil {
		t.Fatal(err)
	}
	spec.Models = Models{Ask: []llm.Model{model}, Offline: true}
	spec.Models.settle()
	if _, err := acts.Prepare(t.Context(), "run", spec); err != nil {
		t.Fatal(err)
	}
	x, err := acts.prepared(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	if x.preparer.ready.Cost == nil || x.preparer.ready.Cost.Nanos <= 0 {
		t.Errorf("the original costs %+v", x.preparer.ready.Cost)
	}
	if !slices.ContainsFunc(x.preparer.ready.Moves, func(m beagle.Move) bool { return m.Weight > 0 }) {
		t.Fatal("the original offers no moves")
	}
	return x
}
