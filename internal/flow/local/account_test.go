package local

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/loop"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
)

var dear = llm.Price{In: 3, Out: 15, AsOf: "given"}

// charged returns a server's charge for the calls to a model that it answered to the end, and their
// number and tokens.
func charged(s *llmtest.Server, model string, p llm.Price) (money llm.Micros, calls, tokens int) {
	for _, c := range s.Calls() {
		if c.Answered && c.Model == model {
			money, calls, tokens = money+p.Cost(llm.Usage{In: c.In, Out: c.Out}), calls+1, tokens+c.In+c.Out
		}
	}
	return money, calls, tokens
}

// TestResultSaysWhatWasPaid checks that the result says what was paid, whether or not the search
// came to use it: its time may be over while answers wait to be judged.
func TestResultSaysWhatWasPaid(t *testing.T) {
	var home *store.Store
	var used llm.Spent
	var r *beagle.Result
	var money llm.Micros
	calls, tokens, drafted := 0, 0, 0
	// On a busy machine the time may end before the model is asked, or has answered more than is
	// judged: then there is more of it. An evaluation takes a quarter of it, so that answers are
	// left over.
	for most := 3 * time.Second; calls <= drafted && most < 2*time.Minute; most *= 2 {
		server := llmtest.New(t, versions(100*time.Millisecond))
		s := spec(t, server.URL(), "test")
		s.Models.InFlight, s.Models.Ask[0].Price, s.Models.Caps.Money = 8, dear, 10_000_000
		s.Models.NoRules, s.Time = true, most // so that it is asked at once
		home, used = openStore(t, t.TempDir()), llm.Spent{}
		var err error
		r, err = newKnown(s.Time/4, 1).driver(home, func(e flow.Event) {
			if e.Evaluated != nil && e.Evaluated.Models != nil {
				used = e.Evaluated.Models.Spent
			}
		}).Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		money, calls, tokens = charged(server, "test", dear)
		drafted = writtenAndUsed(r.Models)
	}
	m := r.Models
	if m.Calls > calls || m.Calls+m.Lost < calls {
		t.Errorf("%d answers and %d lost in the result, the server gave %d", m.Calls, m.Lost, calls)
	}
	if micros := llm.MicrosOf(m.Dollars); micros > money || micros+llm.MicrosOf(m.AtMost) < money {
		t.Errorf("%v and at most %v lost in the result, the server took %v", micros, llm.MicrosOf(m.AtMost), money)
	}
	if m.Calls == calls && (llm.MicrosOf(m.Dollars) != money || m.Tokens != tokens) {
		t.Errorf("%v and %d tokens in the result, the server took %v for %d", llm.MicrosOf(m.Dollars), m.Tokens,
			money, tokens)
	}
	authors := 0.0
	for _, a := range m.Authors {
		authors += a.Dollars
	}
	if calls <= drafted {
		t.Errorf("all %d answers were used: nothing was tried", calls)
	}
	if llm.MicrosOf(authors) != llm.MicrosOf(m.Dollars) {
		t.Errorf("the authors cost %g, all models %g", authors, m.Dollars)
	}
	if all := llm.MicrosOf(m.Dollars) + llm.MicrosOf(m.AtMost); used.Money > all {
		t.Errorf("the live budget said %v, the result says %v", used.Money, all)
	}
	journal(t, home, r, money)
	t.Logf("%d answers for %v at the server; %d, %g and %d lost in the result; %d were used", calls, money, m.Calls,
		m.Dollars, m.Lost, drafted)
}

// writtenAndUsed counts the answers that a search came to use.
func writtenAndUsed(m *beagle.ModelSummary) (n int) {
	for _, a := range m.Authors {
		if a.Author != "rules" {
			n += a.Candidates + a.Useless
		}
	}
	return n
}

