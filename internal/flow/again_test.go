package flow

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/source"
)

func TestSecondMeasurement(t *testing.T) {
	quoted := beagle.Ratio{Point: 1.06, Low: 1.04, High: 1.08}
	for _, c := range []struct {
		name            string
		again           beagle.Ratio
		refuted, warned bool
	}{
		{"not timed again", beagle.Ratio{}, false, false},
		{"the same again", beagle.Ratio{Point: 1.05, Low: 1.03, High: 1.07}, false, false},
		{"more", beagle.Ratio{Point: 1.13, Low: 1.11, High: 1.15}, false, false},
		{"too coarse to say", beagle.Ratio{Point: 1, Low: 0.95, High: 1.05}, false, false},
		{"surely less, and surely something", beagle.Ratio{Point: 1.02, Low: 1.01, High: 1.03}, false, true},
		{"nothing", beagle.Ratio{Point: 1, Low: 0.98, High: 1.02}, true, true},
		{"slower", beagle.Ratio{Point: 0.95, Low: 0.94, High: 0.96}, true, true},
	} {
		why := refuted(quoted, c.again)
		if (why != "") != c.refuted {
			t.Errorf("%s: refuted because %q", c.name, why)
		}
		if c.refuted && !(strings.Contains(why, "1.06x (1.04 to 1.08)") && strings.Contains(why, "where the first")) {
			t.Errorf("%s: the reason lacks the first measurement: %s", c.name, why)
		}
		if w := againWarnings(quoted, c.again); (len(w) > 0) != c.warned {
			t.Errorf("%s: warned of %q", c.name, w)
		}
	}
}

// A plantedField is evidence that says how fast finalists are in the full measurement, and again
// beside their steps. All of them behave.
type plantedField struct {
	*plantedSifting
	first map[string]float64
}

func (e plantedField) work() string { return "" }

func (e plantedField) full(_ context.Context, c beagle.Candidate) (*beagle.Verdict, error) {
	return &beagle.Verdict{Candidate: c.ID, Status: beagle.Equal}, nil
}

func (e plantedField) confirm(
	_ context.Context, cs []beagle.Candidate, _ int, _ time.Duration,
) (out []beagle.Measurement, err error) {
	for _, c := range cs {
		p := e.first[c.Source]
		out = append(out, beagle.Measurement{Faster: true,
			Corrected: beagle.Ratio{Point: p, Low: 0.99 * p, High: p / 0.99}})
	}
	return out, nil
}

func (e plantedField) assemble(context.Context, []beagle.Candidate) (candidateProgram, error) {
	return goodProgram{}, nil
}

// A goodProgram is of versions that all behave.
type goodProgram struct{ candidateProgram }

func (goodProgram) refusal(int) *beagle.Verdict { return nil }

func (goodProgram) quick(context.Context, int, beagle.Candidate) (*beagle.Verdict, error) {
	return &beagle.Verdict{Status: beagle.Equal}, nil
}

func (goodProgram) Remove() error { return nil }

// field makes a judge's field of versions that authors wrote, and the session that judges it.
func (e plantedField) field(t *testing.T, texts ...string) (*session, Field) {
	t.Helper()
	dir := t.TempDir()
	u := &source.Unit{Target: beagle.Target{Dir: dir, PkgDir: dir, Source: "root"}, Copies: new(source.Copies)}
	x := newSession("run", Defaults(), openStore(t), func(Event) {}, u, &lab{}, nil)
	x.lab.evidence = e
	x.inputs.hold(&beagle.Corpus{}, 0)
	f := Field{Tried: len(texts)}
	for _, text := range texts {
		id := beagle.NewCandidate(text, nil, nil).ID
		c := beagle.NewCandidate(text, nil, []beagle.Step{{Mutator: evolve.ByAuthor, Param: id}})
		if err := x.works.putCandidates(c); err != nil {
			t.Fatal(err)
		}
		f.Finalists = append(f.Finalists, evolve.Finalist{ID: c.ID})
	}
	return x, f
}

// TestRefutedWinner: the next finalist wins where the second measurement contradicts the first of
// the best. A judgement from the store is the same.
func TestRefutedWinner(t *testing.T) {
	e := plantedField{&plantedSifting{speed: map[string]float64{"lucky": 1, "sound": 1.19}},
		map[string]float64{"lucky": 1.4, "sound": 1.2}}
	x, f := e.field(t, "lucky", "sound")
	for range 2 {
		j, err := x.judge.field(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if j.Winner.Source != "sound" || j.Verdict == nil || j.Again.Point != 1.19 || len(j.Lineage) != 1 {
			t.Errorf("the winner is %q, again %v", j.Winner.Source, j.Again)
		}
		if len(j.Rejected) != 1 || !strings.Contains(j.Rejected[0], "shows no gain: 1.00x") {
			t.Errorf("rejected: %q", j.Rejected)
		}
	}
	if len(e.asked) != 2 {
		t.Errorf("measured again %d times", len(e.asked))
	}
	x, f = e.field(t, "lucky")
	j, err := x.judge.field(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	if j.Verdict != nil || j.Winner.Source != "root" || j.Measurement.Faster ||
		!strings.Contains(j.Why, "was not confirmed to be faster: a second measurement") {
		t.Errorf("%q won: %s", j.Winner.Source, j.Why)
	}
}

// TestRefutedGuarded: the guarded form of a near miss is not told to be accepted where the second
// measurement contradicts the first.
func TestRefutedGuarded(t *testing.T) {
	e := plantedField{&plantedSifting{speed: map[string]float64{"guarded": 1}}, nil}
	x, f := e.field(t, "wrong")
	wrong, err := x.works.candidate(f.Finalists[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	near := &beagle.NearMiss{Flag: "--requires n>0", Contract: beagle.Contract{Requires: "n>0"},
		Guarded: &beagle.Guarded{Source: "guarded", Status: beagle.Accepted,
			Measure: &beagle.Measurement{Faster: true, Corrected: beagle.Ratio{Point: 1.4, Low: 1.3, High: 1.5}}}}
	key := x.works.key("near", wrong.ID, fmt.Sprint(x.judge.spec.Fuzz, x.judge.spec.Strict, 1, x.judge.spec.Measure))
	if err := x.works.store.Cache(key, keptResult[*beagle.NearMiss]{Value: near}); err != nil {
		t.Fatal(err)
	}
	fell := measuredFinalist{wrong, &beagle.Measurement{Faster: true, Tried: 1}}
	r, err := x.judge.tryGuarded(t.Context(), fell, &beagle.Verdict{Status: beagle.Wrong}, "it fell")
	if err != nil || r.won() || r.measured != fell.measured || len(r.rejected) != 2 {
		t.Fatal(r, err)
	}
	if len(r.made) != 1 || r.made[0].Parents[0] != wrong.ID || r.made[0].Status != beagle.Equal {
		t.Errorf("the log gets %+v", r.made)
	}
	if g := r.near.Guarded; g.Status != beagle.Equal || !strings.Contains(g.Reason, "second measurement") {
		t.Errorf("%s: %s", g.Status, g.Reason)
	}
}
