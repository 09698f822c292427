package temporal

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
)

// A sim is a run's stages without programs: a landscape of made-up rewrites on
// which a candidate's verdict follows from its steps. Like the real stages it
// finds its way by IDs, keeps candidates and verdicts in the store, and makes
// no verdict twice.
type sim struct {
	store *store.Store
	watch flow.Watcher
	pause time.Duration // of an evaluation, to be killed in

	evaluated atomic.Int64 // verdicts made
	fail      func(stage string) error
	paid      atomic.Int64 // calls to models
}

func (s *sim) Close() {}

func (s *sim) may(stage string) error {
	if s.fail == nil {
		return nil
	}
	return s.fail(stage)
}

const (
	simMutators = 48
	simParams   = 6
)

func number(parts ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, parts...)
	return h.Sum64()
}

// share returns a number from 0 to 1 that follows from its arguments.
func share(parts ...any) float64 { return float64(number(parts...)%10000) / 10000 }

func simMoves(steps []beagle.Step) []beagle.Move {
	var out []beagle.Move
	for m := range simMutators {
		name := fmt.Sprintf("m%d", m)
		if slices.ContainsFunc(steps, func(st beagle.Step) bool { return st.Mutator == name }) {
			continue
		}
		for p := range simParams {
			out = append(out, beagle.Move{Mutator: name, Site: 0, Param: p, Weight: share(name, "weight") / 4})
		}
	}
	return out
}

func simRoot() beagle.Candidate { return beagle.NewCandidate("root", nil, nil) }

func (s *sim) PrepareFor(_ context.Context, run string, spec flow.Spec, m *beagle.Machine) (*flow.Prepared, error) {
	if err := s.may("prepare"); err != nil {
		return nil, err
	}
	s.watch.Stage("target", spec.Target)
	ready := &flow.Prepared{Target: "target", Spec: spec.Target, RootID: simRoot().ID, Moves: simMoves(nil), Machine: m}
	ready.Root = beagle.Verdict{Candidate: ready.RootID, Status: beagle.Equal, Static: beagle.StaticFacts{
		CodeHash: "root",
	}}
	if err := s.store.Save(run, "spec", spec); err != nil {
		return nil, err
	}
	return ready, s.store.Save(run, "prepared", ready)
}

func simKey(kind, run, id string) store.Key { return store.Key{Kind: kind, Candidate: id, Extra: run} }

func (s *sim) Propose(_ context.Context, run string, proposals []evolve.Proposal) ([]flow.ProposalOutcome, error) {
	if err := s.may("propose"); err != nil {
		return nil, err
	}
	out := make([]flow.ProposalOutcome, len(proposals))
	for i, p := range proposals {
		out[i].Proposal = p.ID
		parent := simRoot()
		if p.Parent != parent.ID && !s.store.Cached(simKey("candidate", run, p.Parent), &parent) {
			return nil, fmt.Errorf("candidate %s is not in the store", p.Parent)
		}
		steps := slices.Clone(parent.Steps)
		if p.Move != nil {
			steps = append(steps, beagle.Step{Mutator: p.Move.Mutator, Param: fmt.Sprint(p.Move.Param)})
		}
		for _, w := range p.Then {
			if param := cmpParam(w, p.Seed); param != "" {
				steps = append(steps, beagle.Step{Mutator: w.Mutator, Param: param})
			}
		}
		c := beagle.NewCandidate(text(steps), []string{parent.ID}, steps)
		if c.ID == simRoot().ID {
			out[i].Refused = "nothing fits"
			continue
		}
		if first := (beagle.Candidate{}); s.store.Cached(simKey("candidate", run, c.ID), &first) {
			c = first
		} else if err := s.store.Cache(simKey("candidate", run, c.ID), c); err != nil {
			return nil, err
		}
		out[i].Candidate, out[i].Steps = c.ID, c.Steps
	}
	return out, nil
}

// cmpParam returns the parameter that a wish gets.
func cmpParam(w evolve.Wish, seed uint64) string {
	if w.Param != "" {
		return w.Param
	}
	for i := range uint64(simParams) {
		if p := fmt.Sprint((number(w.Mutator, seed) + i) % simParams); !slices.Contains(w.Not, p) {
			return p
		}
	}
	return ""
}

// text names what a candidate is: the order of its steps makes no difference.
func text(steps []beagle.Step) string {
	set := map[string]bool{}
	for _, st := range steps {
		set[st.Mutator+"="+st.Param] = true
	}
	if len(set) == 0 {
		return "root"
	}
	return strings.Join(sortedKeys(set), " ")
}

