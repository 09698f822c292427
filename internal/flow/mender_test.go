package flow

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/internal/verify"
	"github.com/beagle-go/beagle/mutate/llm"
)

// TestAFailedSearchForAContractIsNotKept checks that the store does not keep "no near miss" where
// the machinery failed: the next judgement looks again. It keeps results.
func TestAFailedSearchForAContractIsNotKept(t *testing.T) {
	x := asked(t, openStore(t), original, llmtest.New(t, llmtest.Say(better)), llm.Caps{})
	looked := 0
	var fault error = errors.New("no space left on device")
	x.judge.mender.nearest = func(
		context.Context, *verify.Env, beagle.Candidate, *beagle.Corpus, *beagle.Verdict, verify.NearBudget,
	) (*verify.NearContract, error) {
		looked++
		return nil, fault
	}
	judge := func() *beagle.Verdict {
		t.Helper()
		v := &beagle.Verdict{Status: beagle.Wrong, Counterexample: &beagle.Counterexample{Go: `Sum("a")`}}
		fell := measuredFinalist{x.works.root, &beagle.Measurement{Tried: 1}}
		if r, err := x.judge.tryGuarded(t.Context(), fell, v, "it fell"); err != nil || r.won() || r.near != nil {
			t.Fatal(r, err)
		}
		return v
	}
	if v := judge(); len(v.Warnings) != 1 || !strings.Contains(v.Warnings[0], "no space left") {
		t.Errorf("warnings %q", v.Warnings)
	}
	fault = nil
	judge()
	judge()
	if looked != 2 {
		t.Errorf("looked %d times, want again after the failure and not after the answer", looked)
	}
}
