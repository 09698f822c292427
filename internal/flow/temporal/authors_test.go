package temporal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
)

// write makes a candidate that no rule makes, of a parent.
func (s *sim) write(run, parent, site, what string) (flow.ProposalOutcome, error) {
	of := simRoot()
	if parent != of.ID && !s.store.Cached(simKey("candidate", run, parent), &of) {
		return flow.ProposalOutcome{}, fmt.Errorf("candidate %s is not in the store", parent)
	}
	c := beagle.NewCandidate(what, []string{of.ID}, nil)
	c.Steps = append(slices.Clone(of.Steps), beagle.Step{Mutator: evolve.ByAuthor, Site: site, Param: c.ID})
	return flow.ProposalOutcome{Candidate: c.ID, Steps: c.Steps}, s.store.Cache(simKey("candidate", run, c.ID), c)
}

func (s *sim) Receive(
	_ context.Context, run string, p evolve.Proposal, v store.Submission,
) (*flow.ProposalOutcome, *beagle.Verdict, error) {
	if strings.HasPrefix(v.Source, "bad") {
		why := &beagle.Verdict{Status: beagle.Invalid, Stage: "parse", Reason: "it is no Go"}
		return &flow.ProposalOutcome{Proposal: p.ID, Refused: why.Reason}, why, nil
	}
	out, err := s.write(run, simRoot().ID, "handed in", v.Source)
	out.Proposal = p.ID
	return &out, nil, err
}

// Ask has a model answer. As in the real stages an answer is in the store before it is used, so
// that it is paid for once.
func (s *sim) Ask(_ context.Context, run string, p evolve.Proposal) (*flow.Asked, error) {
	if err := s.may("ask"); err != nil {
		return nil, err
	}
	out := new(flow.Asked)
	if s.store.Cached(simKey("reply", run, fmt.Sprint(p.ID)), out) {
		return out, nil
	}
	s.paid.Add(1)
	var err error
	out.Model, out.Calls, out.Cost, out.Seconds = p.Model, 1, 1000, 0.1
	if out.ProposalOutcome, err = s.write(run, p.Parent, p.Model,
		fmt.Sprint("written ", p.Parent, p.Author, p.Sample)); err != nil {
		return nil, err
	}
	out.Proposal = p.ID
	return out, s.store.Cache(simKey("reply", run, fmt.Sprint(p.ID)), out)
}

func (s *sim) Usage(context.Context, string) (*flow.ModelsEvent, error) {
	return &flow.ModelsEvent{Spent: llm.Spent{Calls: s.paid.Load()}}, nil
}

// handIn hands versions in to a run.
func handIn(t *testing.T, s *store.Store, sources ...string) {
	t.Helper()
	for i, source := range sources {
		at := time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)
		if _, err := s.Submit("run",
			store.Submission{ID: beagle.HashOf("submission", source), Source: source, At: at}); err != nil {
			t.Fatal(err)
		}
	}
}

// fates checks the outcomes of hand-ins.
func fates(t *testing.T, s *store.Store, want map[string]beagle.Status) {
	t.Helper()
	for source, status := range want {
		fate, taken := flow.FateOf(s, "run", beagle.HashOf("submission", source))
		if !taken || fate.Verdict.Status != status {
			t.Errorf("%s: taken %v, %+v; want %s", source, taken, fate, status)
		}
	}
	if left, err := s.Inbox("run"); err != nil || len(left) > 0 {
		t.Errorf("%d versions wait still (%v)", len(left), err)
	}
}

// TestHandIns: versions that are handed in to a run are judged with its generations, and their
// submitters get the outcome.
func TestHandIns(t *testing.T) {
	e := newEnv(t, simSpec(60))
	e.task.Block = 2
	handIn(t, e.sim.store, "first", "bad", "a", "b", "c", "d")
	batches := 0
	e.sim.fail = func(stage string) error {
		if stage != "confirm" {
			return nil
		}
		if _, err := e.sim.store.Submit("run", store.Submission{ID: "late", Source: "late"}); err == nil {
			return errors.New("a search that has ended takes versions")
		}
		batches++
		return nil
	}
	if err := e.run(); err != nil {
		t.Fatal(err)
	}
	status := func(source string) beagle.Status {
		c := beagle.NewCandidate(source, nil,
			[]beagle.Step{
				{Mutator: evolve.ByAuthor, Site: "handed in", Param: beagle.NewCandidate(source, nil, nil).ID},
			})
		v := simVerdict(c)
		if v.Static.CodeHash == "root" {
			return beagle.Duplicate
		}
		return v.Status
	}
	want := map[string]beagle.Status{"bad": beagle.Invalid}
	for _, source := range []string{"first", "a", "b", "c", "d"} {
		want[source] = status(source)
	}
	fates(t, e.sim.store, want)
	if batches != 1 || e.limit.Load() > maxPayload {
		t.Errorf("%d ends, payloads up to %d bytes", batches, e.limit.Load())
	}
}

// modelSpec returns the spec of a run in which two models write too.
func modelSpec(candidates int) flow.Spec {
	s := simSpec(candidates)
	for _, name := range []string{"one", "two"} {
		s.Models.Ask = append(s.Models.Ask, llm.Model{Name: name, Provider: "openai", Weight: 1})
	}
	s.Models.InFlight, s.Models.Limit = 4, time.Minute
	return s
}

// TestModels: models and rules fill the budget of a run together, over several
// histories; no answer is paid twice, and the result says what each did.
func TestModels(t *testing.T) {
	for _, alone := range []bool{false, true} {
		spec := modelSpec(80)
		spec.Models.NoRules = alone
		e := newEnv(t, spec)
		e.task.Block = 3
		handIn(t, e.sim.store, "guest")
		if err := e.run(); err != nil {
			t.Fatal(err)
		}
		r := e.result()
		if r.Candidates != 80 || e.runs < 3 || r.Models == nil || e.limit.Load() > maxPayload {
			t.Errorf("%d candidates in %d histories, payloads up to %d bytes, %+v", r.Candidates, e.runs,
				e.limit.Load(), r.Models)
		}
		asked, written, ruled := 0, 0, 0
		for _, a := range r.Models.Authors {
			if a.Author == evolve.Rules {
				ruled += a.Candidates
				continue
			}
			asked, written = asked+a.Asked, written+a.Candidates
		}
		if written == 0 || (ruled == 0) != alone || int64(asked) < e.sim.paid.Load() {
			t.Errorf("%d asked, %d paid, %d written, %d by rules", asked, e.sim.paid.Load(), written, ruled)
		}
		if fate, taken := flow.FateOf(e.sim.store, "run", beagle.HashOf("submission", "guest")); !taken ||
			fate.Verdict.Status == "" {
			t.Errorf("the guest: taken %v, %+v", taken, fate)
		}
	}
}

// TestFatalCall: a call that the user must do something about ends the run with
// what to do, and no other call is left behind.
func TestFatalCall(t *testing.T) {
	e := newEnv(t, modelSpec(80))
	e.sim.fail = func(stage string) error {
		if stage == "ask" && e.sim.paid.Load() > 5 {
			return &beagle.UsageError{What: "the key is not known", Remedy: "give another"}
		}
		return nil
	}
	err := e.run()
	r, lerr := e.sim.store.Run("run")
	if err == nil || lerr != nil || r.State != store.Failed || !strings.Contains(r.Note, "the key is not known") {
		t.Errorf("the run ends with %v, its entry is %+v (%v)", err, r, lerr)
	}
}
