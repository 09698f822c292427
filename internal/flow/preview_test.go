package flow

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/store"
)

const previewedSource = `package p

import "strings"

func Clean(parts []string) string {
	out := ""
	for i := 0; i < len(parts); i++ {
		if strings.HasPrefix(strings.ToLower(parts[i]), "x-") {
			continue
		}
		out += parts[i] + ","
	}
	return out
}
`

const previewedTest = `package p

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	for i := range 60 {
		Clean(strings.Fields(strings.Repeat("X-a bc d ", i)))
	}
}
`

// TestPreview evaluates a first generation ahead, a part of it before the rest. The search drafts
// the same generation, has its verdicts once, and afterwards finds them in the store.
func TestPreview(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/p\n\ngo 1.24\n", "p.go": previewedSource, "p_test.go": previewedTest,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	acts := &Activities{Store: s, Watch: func(e Event) {
		if e.Stage != nil && e.Stage.Name == "preview" {
			told = append(told, e.Stage.Detail)
		}
	}}
	defer acts.Close()
	spec := Defaults()
	spec.Dir, spec.Target, spec.Force, spec.NoLift, spec.Anew, spec.Batch = dir, ".Clean", true, true, true, 4
	const run = "one"
	if _, err := acts.Prepare(t.Context(), run, spec); err != nil {
		t.Fatal(err)
	}
	x, err := acts.prepared(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.preparer.preview(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := x.screener.preview.batch
	if seen == nil || x.works.run != run || x.preparer.ready.First == 0 {
		t.Fatalf("there is no preview: run %s, %+v", x.works.run, seen)
	}
	if len(told) != 2 || !strings.HasPrefix(told[0], "the first version behaves") {
		t.Errorf("no verdict came before the others: %q", told)
	}

	c := NewCourse(&spec, x.preparer.ready)
	if c.Log.FirstSeconds != x.preparer.ready.First {
		t.Errorf("the log has the first verdict after %v s, and the preview had it after %v s", c.Log.FirstSeconds,
			x.preparer.ready.First)
	}
	ids := generation(t, acts, run, c, spec.Batch)
	if _, err := x.works.candidate(ids[0]); err != nil {
		t.Error(err)
	}
	for i, want := range []int{0, len(ids)} { // the second time they come from the store
		out, err := acts.EvaluateShare(t.Context(), run, ids, ids)
		if err != nil {
			t.Fatal(err)
		}
		if out.Cost.Cached != want || (out.Cost.Ahead > 0) != (i == 0) {
			t.Errorf("time %d: the evaluation has cost %+v", i, out.Cost)
		}
		for k, o := range out.Candidates {
			if o.Candidate != ids[k] || o.Verdict.Status != seen.Candidates[k].Verdict.Status {
				t.Errorf("time %d: candidate %s is %s", i, o.Candidate, o.Verdict.Status)
			}
		}
	}

	// Another batch than the preview's is evaluated as if there were none.
	x.screener.preview.batch = seen
	other := slices.Clone(ids)
	slices.Reverse(other)
	if out, err := acts.EvaluateShare(t.Context(), run, other, other); err != nil || out == seen {
		t.Errorf("another batch has the verdicts of the preview: %v", err)
	}
}

// generation drafts a generation as a driver does.
func generation(t *testing.T, acts *Activities, run string, c *Course, batch int) []string {
	t.Helper()
	d := c.Begin(nil)
	if err := c.Enter(run, d, nil, batch); err != nil {
		t.Fatal(err)
	}
	for round := 0; ; round++ {
		var asked []evolve.Proposal
		if lack := d.Lacks(round, false); lack.Drawn {
			asked = c.Search.Ask(lack.Rules)
		}
		if len(asked) == 0 {
			break
		}
		made, err := acts.Propose(t.Context(), run, asked)
		if err != nil {
			t.Fatal(err)
		}
		d.Take(c, asked, made)
	}
	if len(d.Made) == 0 {
		t.Fatal("the rules make nothing")
	}
	return d.Candidates()
}

// TestPreviewText tells of the best version only if it is faster.
func TestPreviewText(t *testing.T) {
	out := &EvaluatedBatch{Candidates: []Evaluation{{Candidate: "a"}, {Candidate: "b"}}}
	out.Candidates[0].Verdict = beagle.Verdict{Status: beagle.Equal, Screen: &beagle.Ratio{Point: 0.9, Low: 0.8}}
	out.Candidates[1].Verdict = beagle.Verdict{Status: beagle.Wrong}
	const slower = "1 of the first 2 versions behave as the original; its pieces are still looked up in the library"
	if got := previewText(out); got != slower {
		t.Errorf("%q", got)
	}
	const alone = "the first version behaves as the original; its pieces are still looked up in the library"
	if got := previewText(&EvaluatedBatch{Candidates: out.Candidates[:1]}); got != alone {
		t.Errorf("%q", got)
	}
	out.Candidates[0].Verdict.Screen = &beagle.Ratio{Point: 1.5, Low: 1.4}
	const faster = "1 of the first 2 versions behave as the original, the best is about 1.50x as fast; " +
		"its pieces are still looked up in the library"
	if got := previewText(out); got != faster {
		t.Errorf("%q", got)
	}
}