// journal checks that the journal of calls says what the result says.
func journal(t *testing.T, s *store.Store, r *beagle.Result, most llm.Micros) {
	t.Helper()
	lines, err := store.ReadJournal[struct{ Reply *llm.Reply }](s, r.Run, "calls")
	if err != nil {
		t.Fatal(err)
	}
	sum, n := llm.Micros(0), 0
	for _, l := range lines {
		if l.Reply != nil {
			sum, n = sum+l.Reply.Cost, n+1
		}
	}
	if sum != llm.MicrosOf(r.Models.Dollars) || n != r.Models.Calls || sum > most {
		t.Errorf("%d answers for %v in the journal; the result says %d for %g", n, sum, r.Models.Calls,
			r.Models.Dollars)
	}
}

// TestOneDearModel checks that a model whose next call the budget does not cover is not asked any
// more; one that costs nothing goes on.
func TestOneDearModel(t *testing.T) {
	alike(t)
	server := llmtest.New(t, versions(0))
	s := spec(t, server.URL(), "dear", "free")
	s.Models.Ask[0].Price, s.Models.Caps.Money, s.Models.NoRules, s.Candidates = dear, 1000, true, 20
	var warnings []string
	r, err := newKnown(0, 2).driver(openStore(t, t.TempDir()), func(e flow.Event) {
		if e.Warning != "" {
			warnings = append(warnings, e.Warning)
		}
	}).Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	_, dearCalls, _ := charged(server, "dear", dear)
	_, freeCalls, _ := charged(server, "free", dear)
	if dearCalls != 0 || freeCalls < 20 || r.Candidates != 20 || r.Models.Closed || r.Models.Dollars != 0 {
		t.Errorf("%d dear calls, %d free ones, %d candidates, %+v", dearCalls, freeCalls, r.Candidates, r.Models)
	}
	if told := strings.Count(strings.Join(warnings, "\n"), "another call of dear"); told != 1 {
		t.Errorf("told %d times: %q", told, warnings)
	}
	// With the free one gone too, none is left.
	s.Models.Ask, s.Candidates = s.Models.Ask[:1], 10
	if r, err = newKnown(0, 2).driver(openStore(t, t.TempDir()), nil).Start(t.Context(), s); err != nil ||
		!r.Models.Closed || r.Candidates != 0 {
		t.Errorf("%v: %+v", err, r)
	}
}

// TestRepeatsArePaidForTenTimes checks that a model that only repeats itself is not paid twenty
// times more for it, and one whose tenth answer is good is heard.
func TestRepeatsArePaidForTenTimes(t *testing.T) {
	alike(t)
	server := llmtest.New(t,
		llmtest.Always(llmtest.Reply{Text: version(1), After: llmtest.Duration(100 * time.Millisecond)}))
	s := spec(t, server.URL(), "test")
	s.Models.NoRules, s.Models.Ask[0].Price, s.Models.Caps.Money, s.Models.InFlight = true, dear, 10_000_000, 1
	r, err := newKnown(0, 2).driver(openStore(t, t.TempDir()), nil).Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	money, calls, _ := charged(server, "test", dear)
	if calls > 15 || r.Candidates != 1 || llm.MicrosOf(r.Models.Dollars) != money || !r.Models.Closed {
		t.Errorf("%d calls for %v, %d candidates: %+v", calls, money, r.Candidates, r.Models)
	}
	t.Logf("%d calls for %v", calls, money)
	late := make([]llmtest.Reply, 10)
	for i := range late {
		late[i] = llmtest.Reply{Text: version(1)}
	}
	late = append(late, llmtest.Reply{Text: version(2)})
	server = llmtest.New(t, llmtest.InTurn(late...))
	s = spec(t, server.URL(), "test")
	s.Models.NoRules, s.Models.Ask[0].Price, s.Models.Caps.Money, s.Models.InFlight = true, dear, 10_000_000, 1
	if r, err = newKnown(0, 2).driver(openStore(t, t.TempDir()), nil).Start(t.Context(), s); err != nil ||
		r.Candidates != 2 {
		t.Errorf("%v: %d candidates: the good answer came after nine others", err, r.Candidates)
	}
}

