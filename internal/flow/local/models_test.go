package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/loop"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	flow.Brief()
	if spec := os.Getenv("BEAGLE_TEST_RUN"); spec != "" {
		os.Exit(child(spec))
	}
	os.Exit(m.Run())
}

// alike leaves a test out of the short ones, which are for the race detector: it has the goroutines
// of TestBoth, and looks at what they say.
func alike(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("its goroutines are those of TestBoth")
	}
}

// known is an evaluator of known speed: it only waits, on a fixed number of slots, and finds every
// candidate correct and a little faster or slower. All else of a run is real: proposals, calls,
// replies, journals, checkpoints.
type known struct {
	*flow.Activities
	each  time.Duration // for a candidate
	slots int
	count *atomic.Int64 // candidates evaluated
	alone bool          // no other process goes on with the run

	mu   sync.Mutex
	seen map[string]beagle.Verdict
}

func (k *known) Evaluate(
	ctx context.Context, run string, ids []string, _ flow.Foresee,
) (*flow.EvaluatedBatch, error) {
	out := &flow.EvaluatedBatch{Candidates: make([]flow.Evaluation, len(ids))}
	slots := make(chan struct{}, k.slots)
	var wg sync.WaitGroup
	for i, id := range ids {
		k.mu.Lock()
		v, ok := k.seen[id]
		if !ok {
			v = pretend(id)
			k.seen[id] = v
		}
		k.mu.Unlock()
		out.Candidates[i] = flow.Evaluation{Candidate: id, StoredVerdict: flow.StoredVerdict{Verdict: v}, Cached: ok}
		if ok {
			continue
		}
		k.count.Add(1)
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			select {
			case <-time.After(k.each):
			case <-ctx.Done():
			}
		})
	}
	wg.Wait()
	if k.alone {
		return out, k.Adopt(ctx, run, out.Candidates)
	}
	// The next process finds the evaluations of this one, as in a real store.
	if err := k.Store.Save(run, "pretended", k.seen); err != nil {
		return nil, err
	}
	return out, k.Adopt(ctx, run, out.Candidates)
}

// pretend gives a candidate a speed that hangs on its ID alone.
func pretend(id string) beagle.Verdict {
	h := fnv.New64a()
	h.Write([]byte(id))
	ratio := 0.9 + float64(h.Sum64()%1000)/3000
	return beagle.Verdict{
		Candidate: id,
		Status:    beagle.Equal,
		Stage:     "screen",
		Screen:    &beagle.Ratio{Point: ratio, Low: ratio - 0.01, High: ratio + 0.01},
	}
}

func (k *known) Judge(context.Context, string, flow.Field) (*flow.Conclusion, error) {
	return &flow.Conclusion{Why: "nobody judged"}, nil
}

// driver makes a driver with such an evaluator.
func (k *known) driver(s *store.Store, watch flow.Watcher) *Driver {
	return &Driver{Store: s, Watch: watch, wrap: func(a *flow.Activities) activities {
		k.Activities = a
		return k
	}}
}

func newKnown(each time.Duration, slots int) *known {
	return &known{each: each, slots: slots, count: new(atomic.Int64), seen: map[string]beagle.Verdict{}}
}

const target = `package p

// Sum adds the bytes of s.
func Sum(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		n += int(s[i])
	}
	return n
}
`

// spec returns the spec of a run on a small function with recorded inputs, and models at a server.
func spec(t testing.TB, url string, names ...string) flow.Spec {
	t.Helper()
	args := make([]string, 300)
	for i := range args {
		args[i] = fmt.Sprintf("[%q]", strings.Repeat("abcdefgh", i%20)+fmt.Sprint(i))
	}
	return specOf(t, target, args, url, names...)
}

