package llm_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/mutate/llm"
)

// TestReplay records a run and replays it without its server.
func TestReplay(t *testing.T) {
	t.Setenv("BEAGLE_KEY_TESTER", secret)
	s := llmtest.New(t,
		llmtest.InTurn(llmtest.Reply{Text: "first"}, llmtest.Reply{Text: "second", Stop: "length"}, llmtest.Reply{
			Fault: "context-too-long",
		}))
	c := client(t, s, llm.Anthropic)
	c.Keys = nil
	dir := filepath.Join(t.TempDir(), "runs", "one")
	run := func(a llm.Asker, keep *llm.Recorder) (out []string) {
		for sample := range 3 {
			q := question()
			q.Sample = sample
			reply, err := a.Ask(t.Context(), q)
			if keep != nil {
				if failed := keep.Keep(q, reply, err); failed != nil || !keep.Has(q) {
					t.Fatal(failed)
				}
			}
			if err != nil {
				reply.Text = err.Error()
			}
			out = append(out, reply.Text+" "+reply.Stop)
		}
		return out
	}
	recorded := run(c, &llm.Recorder{Dir: dir})
	s.Close()
	replayed := run(&llm.Replayer{Dir: dir}, nil)
	if strings.Join(recorded, "|") != strings.Join(replayed, "|") || !strings.HasPrefix(replayed[1], "second length") ||
		!strings.Contains(replayed[2], "too long") {
		t.Errorf("recorded %q\nreplayed %q", recorded, replayed)
	}
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil || strings.Contains(string(data), secret) || !strings.HasSuffix(f.Name(), ".json") {
			t.Errorf("%s: %v %s", f.Name(), err, data)
		}
	}
	if len(files) != 3 {
		t.Errorf("%d files", len(files))
	}

	q := question()
	q.User = "Make it\nsmaller."
	_, err := (&llm.Replayer{Dir: dir}).Ask(t.Context(), q)
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.NotRecorded || !strings.Contains(e.Message, question().ID()) ||
		!strings.Contains(e.Message, `prompt from line 1 on ("Make it")`) {
		t.Errorf("%+v", err)
	}
	q = question()
	q.Seed = 5
	if _, err = (&llm.Replayer{Dir: dir}).Ask(t.Context(), q); err == nil ||
		!strings.Contains(err.Error(), "seed (5, recorded 0)") {
		t.Error(err)
	}
	if _, err = (&llm.Replayer{Dir: t.TempDir()}).Ask(t.Context(), q); err == nil ||
		!strings.Contains(err.Error(), "no recordings") {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, question().ID()+".json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	var u *beagle.UsageError
	if _, err = (&llm.Replayer{Dir: dir}).Ask(t.Context(), question()); !errors.As(err, &u) ||
		!strings.Contains(err.Error(), "Record it anew") {
		t.Error(err)
	}
}

// TestRecordedServer serves a recorded run to clients by HTTP.
func TestRecordedServer(t *testing.T) {
	first := llmtest.New(t, llmtest.Always(llmtest.Reply{Text: "the reply", In: 11, Out: 7}))
	dir := t.TempDir()
	q := question()
	q.History = []llm.Turn{{Role: "user", Text: "a"}, {Role: "assistant", Text: "b"}}
	reply, err := client(t, first, llm.OpenAI).Ask(t.Context(), q)
	if err := errors.Join(err, (&llm.Recorder{Dir: dir}).Keep(q, reply, nil)); err != nil {
		t.Fatal(err)
	}
	script, err := llmtest.Recorded(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, llmtest.New(t, script), llm.Anthropic)
	got, err := c.Ask(t.Context(), q)
	if err != nil || got.Text != "the reply" || got.Usage != (llm.Usage{In: 11, Out: 7}) {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := c.Ask(t.Context(), question()); err == nil || !strings.Contains(err.Error(), "nothing is recorded") {
		t.Error(err)
	}
}

// TestUnrecorded checks that a recording holds a spent budget, but not that the caller has gone.
func TestUnrecorded(t *testing.T) {
	s := llmtest.New(t, llmtest.Say("x"))
	c := client(t, s, llm.OpenAI)
	c.Budget = llm.NewBudget(llm.Caps{Calls: 1}, llm.Spent{Calls: 1})
	r := &llm.Recorder{Dir: t.TempDir()}
	reply, err := c.Ask(t.Context(), question())
	if err == nil || r.Keep(question(), reply, err) != nil {
		t.Error(err)
	}
	var e *llm.Error
	if _, err = (&llm.Replayer{Dir: r.Dir}).Ask(t.Context(), question()); !errors.As(err, &e) ||
		e.Kind != llm.OverBudget {
		t.Errorf("replayed: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.Budget, r.Dir = nil, t.TempDir()
	if reply, err = c.Ask(ctx, question()); !errors.Is(err, context.Canceled) || r.Keep(question(), reply, err) != nil {
		t.Error(err)
	}
	if files, _ := os.ReadDir(r.Dir); len(files) != 0 {
		t.Error(files)
	}
}
