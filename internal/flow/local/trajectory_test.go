package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/loop"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
)

var (
	update = flag.Bool("update", false, "write the digests of the trajectories anew")
	record = flag.Bool("record", false, "record the searches with models anew, and write all digests anew")
)

// A play is a rehearsal in which models and guests write candidates too. Their text follows from
// the proposal alone, so that two searches part only where their actions do.
type play struct {
	*rehearsal
	mu      sync.Mutex
	batches int
	visits  map[int][]string                         // batch -> sources that are handed in while it is judged
	delay   func(p evolve.Proposal) time.Duration    // of a reply, when a search is recorded
	answer  func(p evolve.Proposal, out *flow.Asked) // what else is special about a reply; may be nil
	run     string
}

func (r *play) Propose(ctx context.Context, run string, list []evolve.Proposal) ([]flow.ProposalOutcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rehearsal.Propose(ctx, run, list)
}

// write makes a candidate of a parent's steps and a step that no rule takes.
func (r *play) write(parent, site string, text ...any) flow.ProposalOutcome {
	id := beagle.HashOf("written", text...)
	steps := append(slices.Clone(r.steps[parent]),
		beagle.Step{Mutator: evolve.ByAuthor, Site: site, Param: id, Class: beagle.E4})
	r.steps[id] = steps
	return flow.ProposalOutcome{Candidate: id, Steps: steps}
}