// specOf returns the spec of a run on a Sum that is called with these arguments, each a list in
// JSON.
func specOf(t testing.TB, text string, args []string, url string, names ...string) flow.Spec {
	t.Helper()
	dir := t.TempDir()
	var calls strings.Builder
	for _, arg := range args {
		fmt.Fprintf(&calls, "{\"args\":%s}\n", arg)
	}
	for name, text := range map[string]string{
		"go.mod":      "module example.com/p\n\ngo 1.26\n",
		"p.go":        text,
		"calls.jsonl": calls.String(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := flow.Defaults()
	s.Dir, s.Target, s.CorpusFile, s.Force = dir, ".Sum", filepath.Join(dir, "calls.jsonl"), true
	s.Measure, s.Fuzz = 2*time.Second, time.Second // its gains are large, or they do not matter
	for _, name := range names {
		m, err := llm.ParseModel(name + "@" + url + "/v1")
		if err != nil {
			t.Fatal(err)
		}
		s.Models.Ask = append(s.Models.Ask, m)
	}
	s.Models.Offline = true
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// version returns a reply with a version that no other number has.
func version(n int) string {
	return fmt.Sprintf("Adds in another order.\n\n```go\nfunc Sum(s string) int {\n\tn := %d\n"+
		"\tfor _, b := range []byte(s) {\n\t\tn += int(b)\n\t}\n\treturn n - %d\n}\n```\n", n, n)
}

// versions gives a new version to every call, after a delay.
func versions(after time.Duration) llmtest.Script {
	return func(c llmtest.Call) *llmtest.Reply {
		return &llmtest.Reply{Text: version(c.Number), After: llmtest.Duration(after)}
	}
}

func openStore(t testing.TB, home string) *store.Store {
	t.Helper()
	s, err := store.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestBoth checks that models and rules fill the budget together, and the result says what each
// did.
func TestBoth(t *testing.T) {
	server := llmtest.New(t, versions(0))
	s := spec(t, server.URL(), "good", "bad")
	s.Candidates = 40
	k := newKnown(0, 2)
	r, err := k.driver(openStore(t, t.TempDir()), nil).Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	m := r.Models
	// The last generations, which leave steps out of the best, cost no budget.
	if r.Candidates == 0 || int(k.count.Load()) < r.Candidates || m == nil || m.Calls != server.Stats().Calls ||
		m.Tokens == 0 {
		t.Fatalf("%d candidates, %d evaluated, %d calls: %+v", r.Candidates, k.count.Load(), server.Stats().Calls, m)
	}
	written, ruled := 0, 0
	for _, a := range m.Authors {
		if a.Author == "rules" {
			ruled += a.Candidates
		} else {
			written += a.Candidates
		}
	}
	if written == 0 || ruled == 0 || written+ruled < r.Candidates {
		t.Errorf("%d written, %d by rules, %d in all", written, ruled, r.Candidates)
	}
}

// TestStalledProvider checks that a provider that stalls blocks neither the rules nor the end of
// the run.
func TestStalledProvider(t *testing.T) {
	server := llmtest.New(t, llmtest.Always(llmtest.Reply{Text: version(1), After: llmtest.Duration(time.Hour)}))
	s := spec(t, server.URL(), "test")
	var r *beagle.Result
	// A busy machine may need more time for the rules.
	for s.Time = 5 * time.Second; (r == nil || r.Candidates == 0) && s.Time < 2*time.Minute; s.Time *= 4 {
		var err error
		if r, err = newKnown(0, 2).driver(openStore(t, t.TempDir()), nil).Start(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if r.Candidates == 0 {
		t.Error("the rules waited for the model")
	}
	if r.Models.Authors[0].Candidates == 0 && r.Models.Authors[1].Candidates == 0 {
		t.Errorf("%+v", r.Models)
	}
}

// TestBadKeyEndsTheRun checks that a bad key ends the run at once, with what to do.
func TestBadKeyEndsTheRun(t *testing.T) {
	alike(t)
	server := &llmtest.Server{Script: versions(0), Key: "right"}
	server.StartFor(t)
	s := spec(t, server.URL(), "test")
	t.Setenv("BEAGLE_KEY_TEST", "wrong")
	k := newKnown(0, 2)
	_, err := k.driver(openStore(t, t.TempDir()), nil).Start(t.Context(), s)
	var bad *beagle.UsageError
	if !errors.As(err, &bad) || bad.Remedy == "" || server.Stats().Calls > 4 {
		t.Errorf("%v after %d calls", err, server.Stats().Calls)
	}
}

// TestBudgets checks that no budget is exceeded, and the rules go on when it is used up.
func TestBudgets(t *testing.T) {
	limits := map[string]llm.Caps{
		"calls": {Calls: 5}, "tokens": {Tokens: 60_000}, "money": {Money: llm.MicrosOf(0.5)},
	}
	for _, name := range sampletest.Of(t, slices.Sorted(maps.Keys(limits)), 1) {
		caps := limits[name]
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, versions(0))
			s := spec(t, server.URL(), "test")
			s.Models.Caps, s.Models.Ask[0].Price = caps, llm.Price{In: 3, Out: 15, AsOf: "given"}
			s.Candidates = 60
			k := newKnown(0, 2)
			r, err := k.driver(openStore(t, t.TempDir()), nil).Start(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			stats := server.Stats()
			tokens := int64(stats.TokensIn + stats.TokensOut)
			cost := s.Models.Ask[0].Price.Cost(llm.Usage{In: stats.TokensIn, Out: stats.TokensOut})
			if caps.Calls > 0 && int64(stats.Calls) != caps.Calls || caps.Tokens > 0 && tokens > caps.Tokens ||
				caps.Money > 0 && cost > caps.Money {
				t.Errorf("%d calls, %d tokens, %v", stats.Calls, tokens, cost)
			}
			if stats.Calls == 0 || r.Candidates <= stats.Calls {
				t.Errorf("%d candidates of %d calls: nobody went on", r.Candidates, stats.Calls)
			}
		})
	}
}

// way lists the evaluations of a run, in order.
func way(r *beagle.Result) string {
	var ids []string
	for _, t := range r.Attempts {
		ids = append(ids, t.Candidate[:8])
	}
	return strings.Join(ids, " ")
}

// TestReplay checks that a recorded run takes the same way when it is replayed, and asks no model.
func TestReplay(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var mu sync.Mutex
	server := llmtest.New(t, func(c llmtest.Call) *llmtest.Reply {
		mu.Lock()
		defer mu.Unlock()
		return &llmtest.Reply{
			Text:  version(c.Number),
			After: llmtest.Duration(time.Duration(r.IntN(80)) * time.Millisecond),
		}
	})
	s := spec(t, server.URL(), "one", "two")
	s.Candidates, s.Models.Record = 40, filepath.Join(t.TempDir(), "recorded")
	first, err := newKnown(5*time.Millisecond, 2).driver(openStore(t, t.TempDir()), nil).Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	s.Models.Replay, s.Models.Record = s.Models.Record, ""
	again, err := newKnown(0, 2).driver(openStore(t, t.TempDir()), nil).Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if way(again) != way(first) || len(first.Attempts) == 0 {
		t.Errorf("another way:\n%s\n%s", way(first), way(again))
	}
	if !again.Models.Replayed || again.Models.Calls != first.Models.Calls {
		t.Errorf("%+v and %+v", first.Models, again.Models)
	}
}

// childRun is the order for a run in a process of its own.
type childRun struct {
	Home   string
	Spec   flow.Spec
	Resume string
}

// child runs in such a process: it prints the run's result.
func child(text string) int {
	var c childRun
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		panic(err)
	}
	s, err := store.Open(c.Home)
	if err != nil {
		panic(err)
	}
	k := newKnown(100*time.Millisecond, 2)
	var r *beagle.Result
	if c.Resume != "" {
		if _, err := s.Load(c.Resume, "pretended", &k.seen); err != nil {
			panic(err)
		}
		r, err = k.driver(s, nil).Resume(context.Background(), c.Resume)
	} else {
		r, err = k.driver(s, nil).Start(context.Background(), c.Spec)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		panic(err)
	}
	return 0
}

func (c childRun) command(t *testing.T) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "BEAGLE_TEST_RUN="+string(text))
	cmd.Stderr = os.Stderr
	return cmd
}

// TestKill kills a run at moments all over its course and resumes it: no reply
// that arrived is asked for again, none is lost, the provider makes no answer
// twice, and the way until the kill stays the same.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("several processes, killed")
	}
	server := &llmtest.Server{Idempotent: true, Script: versions(300 * time.Millisecond)}
	server.StartFor(t)
	c := childRun{Home: t.TempDir(), Spec: spec(t, server.URL(), "test")}
	c.Spec.Candidates, c.Spec.Models.Ask[0].Price = 60, llm.Price{In: 3, Out: 15, AsOf: "given"}
	s := openStore(t, c.Home)
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	var result beagle.Result
	var before []string
	kills, hits := 0, 0
	for ; ; kills++ {
		cmd := c.command(t)
		var out strings.Builder
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		if kills < 6 && !killed(t, s, cmd, ended, &c, r) {
			continue
		}
		if kills >= 6 {
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(out.String()), &result); err != nil {
				t.Fatal(err)
			}
			break
		}
		hits++
		before = logged(t, s, c.Resume, before)
	}
	if t.Logf("killed %d times under way", hits); hits == 0 {
		t.Error("the run was never killed under way")
	}
	repliesOnce(t, s, c.Resume, server, result.Models)
	var trials []string
	for _, x := range result.Attempts {
		trials = append(trials, x.Candidate)
	}
	if len(trials) < len(before) || !slices.Equal(trials[:len(before)], before) {
		t.Errorf("before the last kill %v, in the end %v", before, trials)
	}
	if len(trials) != result.Candidates {
		t.Errorf("%d trials, %d candidates", len(trials), result.Candidates)
	}
}

