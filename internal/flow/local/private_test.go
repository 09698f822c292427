package local

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/mutate/llm"
)

// proposals counts the versions that models may not see.
type proposals struct {
	*known
	private int
}

func (w *proposals) Propose(ctx context.Context, run string, list []evolve.Proposal) ([]flow.ProposalOutcome, error) {
	out, err := w.known.Propose(ctx, run, list)
	for _, p := range out {
		if p.Private {
			w.private++
		}
	}
	return out, err
}

// TestModelsDoNotBuildOnCapturedValues checks that a rewrite for the value that most calls pass
// makes versions that hold it. When captured values are sent as shapes, no model is asked for a
// better form of such a version, or shown it, and the value never leaves.
func TestModelsDoNotBuildOnCapturedValues(t *testing.T) {
	alike(t)
	const secret = "41111111"
	const text = "package p\n\n// Sum adds the bytes of s and divides.\nfunc Sum(s string, by int) int {\n\tn := 0\n" +
		"\tfor i := 0; i < len(s); i++ {\n\t\tn += int(s[i]) * by\n\t}\n\treturn n\n}\n"
	args := make([]string, 400)
	for i := range args {
		by := secret
		if i%4 == 0 {
			by = fmt.Sprint(i)
		}
		args[i] = fmt.Sprintf("[%q, %s]", fmt.Sprintf("some text %d", i), by)
	}
	server := llmtest.New(t, func(c llmtest.Call) *llmtest.Reply {
		return &llmtest.Reply{
			Text: strings.NewReplacer("(s string)", "(s string, by int)", "int(b)", "int(b) * by").
				Replace(version(c.Number)),
		}
	})
	s := specOf(t, text, args, server.URL(), "test")
	s.Rules, s.Candidates, s.Models.Redact = []string{"specialise-value", "unroll"}, 40, "yes"
	w := &proposals{known: newKnown(0, 2)}
	d := &Driver{Store: openStore(t, t.TempDir()), wrap: func(a *flow.Activities) activities {
		w.Activities = a
		return w
	}}
	if _, err := d.Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if w.private == 0 || len(server.Calls()) < 5 {
		t.Fatalf("%d versions for the frequent value, %d calls: the run shows nothing", w.private, len(server.Calls()))
	}
	for _, c := range server.Calls() {
		if q := c.Question(); strings.Contains(q, secret) || !strings.Contains(q, "# The version to change") {
			t.Errorf("call %d has a version of captured values for its parent, or shows them:\n%s", c.Number, q)
		}
	}
}

// TestPrivateOnlyWhenRedacted checks that without redaction such a version is a parent like any
// other.
func TestPrivateOnlyWhenRedacted(t *testing.T) {
	var s flow.Spec
	if s.Models.Redact = "no"; s.Redacted() {
		t.Error("redacted")
	}
	s.CorpusFile, s.Models.Redact = "production.jsonl", "auto"
	if !s.Redacted() {
		t.Error("what comes from a file may come from production")
	}
}

// TestFirstLine checks that the first line of a run names the models, the source of their prices,
// and the values that leave the machine.
func TestFirstLine(t *testing.T) {
	alike(t)
	server := llmtest.New(t, versions(0))
	for redact, want := range map[string]string{
		"auto": "test (on this machine), at most $1.00 (prices as given), offline; captured values are sent as shapes only",
		"no":   "test (on this machine), at most $1.00 (prices as given), offline; prompts quote captured values (--redact=yes sends shapes only)",
	} {
		s := spec(t, server.URL(), "test")
		s.Models.Ask[0].Price = llm.Price{In: 3, Out: 15, AsOf: "given"}
		s.Models.Caps.Money, s.Models.Redact, s.Candidates = 1_000_000, redact, 1
		first := ""
		watch := func(e flow.Event) {
			if e.Stage != nil && first == "" {
				first = e.Stage.Name + ": " + e.Stage.Detail
			}
		}
		if _, err := newKnown(0, 2).driver(openStore(t, t.TempDir()), watch).Start(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if first != "models: "+want {
			t.Errorf("%s: the first line is %q", redact, first)
		}
	}
}
