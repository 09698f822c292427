package verify

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
)

// TestJudgePanic checks that the panic of a check names the check and the candidate. It accuses
// nobody, and no verdict accepts the candidate.
func TestJudgePanic(t *testing.T) {
	planted := Ladder{{Name: "planted", Run: func(context.Context, *Job) (*Finding, error) {
		var nothing *beagle.Target
		return nil, errors.New(nothing.Name)
	}}}
	j := &Job{Env: &Env{Unit: new(source.Unit)}, Candidate: beagle.Candidate{ID: "c0ffee"}, orig: new(code)}
	v, err := planted.climb(t.Context(), j)
	var failed *JudgePanic
	if v != nil || !errors.As(err, &failed) {
		t.Fatalf("verdict %v, error %v", v, err)
	}
	if failed.Check != "planted" || failed.Candidate != "c0ffee" ||
		!strings.Contains(string(failed.Stack), "TestJudgePanic") {
		t.Errorf("%+v", failed)
	}
}
