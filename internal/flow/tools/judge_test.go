package tools

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/mcp"
)

// TestReadsBeforeRecording checks that a version that cannot be one is refused before the inputs
// are recorded, and its verdict can be asked for; one that can has them recorded.
func TestReadsBeforeRecording(t *testing.T) {
	t.Setenv("BEAGLE_HOME", t.TempDir())
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module example.com/m\n\ngo 1.26\n",
		"m.go":      "package m\n\nfunc Count(s string) (n int) {\n\tfor i := range s {\n\t\tif s[i] == 'a' {\n\t\t\tn++\n\t\t}\n\t}\n\treturn n\n}\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestCount(t *testing.T) { Count(\"abc\") }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	spec := flow.Defaults()
	spec.Dir, spec.Models.Redact = dir, "no"
	b, err := New(spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	recorded := false
	tell := func(stage, detail string) {
		if stage == "record" {
			recorded = true
			stop()
		}
	}
	for source, want := range map[string]beagle.Status{
		"package m\n\nfunc Count(s string) int { return":                                      beagle.Invalid,
		"package m\n\nfunc Count(s string) int { return missing(s) }\n":                       beagle.Invalid,
		"package m\n\nimport \"os\"\n\nfunc Count(s string) int { os.Remove(s); return 0 }\n": beagle.Forbidden,
		"package m\n\nfunc Count(s []byte) int { return 0 }\n":                                beagle.Invalid,
	} {
		e, err := b.Evaluate(ctx, "./.Count", source, "", tell)
		if err != nil || e.Verdict.Status != want || recorded {
			t.Fatalf("%s\n%+v %v, recorded: %t", source, e, err, recorded)
		}
		if again, err := b.Evaluation(e.ID); err != nil || again.Verdict.Reason != e.Verdict.Reason ||
			again.Target != "./.Count" {
			t.Errorf("%+v %v", again, err)
		}
	}
	if _, err := b.Evaluate(ctx, "./.Count", "package m\n\nfunc Count(s string) int { return 0 }\n", "",
		tell); !errors.Is(err, context.Canceled) || !recorded {
		t.Errorf("a version that may be one: %v, recorded: %t", err, recorded)
	}
}

// TestShapesKeepTheName checks that the function's name is shown, in evaluations as in the outcome
// of a submission. That does not allow words of the path to it.
func TestShapesKeepTheName(t *testing.T) {
	b := backendWith(t, map[string]string{"aaaa": "example.com/served/tag.Normal"})
	b.redact = true
	v := beagle.Verdict{
		Status:         beagle.Wrong,
		Stage:          "quick",
		Reason:         "Normal differs",
		Counterexample: &beagle.Counterexample{Go: `Normal("Ursula")`, Want: `returns "served"`, Got: "returns served"},
	}
	if err := flow.KeepFate(b.store, "aaaa", "submitted", flow.Fate{Candidate: "c", Verdict: v}); err != nil {
		t.Fatal(err)
	}
	submitted, err := b.Submitted("aaaa", "submitted")
	if err != nil {
		t.Fatal(err)
	}
	evaluated, err := b.redacted(&mcp.Evaluation{Target: "./tag.Normal", Verdict: v}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []*beagle.Verdict{submitted, &evaluated.Verdict} {
		x := got.Counterexample
		if x.Go != "Normal(text(6 bytes: lower case, upper case))" || !strings.HasPrefix(got.Reason, "Normal ") ||
			strings.Contains(x.Want+x.Got, "served") {
			t.Errorf("%+v %+v", got, x)
		}
	}
}
