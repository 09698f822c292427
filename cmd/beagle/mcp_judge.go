package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/mcp"
	"github.com/beagle-go/beagle/internal/store"
)

// A judge keeps the last target ready, so that an agent that hands in one
// version after the other waits for the recording of inputs only once. One
// call works at a time, since one measurement holds the machine.
type judge struct {
	spec  flow.Spec // but for the target
	store *store.Store

	turn chan struct{} // holds one token: whoever takes it works

	mu   sync.Mutex
	tell mcp.Progress // of the call that works

	acts   *flow.Activities // of the target that is ready; nil when none is
	target string
	run    string
	dir    string // of its module
	seen   string // fingerprint of the module when it was prepared
	done   map[string]*mcp.Evaluation
}

func newJudge(spec flow.Spec, s *store.Store) *judge {
	j := &judge{spec: spec, store: s, turn: make(chan struct{}, 1)}
	j.turn <- struct{}{}
	return j
}

// with runs something on a prepared target when its turn has come. The store is
// locked for as long, so that no search measures at the same time.
func (j *judge) with(ctx context.Context, target string, tell mcp.Progress, do func() error) error {
	select {
	case <-j.turn:
	default:
		tell("wait", "another call is being worked on")
		select {
		case <-j.turn:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer func() { j.turn <- struct{}{} }()
	j.mu.Lock()
	j.tell = tell
	j.mu.Unlock()
	lock, err := j.store.Lock("beagle mcp " + target)
	if err != nil {
		return &inUse{err}
	}
	defer lock.Unlock()
	if err := j.prepare(ctx, target); err != nil {
		return err
	}
	return do()
}

// inUse is why the store cannot be had; nothing was read then.
type inUse struct{ error }

func (e *inUse) Unwrap() error { return e.error }

// prepare makes a target ready unless it is, with the module as it is now.
func (j *judge) prepare(ctx context.Context, target string) error {
	if j.acts != nil && j.target == target && j.seen == fingerprint(j.dir) {
		return nil
	}
	j.close()
	spec := j.spec
	spec.Target = target
	if err := spec.Validate(); err != nil {
		return err
	}
	acts := &flow.Activities{Store: j.store, Watch: j.watch}
	var id [6]byte
	rand.Read(id[:])
	run := hex.EncodeToString(id[:])
	if _, err := acts.Prepare(ctx, run, spec); err != nil {
		acts.Close()
		return err
	}
	d, err := acts.Describe(ctx, run)
	if err != nil {
		acts.Close()
		return err
	}
	j.acts, j.target, j.run, j.dir, j.done = acts, target, run, d.Evidence.Target.Dir, map[string]*mcp.Evaluation{}
	j.seen = fingerprint(j.dir)
	return nil
}

// close lets go of the target that is ready.
func (j *judge) close() {
	if j.acts != nil {
		j.acts.Close()
		j.acts = nil
	}
}

// watch hands what happens to the call that works.
func (j *judge) watch(e flow.Event) {
	j.mu.Lock()
	tell := j.tell
	j.mu.Unlock()
	switch {
	case e.Stage != nil:
		tell(e.Stage.Name, e.Stage.Detail)
	case e.Warning != "":
		tell("note", e.Warning)
	}
}

// describe tells what is known of a target; that it is refused is an answer.
func (j *judge) describe(ctx context.Context, target string, tell mcp.Progress) (*mcp.Description, error) {
	var out *mcp.Description
	prepared := false
	err := j.with(ctx, target, tell, func() error {
		prepared = true
		d, err := j.acts.Describe(ctx, j.run)
		if err == nil {
			out = &mcp.Description{Evidence: d.Evidence, Findings: d.Findings, Rewrites: d.Rewrites}
		}
		return err
	})
	var bad *beagle.UsageError
	var busy *inUse
	if errors.As(err, &bad) && !prepared && !errors.As(err, &busy) {
		return &mcp.Description{Refused: bad}, nil
	}
	return out, err
}

// evaluate judges a version. The same text of the same target is judged once.
func (j *judge) evaluate(ctx context.Context, target, source, note string, tell mcp.Progress) (*mcp.Evaluation, error) {
	var out *mcp.Evaluation
	err := j.with(ctx, target, tell, func() error {
		id := beagle.HashOf("evaluation", j.target, j.seen, j.spec, source)[:16]
		if known := j.done[id]; known != nil {
			out = known
			return nil
		}
		v, err := j.acts.JudgeSource(ctx, j.run, source, "the agent's version")
		if err != nil {
			return err
		}
		out = &mcp.Evaluation{ID: id, Target: target, Note: note, Verdict: *v}
		j.done[id] = out
		return j.store.Cache(evaluationKey(id), out)
	})
	return out, err
}

// evaluation is an earlier verdict, of this process or another.
func (j *judge) evaluation(id string) (*mcp.Evaluation, error) {
	var e mcp.Evaluation
	if !j.store.Cached(evaluationKey(id), &e) {
		return nil, &beagle.UsageError{What: fmt.Sprintf("there is no evaluation %.40q", id), Remedy: "give the ID that evaluate_candidate returned"}
	}
	return &e, nil
}

func evaluationKey(id string) store.Key { return store.Key{Kind: "evaluation", Candidate: id} }

// fingerprint tells whether a module's files changed: names, sizes and times.
func fingerprint(dir string) string {
	var parts []any
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		if info, err := d.Info(); err == nil {
			parts = append(parts, path, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return beagle.HashOf("module", parts...)
}