// killed waits until the run has asked something more, and a moment longer,
// and kills it. It is false when the run ended before.
func killed(t *testing.T, s *store.Store, cmd *exec.Cmd, ended chan error, c *childRun, r *rand.Rand) bool {
	t.Helper()
	before := len(taken(t, s, c.Resume))
	for start := time.Now(); time.Since(start) < 10*time.Minute; time.Sleep(5 * time.Millisecond) {
		if c.Resume == "" {
			if runs, err := s.Runs(); err == nil && len(runs) == 1 {
				c.Resume = runs[0].ID
			}
			continue
		}
		if len(taken(t, s, c.Resume)) > before || len(ended) > 0 {
			break
		}
	}
	time.Sleep(time.Duration(r.IntN(600)) * time.Millisecond)
	if err := cmd.Process.Kill(); err != nil {
		t.Log(err)
	}
	return (<-ended) != nil
}

// taken returns the actions in a run's journal.
func taken(t *testing.T, s *store.Store, run string) []loop.Action {
	t.Helper()
	if run == "" {
		return nil
	}
	turns, err := store.ReadJournal[loop.Action](s, run, actionsName)
	if err != nil {
		t.Fatal(err)
	}
	return turns
}

// logged returns the candidates of the run's log, which go on from those before.
func logged(t *testing.T, s *store.Store, run string, before []string) []string {
	t.Helper()
	var log flow.Log
	if _, err := s.Load(run, "log", &log); err != nil {
		t.Fatal(err)
	}
	var now []string
	for _, x := range log.Attempts {
		now = append(now, x.Candidate)
	}
	if len(now) < len(before) || !slices.Equal(now[:len(before)], before) {
		t.Errorf("before %v, now %v", before, now)
	}
	return now
}

