package verify

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/source"
)

// TestJudgeFailure checks that the panic of a check names the check and the candidate, and that no
// verdict accepts or rejects the candidate for it.
func TestJudgeFailure(t *testing.T) {
	planted := Ladder{{Name: "planted", Run: func(context.Context, *Job) (*Rejection, error) {
		var nothing *beagle.Target
		return nil, errors.New(nothing.Name)
	}}}
	j := &Job{Env: &Env{Unit: new(source.Unit)}, Candidate: beagle.Candidate{ID: "c0ffee"}, orig: new(code)}
	v, err := planted.climb(t.Context(), j)
	var failed *JudgeFailure
	if v != nil || !errors.As(err, &failed) {
		t.Fatalf("verdict %v, error %v", v, err)
	}
	if failed.Check != "planted" || failed.Candidate != "c0ffee" ||
		!strings.Contains(string(failed.Stack), "TestJudgeFailure") {
		t.Errorf("%+v", failed)
	}
}

// TestAstray: a program that ends between inputs is no evidence. It is run once more, and then the
// check fails for this candidate alone.
func TestAstray(t *testing.T) {
	j := &Job{Candidate: beagle.Candidate{ID: "c0ffee"}, notes: notes{result: beagle.CheckResult{Name: "quick"}}}
	exit := &harness.Exit{Kind: harness.Hang, Detail: "ended by wall", Variant: -1, Record: -1}
	if err := j.astray(exit); err != nil {
		t.Fatalf("not run again: %v", err)
	}
	var failed *JudgeFailure
	if err := j.astray(exit); !errors.As(err, &failed) || failed.Candidate != "c0ffee" || failed.Check != "quick" ||
		!strings.Contains(err.Error(), "hang: ended by wall") {
		t.Errorf("error %v", err)
	}
}
