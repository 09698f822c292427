// Package local drives a run in this process: a loop over the activities with
// a checkpoint after every generation. It needs no server. Killed at any
// moment, it goes on from the last checkpoint; what was evaluated after that
// is found in the store under its content.
package local

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
)

// A Driver runs searches with one store.
type Driver struct {
	Store *store.Store
	Watch flow.Watcher
}

// Interrupted says that a run was stopped and can be resumed.
type Interrupted struct{ Run string }

func (e *Interrupted) Error() string { return "run " + e.Run + " was stopped" }

// Start begins a new run and carries it to its result.
func (d *Driver) Start(ctx context.Context, spec flow.Spec) (*beagle.Result, error) {
	lock, err := d.Store.Lock(spec.Command())
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	r := &run{d: d, spec: spec, entry: store.Run{ID: newID(), Spec: spec.Target, State: store.Running, Created: time.Now()}}
	return r.carry(ctx)
}

func newID() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Resume goes on with a run that was stopped or killed. A run that is done
// gives its result again.
func (d *Driver) Resume(ctx context.Context, id string) (*beagle.Result, error) {
	entry, err := d.Store.Run(id)
	if err != nil {
		return nil, err
	}
	if entry.State == store.Done {
		return Result(d.Store, entry.ID)
	}
	lock, err := d.Store.Lock("beagle resume " + entry.ID)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	r := &run{d: d, entry: entry}
	if ok, err := d.Store.Load(entry.ID, "spec", &r.spec); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("run %s has no spec", entry.ID), err)
	}
	if err := d.Store.ClearCancel(entry.ID); err != nil {
		return nil, err
	}
	r.entry.State = store.Running
	return r.carry(ctx)
}

// Result reads the result of a finished run.
func Result(s *store.Store, id string) (*beagle.Result, error) {
	var r beagle.Result
	ok, err := s.Load(id, "result", &r)
	if err == nil && !ok {
		err = &beagle.UsageError{What: fmt.Sprintf("run %s has no result yet", id), Remedy: "go on with it: beagle resume " + id}
	}
	return &r, err
}

// A run is one run under way.
type run struct {
	d      *Driver
	spec   flow.Spec
	entry  store.Run
	search *evolve.Search
	acts   *flow.Activities
	log    flow.Log
	begun  time.Time
	saved  bool // the run is in the store
}

// carry takes the run from wherever it stands to its result, and records how
// that ended.
func (r *run) carry(ctx context.Context) (*beagle.Result, error) {
	r.begun = time.Now()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go r.heedCancel(ctx, stop)
	r.acts = &flow.Activities{Store: r.d.Store, Watch: r.d.Watch}
	defer r.acts.Close()
	result, err := r.work(ctx)
	if !r.saved {
		return nil, err
	}
	switch {
	case err == nil:
		r.entry.State, r.entry.Note = store.Done, fmt.Sprintf("%s: %s", result.Outcome, result.Why)
	case r.d.Store.CancelRequested(r.entry.ID):
		r.entry.State, err = store.Canceled, &Interrupted{r.entry.ID}
	case ctx.Err() != nil:
		r.entry.State, err = store.Stopped, &Interrupted{r.entry.ID}
	default:
		r.entry.State, r.entry.Note = store.Failed, err.Error()
	}
	return result, errors.Join(err, r.save())
}

// heedCancel stops the run when another process asks for it.
func (r *run) heedCancel(ctx context.Context, stop func()) {
	const often = 300 * time.Millisecond
	for tick := time.NewTicker(often); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
			if r.d.Store.CancelRequested(r.entry.ID) {
				stop()
			}
		}
	}
}

func (r *run) save() error {
	r.entry.Updated = time.Now()
	return r.d.Store.SaveRun(r.entry)
}

