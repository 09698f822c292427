package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
)

// The loop is Beagle's own search, client, reading of replies and journal, around an evaluator that
// does nothing, like the one that the peers get here. If durable is set, each line of the journal
// is on the disk before its content is used, and the search's state is saved as the driver does it,
// in a twentieth of the time.
type loop struct{ durable bool }

// replied is a candidate made from a reply.
type replied struct {
	proposal  evolve.Proposal
	candidate beagle.Candidate
	err       error
}

// run runs the search with scripted models and instant verdicts, without building a candidate.
func (l loop) run(ctx context.Context, s scenario, dir string) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeLimit)
	defer cancel()
	// Start the model server, and open the journal.
	server, err := s.serve(golang)
	if err != nil {
		return outcome{}, err
	}
	defer server.Close()
	st, err := store.Open(filepath.Join(dir, "home"))
	if err != nil {
		return outcome{}, err
	}
	journal, err := st.Journal("peers", "calls")
	if err != nil {
		return outcome{}, err
	}
	defer journal.Close()
	// Start a search from the original.
	original, err := files.ReadFile("files/count.go.txt")
	if err != nil {
		return outcome{}, err
	}
	model, err := llm.ParseModel("tester@" + server.URL() + "/v1")
	if err != nil {
		return outcome{}, err
	}
	r := &loopRun{loop: l, s: s, dir: dir, journal: journal, client: &llm.Client{
		Models: []llm.Model{model},
	}, sources: map[string]string{},
		search: evolve.New(evolve.Config{
			Seed:    1,
			Budget:  s.n,
			Islands: 5,
			Authors: []evolve.Author{{Name: "tester", Model: "tester"}},
			NoRules: true,
		})}
	root := beagle.NewCandidate(string(original), nil, nil)
	r.sources[root.ID] = root.Source
	r.search.Add(root, verdict(root.ID), nil)
	// Run it.
	began := time.Now()
	if err := r.work(ctx); err != nil {
		return outcome{}, err
	}
	// Read the outcome from the logs.
	o := fromLogs(s, server.Calls(), r.log)
	o.wall = time.Since(began)
	return o, nil
}

// loopRun is a loop under way.
type loopRun struct {
	loop
	s       scenario
	dir     string
	journal *store.Journal
	client  *llm.Client
	search  *evolve.Search

	saved  time.Time     // end of the last save of the search
	saving time.Duration // what it took

	mu      sync.Mutex
	sources map[string]string
	log     []entry
}

// work keeps twice as many calls as evaluations under way, and evaluates the replies.
func (r *loopRun) work(ctx context.Context) error {
	// Keep twice as many calls as evaluations under way.
	calls, evals := 2*r.s.slots, r.s.slots
	back, judged := make(chan replied), make(chan replied)
	asking, judging := 0, 0
	var waiting []replied
	for {
		// Ask for replies.
		for asking < calls && len(waiting) < calls && r.search.CanCommission() {
			for _, p := range r.search.AskModels(1) {
				asking++
				go func() { back <- r.ask(ctx, p) }()
			}
		}
		// Evaluate waiting candidates.
		for ; judging < evals && len(waiting) > 0; judging++ {
			w := waiting[0]
			waiting = waiting[1:]
			go func() { r.evaluate(w); judged <- w }()
		}
		if asking+judging == 0 {
			return context.Cause(ctx)
		}
		// Take the next reply or evaluation, and tell the search.
		select {
		case w := <-back:
			asking--
			if w.err != nil || r.known(w.candidate) {
				if err := r.tell(w, false); err != nil {
					return err
				}
				continue
			}
			waiting = append(waiting, w)
		case w := <-judged:
			judging--
			if err := r.tell(w, true); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// known reports whether the candidate came before, and records it.
func (r *loopRun) known(c beagle.Candidate) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.sources[c.ID]
	r.sources[c.ID] = c.Source
	return ok
}

// ask has the model write a candidate. Request and reply are journaled.
func (r *loopRun) ask(ctx context.Context, p evolve.Proposal) replied {
	// Write the request to the journal before it is sent.
	w := replied{proposal: p}
	r.mu.Lock()
	parent := r.sources[p.Parent]
	r.mu.Unlock()
	q := llm.Request{
		Model:     p.Model,
		System:    "Make it faster.",
		User:      parent,
		Sample:    p.ID,
		MaxTokens: 1000,
		Limit:     time.Minute,
	}
	var reply llm.Reply
	if w.err = r.note(q); w.err != nil {
		return w
	}
	// Send it, and write the reply to the journal before it is used.
	if reply, w.err = r.client.Ask(ctx, q); w.err != nil {
		return w
	}
	if w.err = r.note(reply); w.err != nil {
		return w
	}
	// Make a candidate of the reply.
	change, err := llm.Read(reply.Text)
	if err == nil {
		var source string
		if source, err = change.Apply(parent); err == nil {
			w.candidate = beagle.NewCandidate(source, []string{p.Parent}, nil)
		}
	}
	w.err = err
	return w
}

func (r *loopRun) note(v any) error {
	err := r.journal.Append(v)
	if r.durable && err == nil {
		err = r.journal.Sync()
	}
	return err
}

// evaluate sleeps for the scenario's time of an evaluation.
func (r *loopRun) evaluate(w replied) {
	r.mark("begin", w)
	time.Sleep(r.s.eval)
	r.mark("end", w)
}

func (r *loopRun) mark(what string, w replied) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, entry{At: float64(time.Now().UnixNano()) / 1e9, What: what, Reply: w.proposal.ID + 1})
}

// tell gives the search the outcome of a reply, and saves the search when that costs at most a
// twentieth of the time.
func (r *loopRun) tell(w replied, evaluated bool) error {
	var refused *llm.ReplyError
	o := evolve.Feedback{Proposal: w.proposal.ID, Candidate: w.candidate}
	switch {
	case evaluated:
		o.Verdict = verdict(w.candidate.ID)
	case w.err == nil:
		o.Verdict = beagle.Verdict{Candidate: w.candidate.ID, Status: beagle.Duplicate}
	case !errors.As(w.err, &refused):
		o.Unheard = true
	}
	if err := r.note(o); err != nil {
		return err
	}
	if err := r.search.Tell([]evolve.Feedback{o}); err != nil || !r.durable || time.Since(r.saved) < 20*r.saving {
		return err
	}
	began := time.Now()
	state, err := r.search.MarshalJSON()
	if err != nil {
		return err
	}
	tmp := filepath.Join(r.dir, "search.new")
	if err := os.WriteFile(tmp, state, 0o644); err != nil {
		return err // half a search must not replace a whole one
	}
	err = os.Rename(tmp, filepath.Join(r.dir, "search.json"))
	r.saved = time.Now()
	r.saving = r.saved.Sub(began)
	return err
}

// verdict returns a made-up one that depends on the candidate.
func verdict(id string) beagle.Verdict {
	var n int
	fmt.Sscanf(id[:4], "%x", &n)
	point := 1 + float64(n%100)/1000
	return beagle.Verdict{
		Candidate: id,
		Status:    beagle.Equal,
		Screen:    &beagle.Ratio{Point: point, Low: point, High: point},
	}
}