// TestTornRecording checks that a resumed run completes a recording that a sudden end cut short: a
// replay takes the same way.
func TestTornRecording(t *testing.T) {
	alike(t)
	server := llmtest.New(t, versions(20*time.Millisecond))
	s := spec(t, server.URL(), "one")
	s.Candidates, s.Models.Record = 40, filepath.Join(t.TempDir(), "recorded")
	home := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := newKnown(5*time.Millisecond, 2)
	_, err := first.driver(openStore(t, home), func(e flow.Event) {
		if e.Evaluated != nil && e.Evaluated.Candidates >= 15 {
			cancel()
		}
	}).Start(ctx, s)
	if err == nil {
		t.Fatal("the run came to its end")
	}
	path := filepath.Join(s.Models.Record, actionsName+".jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(lines) < 6 {
		t.Fatalf("%d lines", len(lines))
	}
	torn := strings.Join(lines[:len(lines)-2], "") + lines[len(lines)-2][:6] // one line and a half are gone
	if err := os.WriteFile(path, []byte(torn), 0o644); err != nil {
		t.Fatal(err)
	}
	st := openStore(t, home)
	runs, err := st.Runs()
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	whole, err := newKnown(5*time.Millisecond, 2).driver(st, nil).Resume(t.Context(), runs[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	sameActions(t, path, taken(t, st, runs[0].ID))
	server.Close()
	s.Models.Replay, s.Models.Record = s.Models.Record, ""
	again, err := newKnown(0, 2).driver(openStore(t, t.TempDir()), nil).Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if way(again) != way(whole) {
		t.Errorf("%v: another way:\n%s\n%s", err, way(whole), way(again))
	}
}

// sameActions checks that a recording has the actions of a journal, and verdicts of all
// that were judged.
func sameActions(t *testing.T, path string, journal []loop.Action) {
	t.Helper()
	_, recorded, err := readRecording(path)
	if err != nil || len(recorded) != len(journal) {
		t.Fatalf("%d turns recorded, %d journaled: %v", len(recorded), len(journal), err)
	}
	for i, x := range recorded {
		if x.Telling != nil {
			x.Telling = &loop.Telling{Took: x.Telling.Took, Evaluating: x.Telling.Evaluating}
		}
		a, _ := json.Marshal(x)
		b, _ := json.Marshal(journal[i])
		if string(a) != string(b) {
			t.Errorf("turn %d: recorded %s, journaled %s", i+1, a, b)
		}
	}
}

// TestReplayOfASpentBudget checks that a run that its budget ended takes the same way when it is
// replayed: what was not asked is not asked for in the recording either.
func TestReplayOfASpentBudget(t *testing.T) {
	alike(t)
	server := llmtest.New(t, versions(20*time.Millisecond))
	s := spec(t, server.URL(), "dear", "free")
	s.Models.Ask[0].Price, s.Models.Caps.Money, s.Candidates = dear, 160_000, 60
	s.Models.Record = filepath.Join(t.TempDir(), "recorded")
	home := openStore(t, t.TempDir())
	first, err := newKnown(5*time.Millisecond, 2).driver(home, nil).Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if money, calls, _ := charged(server, "dear", dear); money != llm.MicrosOf(first.Models.Dollars) ||
		money > 160_000 {
		t.Errorf("%d calls for %v, %+v", calls, money, first.Models)
	}
	if !slices.ContainsFunc(taken(t, home, first.Run), func(x loop.Action) bool { return x.Dismissed == "dear" }) {
		t.Error("the budget was never used up: nothing is tried")
	}
	server.Close()
	s.Models.Replay, s.Models.Record = s.Models.Record, ""
	again, err := newKnown(0, 2).driver(openStore(t, t.TempDir()), nil).Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if way(again) != way(first) || again.Models.Dollars != first.Models.Dollars {
		t.Errorf("another way, for %g and %g:\n%s\n%s", first.Models.Dollars, again.Models.Dollars,
			way(first), way(again))
	}
}
