package llm

import (
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

// improvedRun returns a result with a winner of one step, whose source holds this literal.
func improvedRun(literal string) *beagle.Result {
	r := &beagle.Result{
		Run: "abcdef0123", Outcome: beagle.Improved, Target: beagle.TargetRef{Spec: "ex.com/m/p.Sum"},
		Lineage: []beagle.LineageStep{
			{Step: beagle.Step{Mutator: "specialise-value", Param: literal}, Gain: beagle.Ratio{Point: 2, Low: 1.9, High: 2.1}},
		},
		Files: []beagle.PatchFile{{Path: "p.go"}, {Path: "beagle_test.go"}, {Path: "q.go"}},
		Patch: "--- a/p.go\n+++ b/p.go\n@@ -1 +1 @@\n-a\n+if x == " + literal +
			"\n--- /dev/null\n+++ b/beagle_test.go\n@@ -0,0 +1 @@\n+recorded " + literal +
			"\n--- a/q.go\n+++ b/q.go\n@@ -1 +1 @@\n--- x\n+++ b/y\n",
		Attempts: []beagle.Attempt{{Steps: []beagle.Step{{Mutator: "unroll"}}, Status: beagle.Wrong}},
	}
	r.Corpus.Facets.Params = []beagle.ParamFacet{{Top: []beagle.TopValue{{Value: "41111111", Share: 0.5}}}}
	r.Best.Source = "package p\n\nfunc Sum(x int) int {\n\tif x == " + literal +
		" {\n\t\treturn 1\n\t}\n\treturn x\n}\n"
	r.Best.Ratio = beagle.Ratio{Point: 2, Low: 1.9, High: 2.1}
	return r
}

// TestPropose checks that a proposed lesson says what the run did and what it gained, and that
// ParseLesson reads it.
func TestPropose(t *testing.T) {
	l, err := Propose(improvedRun("1234567"), nil)
	if err != nil {
		t.Fatal(err)
	}
	text := l.Text()
	for _, want := range []string{"specialise-value", "2.00x", "Wrong or without effect here: unroll", "The change:",
		"if x == 1234567", "1.9 times as fast"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "recorded") {
		t.Errorf("it holds the test's inputs:\n%s", text)
	}
	if _, err := ParseLesson(l.Name, text); err != nil {
		t.Errorf("it cannot be read again: %v\n%s", err, text)
	}
	if _, err := Propose(&beagle.Result{Outcome: beagle.NoImprovement}, nil); err == nil {
		t.Error("a run that found nothing teaches something")
	}
}

// TestProposeHidesCapturedValues checks that a lesson leaves out a change that holds a captured
// value, since lessons travel further than the run.
func TestProposeHidesCapturedValues(t *testing.T) {
	l, err := Propose(improvedRun("41111111"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := l.Text(); strings.Contains(text, "41111111") || !strings.Contains(text, "not shown") {
		t.Errorf("%s", text)
	}
}

// TestSourceDiff checks that the part of a patch about the function holds no line of a test,
// whatever those lines look like.
func TestSourceDiff(t *testing.T) {
	got := SourceDiff(improvedRun("7"))
	if strings.Contains(got, "recorded") || !strings.Contains(got, "+if x == 7\n") ||
		!strings.HasSuffix(got, "+++ b/q.go\n@@ -1 +1 @@\n--- x\n+++ b/y\n") {
		t.Errorf("%s", got)
	}
}