// Ask has a model answer: now and then with nothing, or with what it has
// answered before.
func (r *play) Ask(ctx context.Context, _ string, p evolve.Proposal) (*flow.Asked, error) {
	if r.delay != nil {
		select {
		case <-time.After(r.delay(p)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &flow.Asked{Model: p.Model, Calls: 1, In: 900, Out: 100, Cost: 2000, Seconds: 0.5}
	if r.answer != nil {
		r.answer(p, out)
	}
	if out.Spent {
		out.Unheard = "the budget is used up"
	}
	switch n := number(p.Parent, p.Author, p.Sample); {
	case out.Unheard != "":
		out.Calls, out.In, out.Out, out.Cost = 0, 0, 0, 0
	case n%11 == 0:
		out.Refused = "the reply fits nothing"
	case n%7 == 0:
		out.ProposalOutcome = r.write("root", p.Model, "again", p.Model)
	default:
		out.ProposalOutcome = r.write(p.Parent, p.Model, p.Parent, p.Mate, p.Author, p.Sample)
	}
	if out.Proposal = p.ID; out.Candidate != "" {
		out.Shape = "shape of " + out.Candidate
	}
	return out, nil
}

func number(parts ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, parts...)
	return h.Sum64()
}

func (r *play) Receive(
	_ context.Context, _ string, p evolve.Proposal, v store.Submission,
) (*flow.ProposalOutcome, *beagle.Verdict, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if strings.HasPrefix(v.Source, "bad") {
		why := &beagle.Verdict{Status: beagle.Invalid, Stage: "parse", Reason: "it is no Go"}
		return &flow.ProposalOutcome{Proposal: p.ID, Refused: why.Reason}, why, nil
	}
	out := r.write("root", "handed in", v.Source)
	out.Proposal = p.ID
	return &out, nil, nil
}

// Evaluate judges what models and guests wrote by its name, and hands in the
// guests of the batch.
func (r *play) Evaluate(
	ctx context.Context, run string, ids []string, foresee flow.Foresee,
) (*flow.EvaluatedBatch, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches++
	r.run = run
	for i, source := range r.visits[r.batches] {
		at := time.Date(2026, 1, 1, 0, r.batches, i, 0, time.UTC)
		if _, err := r.store.Submit(run, store.Submission{ID: source, Source: source, At: at}); err != nil {
			return nil, err
		}
	}
	return r.rehearsal.Evaluate(ctx, run, ids, foresee)
}

func (r *play) StartFrom(_ context.Context, _ string, p flow.Prepared) (*flow.Prepared, error) {
	return &p, nil
}

func (r *play) Adopt(context.Context, string, []flow.Evaluation) error { return nil }
func (r *play) Used(context.Context, string) (llm.Spent, error)        { return llm.Spent{}, nil }
func (r *play) Machine(string) beagle.Machine                          { return beagle.Machine{CPU: "rehearsed"} }

// A staged is a search whose trajectory is pinned.
type staged struct {
	name    string
	spec    func(*flow.Spec)
	visits  map[int][]string
	delay   func(evolve.Proposal) time.Duration
	answer  func(evolve.Proposal, *flow.Asked)
	written bool // models write too: it was recorded, and is replayed
}

func models(names ...string) func(*flow.Spec) {
	return func(s *flow.Spec) {
		for _, name := range names {
			s.Models.Ask = append(s.Models.Ask, llm.Model{Name: name, Provider: "openai", Weight: 1})
		}
		s.Models.InFlight = 4
	}
}

// after gives each reply a delay that is no multiple of another's.
func after(most time.Duration) func(evolve.Proposal) time.Duration {
	return func(p evolve.Proposal) time.Duration { return most * time.Duration(number(p.ID)%97) / 97 }
}

// spent ends a model's budget after the given number of proposals.
func spent(model string, after int) func(evolve.Proposal, *flow.Asked) {
	return func(p evolve.Proposal, out *flow.Asked) { out.Spent = p.Model == model && p.ID > after }
}

func plays() []staged {
	var out []staged
	for _, strategy := range evolve.Strategies {
		for _, n := range []int{20, 60, 300} {
			for seed := range uint64(3) {
				out = append(out,
					staged{name: fmt.Sprintf("%s %d seed %d", strategy, n, seed+1),
						spec: func(s *flow.Spec) {
							s.Strategy, s.Candidates, s.Seed = string(strategy), n, seed+1
						}})
			}
		}
	}
	guests := map[int][]string{1: {"one", "two"}, 2: {"bad", "one"}, 4: {"a", "b", "c", "d", "e", "f"}, 6: {"late"}}
	return append(out,
		staged{name: "small batches", spec: func(s *flow.Spec) { s.Batch, s.Islands, s.Candidates = 3, 2, 40 }},
		staged{name: "guests", visits: guests, spec: func(s *flow.Spec) { s.Candidates = 90 }},
		staged{
			name:   "guests, greedy",
			visits: guests,
			spec:   func(s *flow.Spec) { s.Candidates, s.Strategy = 60, string(evolve.Greedy) },
		},
		staged{
			name:   "a guest after the last idea",
			visits: map[int][]string{16: {"x"}, 17: {"y"}},
			spec:   func(s *flow.Spec) { s.Candidates, s.Strategy = 300, string(evolve.Greedy) },
		},
		staged{name: "two models", written: true, delay: after(80 * time.Millisecond), spec: models("one", "two")},
		staged{name: "models and guests", written: true, visits: guests, delay: after(60 * time.Millisecond),
			spec: models("one", "two")},
		staged{name: "models alone", written: true, delay: after(30 * time.Millisecond), spec: func(s *flow.Spec) {
			models("one", "two")(s)
			s.Models.NoRules, s.Candidates = true, 40
		}},
		staged{name: "a budget ends", written: true, delay: after(40 * time.Millisecond), answer: spent("one", 30),
			spec: models("one", "two")},
		staged{name: "all budgets end", written: true, delay: after(40 * time.Millisecond), answer: spent("one", 12),
			spec: models("one")},
		staged{name: "nobody answers", written: true, delay: after(40 * time.Millisecond), spec: models("one"),
			answer: func(_ evolve.Proposal, out *flow.Asked) { out.Unheard = "no connection" }},
		staged{name: "a slow model", written: true, spec: func(s *flow.Spec) {
			models("one")(s)
			s.Models.InFlight, s.Candidates = 1, 30
		}, delay: func(p evolve.Proposal) time.Duration { return time.Duration(min(p.ID, 1)) * loop.Patience * 5 / 4 }},
	)
}

// stage runs a search with its actions taken from, or recorded into, a directory.
func (x *staged) stage(t *testing.T, replay, record string) (*play, *store.Store) {
	t.Helper()
	r := &play{rehearsal: rehearse(), visits: x.visits, answer: x.answer}
	if record != "" {
		r.delay = x.delay
	}
	if replay != "" {
		r.visits = nil // they are in the actions
	}
	r.open(t, t.TempDir())
	s := rehearsed(60)
	x.spec(&s)
	s.Models.Replay, s.Models.Record = replay, record
	d := &Driver{Store: r.store, wrap: func(*flow.Activities) activities { return r }}
	if _, err := d.Start(context.Background(), s); err != nil {
		t.Fatalf("%s: %v", x.name, err)
	}
	return r, r.store
}

// recording returns the directory with the actions of a search with models.
func (x *staged) recording() string {
	return filepath.Join("testdata", "turns", strings.ReplaceAll(x.name, " ", "-"))
}

// record records a search with models. Its verdicts are left out of the file:
// the play makes them again.
func (x *staged) record(t *testing.T) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "recorded")
	x.stage(t, "", dir)
	h, all, err := readRecording(filepath.Join(dir, actionsName+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	err = lines.Encode(h)
	for _, one := range all {
		if one.Telling != nil {
			one.Telling.Evaluated = nil
		}
		err = errors.Join(err, lines.Encode(one))
	}
	err = errors.Join(err, os.MkdirAll(x.recording(), 0o755),
		os.WriteFile(filepath.Join(x.recording(), actionsName+".jsonl"), text.Bytes(), 0o644))
	if err != nil {
		t.Fatal(err)
	}
}

// trajectory returns the digest of all that a search was told and how it stands in the end, its
// random numbers included. Times are not part of it.
func trajectory(t *testing.T, s *store.Store, run string) string {
	t.Helper()
	var log flow.Log
	var raw json.RawMessage
	for name, v := range map[string]any{"log": &log, "search": &raw} {
		if ok, err := s.Load(run, name, v); err != nil || !ok {
			t.Fatal(name, ok, err)
		}
	}
	var search map[string]any
	numbers := json.NewDecoder(bytes.NewReader(raw))
	numbers.UseNumber()
	if err := numbers.Decode(&search); err != nil {
		t.Fatal(err)
	}
	delete(search, "mark") // a place in a journal
	var fates []string
	for _, id := range []string{"one", "two", "bad", "a", "b", "c", "d", "e", "f", "late", "x", "y"} {
		if f, taken := flow.FateOf(s, run, id); taken {
			fates = append(fates, fmt.Sprint(id, " ", f.Candidate, " ", f.Verdict.Status, " ", f.Verdict.Reason))
		}
	}
	return fmt.Sprintf("%d candidates, %d generations, %s", len(log.Attempts), log.Generations,
		beagle.HashOf("trajectory", log.Attempts, log.Thin, search, fates)[:24])
}

// TestTrajectories checks that searches take the way that they took when their digests were written
// down: rules alone on all strategies, with guests, and with models, whose replies come when they
// came in the recording.
func TestTrajectories(t *testing.T) {
	if testing.Short() {
		t.Skip("what its searches share is that of TestReplay and TestBoth, which the race detector watches sooner")
	}
	const golden = "testdata/trajectories.txt"
	var got strings.Builder
	for _, x := range plays() {
		if *record && x.written {
			x.record(t)
		}
		replay := ""
		if x.written {
			replay = x.recording()
		}
		r, s := x.stage(t, replay, "")
		fmt.Fprintf(&got, "%s: %s\n", x.name, trajectory(t, s, r.run))
	}
	if *update || *record {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	a, b := strings.Split(got.String(), "\n"), strings.Split(string(text), "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			t.Errorf("line %d:\n got %q\nwant %q", i+1, at(a, i), at(b, i))
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// gainOf returns the change of a step that no rule took: it follows from its name.
func gainOf(st beagle.Step) float64 { return 0.08 * math.Sin(float64(number(st.Param)%1000)) }
