package flow

import (
	"errors"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules"
)

func knowing(t *testing.T, s *store.Store, run string) *works {
	t.Helper()
	return &works{run: run, store: s, ready: &Prepared{}, root: beagle.NewCandidate("package p\n", nil, nil)}
}

func keepVerdict(t *testing.T, x *works, id, code string, status beagle.Status) {
	t.Helper()
	v := beagle.Verdict{Candidate: id, Status: status, Static: beagle.StaticFacts{CodeHash: code}}
	if err := x.store.Cache(x.evaluatedKey(id), StoredVerdict{Verdict: v}); err != nil {
		t.Fatal(err)
	}
}

// settle prepares a run and settles batches of it, with the verdicts that the
// store has.
func settle(t *testing.T, x *works, batch ...string) []Evaluation {
	t.Helper()
	if err := x.store.Save(x.run, "prepared", Prepared{RootID: x.root.ID}); err != nil {
		t.Fatal(err)
	}
	out := make([]Evaluation, len(batch))
	for i, id := range batch {
		o, _ := x.evaluation(id)
		out[i] = Evaluation{Candidate: id, StoredVerdict: StoredVerdict{Verdict: o.Verdict}}
	}
	if err := Settle(x.store, x.run, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func groupOf(x *works, batch ...string) *batchState {
	return (&screener{setting: setting{works: x}}).begin(batch, 0)
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
	if o, ok := groupOf(one, "a").storedVerdict("a"); !ok || o.Verdict.Status != beagle.Equal {
		t.Errorf("a: %v %v, want equal", ok, o.Verdict.Status)
	}
	settle(t, one, "a")
	if o, ok := groupOf(one, "b").storedVerdict("b"); !ok || o.Verdict.Status != beagle.Duplicate {
		t.Errorf("b after a: %v %v, want duplicate", ok, o.Verdict.Status)
	}
	if first := groupOf(knowing(t, s, "one"), "c").ownerOf("code", "c"); first != "a" {
		t.Errorf("in another process of the run a new candidate with that code is taken for %s, want a", first)
	}
	two := knowing(t, s, "two")
	if _, ok := groupOf(two, "b").storedVerdict("b"); ok {
		t.Error("b is a duplicate in a run that has not met a")
	}
	if first := groupOf(two, "b").ownerOf("code", "b"); first != "b" {
		t.Errorf("b in a run that has not met a is taken for %s", first)
	}
}

// TestSharesOfABatch: of candidates with the same machine code the first in the
// batch's order counts, whichever share was evaluated first, and whichever process looks.
func TestSharesOfABatch(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := knowing(t, s, "run")
	batch := []string{"a", "b", "c"}
	late := groupOf(x, batch...)
	if first := late.ownerOf("code", "c"); first != "c" {
		t.Errorf("c alone is taken for %s", first)
	}
	if first := late.ownerOf("code", "a"); first != "a" {
		t.Errorf("a, met after c, is taken for %s", first)
	}
	for _, id := range batch {
		keepVerdict(t, x, id, "code", beagle.Equal)
	}
	keepVerdict(t, x, "c", "code", beagle.Duplicate)
	other := groupOf(x, batch...)
	other.glance(batch, []string{"c"})
	if o, ok := other.storedVerdict("c"); !ok || o.Verdict.Status != beagle.Duplicate {
		t.Errorf("c, with the word of another share on a: %v %v, want duplicate", ok, o.Verdict.Status)
	}
	for range 2 { // an activity may be repeated
		got := settle(t, x, batch...)
		if got[0].Verdict.Status != beagle.Equal || got[1].Verdict.Status != beagle.Duplicate ||
			got[2].Verdict.Status != beagle.Duplicate {
			t.Errorf("settled: %v %v %v", got[0].Verdict.Status, got[1].Verdict.Status, got[2].Verdict.Status)
		}
	}
}

// TestLearn: inputs on which candidates failed join the corpus of every
// process of the run, once.
func TestLearn(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	n := &inputs{setting: setting{works: knowing(t, s, "run")}}
	before := &beagle.Corpus{Generated: []beagle.Record{{Args: []byte(`["known"]`)}}}
	n.hold(before, 0)
	failed := func(args string) Evaluation {
		var e Evaluation
		e.Verdict.Counterexample = &beagle.Counterexample{Args: []byte(args)}
		return e
	}
	for range 2 {
		if err := learn(s, "run", []Evaluation{failed(`["known"]`), failed(`["new"]`), failed(`["new"]`)}); err != nil {
			t.Fatal(err)
		}
		if err := n.refresh(); err != nil {
			t.Fatal(err)
		}
		if got := n.corpus().Generated; len(got) != 2 || got[1].Source != counterexample ||
			string(got[1].Args) != `["new"]` {
			t.Errorf("the corpus has %+v", got)
		}
	}
	if len(before.Generated) != 1 {
		t.Error("the corpus that others read was changed")
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
		out, err := keepStage(x, "stage", "c", "in", do)
		if (err != nil) != (calls == 1) || err == nil && (len(out) != 1 || out[0] != "done") {
			t.Errorf("call %d: %q, %v", calls, out, err)
		}
	}
	if calls != 2 {
		t.Errorf("done %d times, want 2", calls)
	}
	if _, err := keepStage(knowing(t, s, "run"), "stage", "c", "other input", do); err != nil || calls != 3 {
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
	out := make([]ProposalOutcome, len(chains))
	rw := &rewriter{setting: setting{works: x, unit: plantedUnit(t)}, inputs: &inputs{setting: setting{spec: &Spec{}}}}
	if err := rw.putChains(out, chains); err != nil {
		t.Fatal(err)
	}
	for i, o := range out {
		if o.Candidate != first.ID || len(o.Steps) != 1 || o.Steps[0].Mutator != "a" {
			t.Errorf("proposal %d: %+v, want the way through a", i, o)
		}
	}
	other := knowing(t, s, "two")
	if err := other.putCandidates(second); err != nil {
		t.Fatal(err)
	}
	if c, err := other.candidate(first.ID); err != nil || c.Parents[0] != "b" {
		t.Errorf("another run has %v (%v), want its own way", c.Parents, err)
	}
}

// TestVerdictsOfOtherRules: a verdict is kept with the steps that its rules
// offered, so runs with other rules do not share it.
func TestVerdictsOfOtherRules(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	one := knowing(t, s, "one")
	one.making = rulesIdentity(rules.All)
	keepVerdict(t, one, "a", "code", beagle.Equal)
	for name, c := range map[string]struct {
		mutators []*mutate.Mutator
		want     bool
	}{"the same": {rules.All, true}, "fewer": {rules.All[:3], false}} {
		two := knowing(t, s, "two")
		two.making = rulesIdentity(c.mutators)
		if _, ok := groupOf(two, "a").storedVerdict("a"); ok != c.want {
			t.Errorf("%s rules: known is %v, want %v", name, ok, c.want)
		}
	}
}