func (r *run) work(ctx context.Context) (*beagle.Result, error) {
	ready, err := r.prepare(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.restore(ready); err != nil {
		return nil, err
	}
	r.d.Watch.Stage("search", r.describe())
	for !r.search.Done() && !r.late() && r.log.Thin < maxThin {
		if err := r.generation(ctx); err != nil {
			return nil, err
		}
	}
	return r.finish(ctx)
}

// prepare makes the corpus and everything else that the search starts from.
// Until it succeeded nothing is written for the run: bad input leaves no trace.
func (r *run) prepare(ctx context.Context) (*flow.Prepared, error) {
	ready, err := r.acts.Prepare(ctx, r.entry.ID, r.spec)
	if err != nil {
		return nil, err
	}
	r.entry.Target, r.entry.Spec = ready.Target, ready.Spec
	r.saved = true
	return ready, r.save()
}

// restore continues from the checkpoint, or begins.
func (r *run) restore(ready *flow.Prepared) error {
	r.search = new(evolve.Search)
	if ok, err := r.d.Store.Load(r.entry.ID, "search", r.search); err != nil {
		return err
	} else if ok {
		_, err := r.d.Store.Load(r.entry.ID, "log", &r.log)
		return err
	}
	r.log.PrepareSeconds = ready.Seconds
	r.search = evolve.New(evolve.Config{Seed: r.spec.Seed, Strategy: evolve.Strategy(r.spec.Strategy), Budget: r.spec.Candidates, Islands: r.spec.Islands})
	r.search.Add(beagle.Candidate{ID: ready.RootID}, ready.Root, ready.Moves)
	return nil
}

func (r *run) describe() string {
	return fmt.Sprintf("%d candidates, %s, seed %d", r.spec.Candidates, r.spec.Strategy, r.spec.Seed)
}

// late reports whether the time for searching is used up.
func (r *run) late() bool {
	return r.spec.Time > 0 && r.log.Seconds+time.Since(r.begun).Seconds() > r.spec.Time.Seconds()
}

// generation asks, makes, evaluates and tells once, and checkpoints.
func (r *run) generation(ctx context.Context) error {
	start := time.Now()
	proposals, made, known, err := r.propose(ctx)
	if err != nil {
		return err
	}
	judged, err := r.acts.Evaluate(ctx, r.entry.ID, candidates(made))
	if err != nil {
		return err
	}
	if err := r.search.Tell(append(known, outcomes(made, judged.Candidates)...)); err != nil {
		return err
	}
	if r.log.Thin++; len(made) > r.spec.Batch/4 {
		r.log.Thin = 0
	}
	r.note(proposals, made, judged, time.Since(start))
	return r.checkpoint()
}

// maxThin ends a search whose ideas are used up: so many generations in a row
// that filled no quarter of their batch.
const maxThin = 3

// maxRefills bounds how often a generation asks again for what came to
// nothing.
const maxRefills = 8

// propose fills a batch. Ideas that cannot be made, or that make what exists
// already, are known at once and replaced, since a build costs about the same
// for few candidates as for many.
func (r *run) propose(ctx context.Context) (proposals []evolve.Proposal, made []flow.Proposed, known []evolve.Outcome, err error) {
	have := map[string]bool{}
	for range maxRefills {
		asked := r.search.Ask(r.spec.Batch - len(made))
		if len(asked) == 0 {
			break
		}
		fresh, err := r.acts.Propose(ctx, r.entry.ID, asked)
		if err != nil {
			return nil, nil, nil, err
		}
		for i, m := range fresh {
			if m.Candidate == "" || r.search.Seen[m.Candidate] || have[m.Candidate] {
				known = append(known, nothingNew(m))
				continue
			}
			have[m.Candidate] = true
			proposals, made = append(proposals, asked[i]), append(made, m)
		}
	}
	return proposals, made, known, nil
}

// nothingNew is the outcome of a proposal that made nothing, or what exists.
func nothingNew(m flow.Proposed) evolve.Outcome {
	o := evolve.Outcome{Proposal: m.Proposal}
	if m.Candidate != "" {
		o.Candidate = beagle.Candidate{ID: m.Candidate, Steps: m.Steps}
		o.Verdict = beagle.Verdict{Candidate: m.Candidate, Status: beagle.Duplicate, Stage: "propose"}
	}
	return o
}

func (r *run) checkpoint() error {
	if err := r.d.Store.Save(r.entry.ID, "log", &r.log); err != nil {
		return err
	}
	return r.d.Store.Save(r.entry.ID, "search", r.search)
}

// candidates are the candidates to evaluate.
func candidates(made []flow.Proposed) []string {
	ids := make([]string, len(made))
	for i, m := range made {
		ids[i] = m.Candidate
	}
	return ids
}

// outcomes joins what was made with what became of it.
func outcomes(made []flow.Proposed, judged []flow.Evaluated) []evolve.Outcome {
	out := make([]evolve.Outcome, len(made))
	for i, m := range made {
		j := slices.IndexFunc(judged, func(e flow.Evaluated) bool { return e.Candidate == m.Candidate })
		out[i] = evolve.Outcome{
			Proposal: m.Proposal, Candidate: beagle.Candidate{ID: m.Candidate, Steps: m.Steps},
			Verdict: judged[j].Verdict, Moves: judged[j].Moves,
		}
	}
	return out
}