func sortedKeys(set map[string]bool) []string {
	var out []string
	for k := range set {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (s *sim) EvaluateShare(ctx context.Context, run string, batch, mine []string) (*flow.EvaluatedBatch, error) {
	if err := s.may("assess"); err != nil {
		return nil, err
	}
	out := new(flow.EvaluatedBatch)
	for _, id := range mine {
		var e flow.Evaluation
		key := simKey("evaluated", "", id)
		if s.store.Cached(key, &e) {
			e.Cached = true
			out.Cost.Cached++
			out.Candidates = append(out.Candidates, e)
			continue
		}
		select {
		case <-time.After(s.pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		var c beagle.Candidate
		if !s.store.Cached(simKey("candidate", run, id), &c) {
			return nil, fmt.Errorf("candidate %s is not in the store", id)
		}
		e = flow.Evaluation{Candidate: id, Parents: c.Parents, Steps: c.Steps,
			StoredVerdict: flow.StoredVerdict{Verdict: simVerdict(c), Moves: simMoves(c.Steps)}}
		if err := s.store.Cache(key, e); err != nil {
			return nil, err
		}
		s.evaluated.Add(1)
		out.Cost.Candidates++
		out.Candidates = append(out.Candidates, e)
	}
	return out, nil
}

// simVerdict: some mutators break a candidate, one in ten makes no difference
// to the machine code, the others gain or cost a little, and pairs of them more.
func simVerdict(c beagle.Candidate) beagle.Verdict {
	v := beagle.Verdict{Candidate: c.ID, Status: beagle.Equal, Stage: "screen"}
	gain, code := 0.0, map[string]bool{}
	for i, st := range c.Steps {
		if share(st.Mutator, "breaks") < 0.15 {
			v.Status, v.Stage, v.Reason = beagle.Wrong, "quick", "made to"
			v.Counterexample = &beagle.Counterexample{Args: fmt.Appendf(nil, "[%q]", st.Mutator)}
			return v
		}
		if share(st.Mutator, "idle") < 0.1 {
			continue
		}
		code[st.Mutator+st.Param] = true
		gain += (share(st.Mutator, st.Param) - 0.4) / 10
		for _, other := range c.Steps[:i] {
			gain += (share(min(st.Mutator, other.Mutator), max(st.Mutator, other.Mutator)) - 0.5) / 30
		}
	}
	ratio := math.Exp(gain)
	v.Static.CodeHash, v.Static.CodeBytes = fmt.Sprint(number(sortedKeys(code))), 100+10*len(code)
	if len(code) == 0 {
		v.Static.CodeHash = "root"
	}
	v.Screen = &beagle.Ratio{Point: ratio, Low: ratio * 0.99, High: ratio * 1.01}
	return v
}

func (s *sim) Confirm(_ context.Context, _ string, f flow.Field) ([]string, error) {
	s.watch.Stage("measure", "finalists")
	var faster []string
	for _, c := range f.Finalists[:min(2, len(f.Finalists))] {
		faster = append(faster, c.ID)
	}
	return faster, s.may("confirm")
}

func (s *sim) Prove(_ context.Context, _ string, f flow.Field, id string) (bool, error) {
	// the first falls, so that the second is asked for
	return id != f.Finalists[0].ID || len(f.Finalists) == 1, s.may("prove")
}

func (s *sim) Judge(_ context.Context, run string, f flow.Field) (*flow.Conclusion, error) {
	return &flow.Conclusion{Winner: beagle.Candidate{ID: f.Finalists[0].ID}, Why: "simulated"}, s.may("judge")
}

func (s *sim) Report(_ context.Context, run string, j *flow.Conclusion, log *flow.Log) (*beagle.Result, error) {
	r := &beagle.Result{Run: run, Outcome: beagle.NoImprovement, Why: j.Why, Best: beagle.Version{
		ID: j.Winner.ID,
	}, Attempts: log.Attempts}
	var spec flow.Spec
	if _, err := s.store.Load(run, "spec", &spec); err != nil {
		return nil, err
	}
	if spec.Models.On() {
		r.Models = &beagle.ModelSummary{Calls: int(s.paid.Load())}
		for _, a := range spec.Models.Authors() {
			r.Models.Authors = append(r.Models.Authors, beagle.AuthorSum{Author: a.Name})
		}
	}
	return r, s.may("report")
}

// plain runs the loop of package local over simulated stages.
func plain(s *sim, run string, spec flow.Spec, each func(c *flow.Course)) (*flow.Course, error) {
	ctx := context.Background()
	ready, err := s.PrepareFor(ctx, run, spec, nil)
	if err != nil {
		return nil, err
	}
	c := flow.NewCourse(&spec, ready)
	for !c.Done() {
		draft := new(flow.Draft)
		for range flow.MaxRefills {
			asked := c.Search.Ask(spec.Batch - len(draft.Made))
			if len(asked) == 0 {
				break
			}
			made, err := s.Propose(ctx, run, asked)
			if err != nil {
				return nil, err
			}
			draft.Take(c, asked, made)
		}
		if err := s.settle(ctx, run, &spec, c, draft); err != nil {
			return nil, err
		}
		each(c)
	}
	for asked := c.Search.AskTrims(); len(asked) > 0; asked = c.Search.AskTrims() {
		draft := new(flow.Draft)
		made, err := s.Propose(ctx, run, asked)
		if err != nil {
			return nil, err
		}
		draft.Take(c, asked, made)
		if err := s.settle(ctx, run, &spec, c, draft); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// settle judges a generation of the plain loop.
func (s *sim) settle(ctx context.Context, run string, spec *flow.Spec, c *flow.Course, draft *flow.Draft) error {
	evaluated, err := s.EvaluateShare(ctx, run, draft.Candidates(), draft.Candidates())
	if err != nil {
		return err
	}
	if err := flow.Settle(s.store, run, evaluated.Candidates); err != nil {
		return err
	}
	return c.Tell(spec, draft, evaluated, 0)
}

func simSpec(candidates int) flow.Spec {
	s := flow.Defaults()
	s.Dir, s.Target, s.Candidates, s.Seed = string(filepath.Separator), "./p.F", candidates, 7
	return s
}

// trajectory lists the candidates that the search was told, in order.
func trajectory(trials []beagle.Attempt) []string {
	out := make([]string, len(trials))
	for i, t := range trials {
		out[i] = fmt.Sprint(t.Candidate, " ", t.Island, " ", t.Status, " ", t.Parents)
	}
	return out
}

// firstDifference says where two trajectories part; "" when they are equal.
func firstDifference(got, want []beagle.Attempt) string {
	a, b := trajectory(got), trajectory(want)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("number %d is %s, want %s", i, a[i], b[i])
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d candidates, want %d", len(a), len(b))
	}
	return ""
}

func openAt(dir string) *store.Store {
	s, err := store.Open(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return s
}