// repliesOnce checks the journal of calls and the result against the server.
func repliesOnce(t *testing.T, s *store.Store, run string, server *llmtest.Server, m *beagle.ModelSummary) {
	t.Helper()
	type line struct {
		ID       string          `json:"id"`
		Proposal int             `json:"proposal"`
		Round    int             `json:"round"`
		Request  json.RawMessage `json:"request"`
		Reply    json.RawMessage `json:"reply"`
	}
	lines, err := store.ReadJournal[line](s, run, "calls")
	if err != nil {
		t.Fatal(err)
	}
	replied := map[string]bool{}
	places := map[[2]int]string{}
	sent, replies := 0, 0
	for _, l := range lines {
		place := [2]int{l.Proposal, l.Round}
		if id := places[place]; id != "" && id != l.ID {
			t.Errorf("proposal %d, round %d: another process asked another question", l.Proposal, l.Round)
		}
		places[place] = l.ID
		switch {
		case l.Request != nil:
			if sent++; replied[l.ID] {
				t.Errorf("request %s was sent again after its reply had arrived", l.ID)
			}
		case l.Reply != nil:
			replies++
			if replied[l.ID] {
				t.Errorf("request %s was paid twice", l.ID)
			}
			replied[l.ID] = true
		}
	}
	calls := server.Stats().Calls
	if calls > sent || replies == 0 {
		t.Errorf("%d calls at the server, %d journaled, %d replies", calls, sent, replies)
	}
	asked := map[string]bool{}
	for _, c := range server.Calls() {
		asked[c.Header.Get("Idempotency-Key")] = true
	}
	if paid := server.Stats().Paid; paid != len(asked) || len(asked) < replies {
		t.Errorf("%d answers paid for %d questions, %d replies", paid, len(asked), replies)
	}
	// For a provider without such keys, the result says what may have been paid twice.
	if m.Lost != sent-replies || (m.AtMost > 0) != (m.Lost > 0) {
		t.Errorf("%d lost for at most $%g; %d sent, %d replies", m.Lost, m.AtMost, sent, replies)
	}
	t.Logf("%d requests, %d calls at the server, %d questions, %d replies, %d lost", sent, calls, len(asked),
		replies, m.Lost)
}

// TestUnmatchedCostsNothing checks that a reply that fits nothing costs no evaluation and next to
// no time.
func TestUnmatchedCostsNothing(t *testing.T) {
	alike(t)
	server := llmtest.New(t, llmtest.Say("<<<<<<< SEARCH\nnothing of this kind\n=======\nx\n>>>>>>> REPLACE\n"))
	s := spec(t, server.URL(), "test")
	s.Models.NoRules = true
	k := newKnown(time.Second, 2)
	r, err := k.driver(openStore(t, t.TempDir()), nil).Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if n := k.count.Load(); n != 0 || r.Candidates != 0 {
		t.Errorf("%d evaluations", n)
	}
	if n := r.Models.Authors[0].Useless + r.Models.Authors[1].Useless; n == 0 || r.Models.Calls == 0 {
		t.Errorf("%+v", r.Models)
	}
}

// TestEqualReplies checks that sixty equal replies are one candidate.
func TestEqualReplies(t *testing.T) {
	alike(t)
	server := llmtest.New(t, llmtest.Say(version(1)))
	s := spec(t, server.URL(), "test")
	s.Models.NoRules, s.Models.Caps.Calls = true, 60
	k := newKnown(0, 2)
	r, err := k.driver(openStore(t, t.TempDir()), nil).Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if n := k.count.Load(); n != 1 || r.Candidates != 1 {
		t.Errorf("%d evaluations after %d calls", n, server.Stats().Calls)
	}
	t.Logf("%d calls", server.Stats().Calls)
}
