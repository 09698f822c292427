package flow

import (
	"errors"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/store"
)

func knowing(t *testing.T, s *store.Store, run string) *session {
	t.Helper()
	return &session{run: run, store: s, codes: map[string]string{}, root: beagle.NewCandidate("package p\n", nil, nil)}
}

func keepVerdict(t *testing.T, x *session, id, code string, status beagle.Status) {
	t.Helper()
	v := beagle.Verdict{Candidate: id, Status: status, Static: beagle.StaticFacts{CodeHash: code}}
	if err := x.store.Cache(x.key("evaluated", id, ""), evaluated{Verdict: v}); err != nil {
		t.Fatal(err)
	}
}

// TestKnownDuplicates: that a candidate is a duplicate is the word of the run
// that met the first one, in whatever process, and of no other run.
func TestKnownDuplicates(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	one := knowing(t, s, "one")
	keepVerdict(t, one, "a", "code", beagle.Equal)
	keepVerdict(t, one, "b", "code", beagle.Duplicate)
	if o, ok := one.known("a"); !ok || o.Verdict.Status != beagle.Equal {
		t.Errorf("a: %v %v, want equal", ok, o.Verdict.Status)
	}
	if o, ok := one.known("b"); !ok || o.Verdict.Status != beagle.Duplicate {
		t.Errorf("b after a: %v %v, want duplicate", ok, o.Verdict.Status)
	}
	if o, ok := knowing(t, s, "one").known("b"); !ok || o.Verdict.Status != beagle.Duplicate {
		t.Errorf("b in another process of the run: %v %v, want duplicate", ok, o.Verdict.Status)
	}
	if first := knowing(t, s, "one").remember("code", "c"); first != "a" {
		t.Errorf("a new candidate with that code is taken for %s, want a", first)
	}
	two := knowing(t, s, "two")
	if _, ok := two.known("b"); ok {
		t.Error("b is a duplicate in a run that has not met a")
	}
	if o, ok := two.known("a"); !ok || o.Verdict.Status != beagle.Duplicate {
		t.Errorf("a after b: %v %v, want duplicate", ok, o.Verdict.Status)
	}
}

// TestOnce: a long stage is done once, and again if it failed.
func TestOnce(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	do := func() ([]string, error) {
		if calls++; calls == 1 {
			return nil, errors.New("the machinery failed")
		}
		return []string{"done"}, nil
	}
	for range 3 {
		x := knowing(t, s, "run")
		out, err := once(x, "stage", "c", "in", do)
		if (err != nil) != (calls == 1) || err == nil && (len(out) != 1 || out[0] != "done") {
			t.Errorf("call %d: %q, %v", calls, out, err)
		}
	}
	if calls != 2 {
		t.Errorf("done %d times, want 2", calls)
	}
	if _, err := once(knowing(t, s, "run"), "stage", "c", "other input", do); err != nil || calls != 3 {
		t.Errorf("another input: %d calls, %v", calls, err)
	}
}

// TestFirstWay: of several ways to a text the first stays, in its own run.
func TestFirstWay(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := knowing(t, s, "one")
	way := func(parent string) beagle.Candidate {
		return beagle.NewCandidate("package p\n\nfunc F() {}\n", []string{parent}, []beagle.Step{{Mutator: parent}})
	}
	first, second := way("a"), way("b")
	chains := [][]beagle.Candidate{{first}, {second}}
	out := make([]Proposed, len(chains))
	if err := x.putChains(out, chains); err != nil {
		t.Fatal(err)
	}
	for i, o := range out {
		if o.Candidate != first.ID || len(o.Steps) != 1 || o.Steps[0].Mutator != "a" {
			t.Errorf("proposal %d: %+v, want the way through a", i, o)
		}
	}
	other := knowing(t, s, "two")
	if err := other.putCandidate(second); err != nil {
		t.Fatal(err)
	}
	if c, err := other.candidate(first.ID); err != nil || c.Parents[0] != "b" {
		t.Errorf("another run has %v (%v), want its own way", c.Parents, err)
	}
}
