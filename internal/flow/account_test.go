package flow

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
)

// agentSession returns a session whose only author is an agent that does as told.
func agentSession(t *testing.T, s *store.Store, caps llm.Caps, turn func(llm.Request) (llm.Reply, error)) *session {
	t.Helper()
	x := asked(t, s, original, llmtest.New(t, llmtest.Say(better)), caps)
	m, err := AgentModel("true")
	if err != nil {
		t.Fatal(err)
	}
	x.spec.Models.Ask, x.spec.Models.Offline = []llm.Model{m}, false
	if err := x.authors.openOnce(); err != nil {
		t.Fatal(err)
	}
	x.authors.asker = turns(turn)
	return x
}

type turns func(llm.Request) (llm.Reply, error)

func (f turns) Ask(_ context.Context, q llm.Request) (llm.Reply, error) { return f(q) }

func (x *session) agentTurn(t *testing.T, id int) *Asked {
	t.Helper()
	a, err := x.authors.write(t.Context(),
		evolve.Proposal{ID: id, Kind: evolve.Model, Parent: x.works.root.ID, Author: "agent:true",
			Model: "agent:true", Sample: id})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestFailedTurnsCost checks that a failed turn of an agent costs as much as the agent reported:
// for the search, in the result, and in the budget of a resumed run.
func TestFailedTurnsCost(t *testing.T) {
	s := openStore(t)
	fail := func(q llm.Request) (llm.Reply, error) {
		return llm.Reply{},
			&llm.Error{Kind: llm.Unavailable, Model: q.Model, Message: "it spent too much", Attempts: 1, Cost: 60_001,
				Wasted: llm.Usage{Estimated: true}}
	}
	x := agentSession(t, s, llm.Caps{Money: 1_000_000}, fail)
	if a := x.agentTurn(t, 1); a.Cost != 60_001 || a.Unheard == "" {
		t.Errorf("the search is told of %+v", a)
	}
	sums, err := x.authors.modelSummary()
	if err != nil || sums.Dollars != 0.060001 || sums.Calls != 0 || sums.Authors[0].Dollars != 0.060001 {
		t.Errorf("%v: the result says %+v", err, sums)
	}
	if none, err := ModelCost(s, "another run"); err != nil || none != 0 {
		t.Errorf("a run that is not there has paid %v, %v", none, err)
	}
	if err := s.Save("run", "spec", x.spec); err != nil {
		t.Fatal(err)
	}
	if paid, err := ModelCost(s, "run"); err != nil || paid != 60_001 {
		t.Errorf("the run has paid %v, %v", paid, err)
	}
	again := agentSession(t, s, llm.Caps{Money: 1_000_000}, fail)
	if spent := again.authors.budget.Spent(); spent.Money != 60_001 || spent.Calls != 1 {
		t.Errorf("the resumed run starts with %+v spent", spent)
	}
	lines, err := store.ReadJournal[call](s, "run", journalName)
	if err != nil || lines[len(lines)-1].Error == nil || lines[len(lines)-1].Error.Cost != 60_001 {
		t.Errorf("%v: the journal ends with %+v", err, lines[len(lines)-1])
	}
}

// TestUntoldTokens checks that an agent that does not count its tokens is noticed; one that does is
// booked.
func TestUntoldTokens(t *testing.T) {
	for usage, untold := range map[llm.Usage]bool{{Estimated: true}: true, {In: 1000, Out: 50}: false} {
		s := openStore(t)
		reply := func(q llm.Request) (llm.Reply, error) {
			return llm.Reply{Model: q.Model, Text: better, Stop: llm.StopEnd, Usage: usage, Attempts: 1}, nil
		}
		x := agentSession(t, s, llm.Caps{Tokens: 100_000}, reply)
		if a := x.agentTurn(t, 1); a.Untold != untold || a.Candidate == "" {
			t.Errorf("%+v: %+v", usage, a)
		}
		if c := x.authors.coder(x.authors.budget); c.MostTokens != 25_000 {
			t.Errorf("%d tokens are set aside for a turn", c.MostTokens)
		}
		again := agentSession(t, s, llm.Caps{Tokens: 100_000}, reply)
		if spent := again.authors.budget.Spent(); spent.Tokens != int64(usage.In+usage.Out) || spent.Calls != 1 {
			t.Errorf("%+v: the resumed run starts with %+v spent", usage, spent)
		}
	}
}

// TestFailedRecordingLosesNothing checks that a reply whose recording fails is in the journal: the
// run ends, and a resumed run pays nothing for it and records it.
func TestFailedRecordingLosesNothing(t *testing.T) {
	s := openStore(t)
	server := llmtest.New(t, llmtest.Say(better))
	dir := filepath.Join(t.TempDir(), "recorded")
	if err := os.WriteFile(dir, []byte("in the way, like a full disk"), 0o644); err != nil {
		t.Fatal(err)
	}
	x := asked(t, s, original, server, llm.Caps{})
	x.spec.Models.Record = dir
	if err := x.authors.openOnce(); err != nil {
		t.Fatal(err)
	}
	p := evolve.Proposal{ID: 1, Kind: evolve.Model, Parent: x.works.root.ID, Author: "test", Model: "test"}
	_, err := x.authors.write(t.Context(), p)
	var bad *beagle.UsageError
	if !errors.As(err, &bad) || !strings.Contains(bad.What, "--record") {
		t.Fatalf("the run goes on: %v", err)
	}
	x.authors.calls.journal.Close()
	paid := server.Calls()[0]
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	again := asked(t, s, original, server, llm.Caps{})
	again.spec.Models.Record = dir
	if err := again.authors.openOnce(); err != nil {
		t.Fatal(err)
	}
	money := llm.Price{In: 3, Out: 15, AsOf: "given"}.Cost(llm.Usage{In: paid.In, Out: paid.Out})
	if spent := again.authors.budget.Spent(); spent.Money != money || spent.Calls != 1 {
		t.Errorf("%+v spent, the server took %v", spent, money)
	}
	a, err := again.authors.write(t.Context(), p)
	if err != nil || a.Candidate == "" || server.Stats().Calls != 1 {
		t.Errorf("%v: %+v after %d calls", err, a, server.Stats().Calls)
	}
	replay := &llm.Replayer{Dir: dir}
	lines, err := store.ReadJournal[call](s, "run", journalName)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := replay.Ask(t.Context(), *lines[0].Request); err != nil || r.Text != better {
		t.Errorf("%v: the recording says %q", err, r.Text)
	}
}

// TestAttemptsArePricedAlone checks that attempts of a call are priced each by itself, in the
// budget, in what the search is told and in the result, now and when the run goes on.
func TestAttemptsArePricedAlone(t *testing.T) {
	s := openStore(t)
	half := llmtest.Reply{Text: better, Break: "close"}
	server := llmtest.New(t, llmtest.InTurn(half, half, llmtest.Reply{Text: better}))
	open := func() *session {
		x := asked(t, s, original, server, llm.Caps{})
		x.spec.Models.Ask[0].Price = llm.Price{In: 3, Out: 15, AsOf: "given", LongFrom: 10_000, LongIn: 3000,
			LongOut: 15_000}
		return x
	}
	x := open()
	a := x.askFor(t, 1, 0)
	var q *llm.Request
	lines, err := store.ReadJournal[call](s, "run", journalName)
	if err != nil {
		t.Fatal(err)
	}
	q = lines[0].Request
	price, bound, last := x.spec.Models.Ask[0].Price, q.Bound(), server.Calls()[2]
	if bound.In >= price.LongFrom || 3*bound.In <= price.LongFrom {
		t.Fatalf("a prompt of at most %d tokens tries nothing", bound.In)
	}
	want := 2*price.Cost(bound) + price.Cost(llm.Usage{In: last.In, Out: last.Out})
	sums, err := x.authors.modelSummary()
	if err != nil || a.Cost != want || x.authors.budget.Spent().Money != want || llm.MicrosOf(sums.Dollars) != want {
		t.Errorf("%v told, %v in the budget, %+v in the result, want %v: %v", a.Cost, x.authors.budget.Spent().Money,
			sums, want, err)
	}
	again := open()
	if err := again.authors.openOnce(); err != nil || again.authors.budget.Spent().Money != want {
		t.Errorf("%v: the resumed run starts with %v", err, again.authors.budget.Spent().Money)
	}
}

// TestOneKeyForSeveralServers checks that a file with one key is refused before the run when the
// models are at several servers: nothing says which of them may have it.
func TestOneKeyForSeveralServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("sk-one-key-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Defaults()
	s.Target, s.Models.KeyFile = "./p.F", path
	for _, name := range []string{"gpt-5", "tester@https://models.example/v1"} {
		m, err := llm.ParseModel(name)
		if err != nil {
			t.Fatal(err)
		}
		m.Price = llm.Price{In: 3, Out: 15, AsOf: "given"}
		s.Models.Ask = append(s.Models.Ask, m)
	}
	var bad *beagle.UsageError
	if err := s.Validate(); !errors.As(err, &bad) ||
		!strings.Contains(bad.Remedy, "OPENAI_API_KEY=… for https://api.openai.com/v1") ||
		!strings.Contains(bad.Remedy, "BEAGLE_KEY_TESTER=… for https://models.example/v1") {
		t.Errorf("%v", err)
	}
	s.Models.Ask = s.Models.Ask[:1]
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
}
