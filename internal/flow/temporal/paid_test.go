package temporal

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
)

// A known has real stages except the judge, who takes a moment and finds every candidate correct
// and a little faster or slower.
type known struct {
	*flow.Activities
	pause time.Duration
}

func (k *known) EvaluateShare(ctx context.Context, run string, _, mine []string) (*flow.EvaluatedBatch, error) {
	out := new(flow.EvaluatedBatch)
	for _, id := range mine {
		select {
		case <-time.After(k.pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		h := fnv.New64a()
		h.Write([]byte(id))
		ratio := 0.9 + float64(h.Sum64()%1000)/3000
		v := beagle.Verdict{
			Candidate: id,
			Status:    beagle.Equal,
			Stage:     "screen",
			Screen:    &beagle.Ratio{Point: ratio, Low: ratio - 0.01, High: ratio + 0.01},
		}
		out.Candidates = append(out.Candidates,
			flow.Evaluation{Candidate: id, StoredVerdict: flow.StoredVerdict{Verdict: v}})
	}
	return out, k.Adopt(ctx, run, out.Candidates)
}

func (k *known) Confirm(context.Context, string, flow.Field) ([]string, error) { return nil, nil }
func (k *known) Judge(context.Context, string, flow.Field) (*flow.Conclusion, error) {
	return &flow.Conclusion{Why: "nobody judged"}, nil
}

// modelsAt returns the spec of a run on a small function with models at a server.
func modelsAt(t *testing.T, url string, names ...string) flow.Spec {
	t.Helper()
	dir := t.TempDir()
	var calls strings.Builder
	for i := range 300 {
		fmt.Fprintf(&calls, "{\"args\":[%q]}\n", strings.Repeat("abcdefgh", i%20)+fmt.Sprint(i))
	}
	const text = "package p\n\n// Sum adds the bytes of s.\nfunc Sum(s string) int {\n\tn := 0\n" +
		"\tfor i := 0; i < len(s); i++ {\n\t\tn += int(s[i])\n\t}\n\treturn n\n}\n"
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
	for _, name := range names {
		m, err := llm.ParseModel(name + "@" + url + "/v1")
		if err != nil {
			t.Fatal(err)
		}
		m.Price = llm.Price{In: 3, Out: 15, AsOf: "given"}
		s.Models.Ask = append(s.Models.Ask, m)
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNothingIsPaidTwice kills the worker four times, or ten with -sample.all, and the server in
// between, while models write for a run: the provider makes no answer twice, and no answer that
// arrived is asked for again. A version that is handed in gets its fate.
func TestNothingIsPaidTwice(t *testing.T) {
	drawn(t)
	t.Parallel() // it waits for a server to notice what was killed
	planned, candidates := 4, 48
	if sampletest.All() {
		planned, candidates = 10, 120
	}
	f := newFleet(t, "127.0.0.1")
	models := &llmtest.Server{Idempotent: true, Script: func(c llmtest.Call) *llmtest.Reply {
		text := fmt.Sprintf("```go\nfunc Sum(s string) int {\n\tn := %d\n\tfor _, b := range []byte(s) {\n"+
			"\t\tn += int(b)\n\t}\n\treturn n - %[1]d\n}\n```\n", c.Number)
		return &llmtest.Reply{Text: text, After: llmtest.Duration(200 * time.Millisecond)}
	}}
	models.StartFor(t)
	spec := modelsAt(t, models.URL(), "one", "two")
	spec.Candidates, spec.Models.Caps.Money = candidates, 100_000_000 // what a kill loses counts as spent
	r := role{Kinds: fleet.Kinds, Class: "test", Known: true, Pause: 50 * time.Millisecond}
	worker := f.worker(r)
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	run := f.follow(ctx, "run", spec)
	waitFor(t, run, func() bool { return models.Stats().Calls > 0 })
	s := openAt(f.home())
	const source = "package p\n\nfunc Sum(s string) (n int) {\n\tfor j := range len(s) {\n\t\tn += int(s[j])\n\t}\n" +
		"\treturn n\n}\n"
	if _, err := s.Submit("run", store.Submission{ID: "guest", Source: source, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	kills := 0
	for ; kills < planned && !run.over(); kills++ {
		for before := models.Stats().Calls; models.Stats().Calls < before+3 && !run.over(); {
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(rand.N(400 * time.Millisecond))
		if kills == planned/2 {
			kill(f.server)
			f.serve()
		}
		kill(worker)
		worker = f.worker(r)
	}
	<-run.done
	if run.err != nil {
		t.Fatal(run.err)
	}
	t.Logf("killed %d times; %d candidates, %+v, %+v at the server", kills, run.result.Candidates, run.result.Models,
		models.Stats())
	if run.result.Candidates != candidates || run.result.Models == nil || kills != planned {
		t.Errorf("%d candidates after %d kills", run.result.Candidates, kills)
	}
	paidOnce(t, s, models)
	if fate, taken := flow.FateOf(s, "run", "guest"); !taken || fate.Verdict.Status == "" {
		t.Errorf("the guest: taken %v, %+v", taken, fate)
	}
}

// paidOnce checks the journal of calls against the provider.
func paidOnce(t *testing.T, s *store.Store, models *llmtest.Server) {
	t.Helper()
	type line struct {
		ID      string          `json:"id"`
		Request json.RawMessage `json:"request"`
		Reply   json.RawMessage `json:"reply"`
	}
	lines, err := store.ReadJournal[line](s, "run", "calls")
	if err != nil {
		t.Fatal(err)
	}
	replied := map[string]bool{}
	for _, l := range lines {
		if (l.Request != nil || l.Reply != nil) && replied[l.ID] {
			t.Errorf("call %s was asked or answered again after its reply had arrived", l.ID)
		}
		replied[l.ID] = replied[l.ID] || l.Reply != nil
	}
	asked := map[string]bool{}
	for _, c := range models.Calls() {
		asked[c.Header.Get("Idempotency-Key")] = true
	}
	if paid := models.Stats().Paid; paid != len(asked) {
		t.Errorf("%d answers paid for %d questions", paid, len(asked))
	}
}
