package tools

import (
	"context"
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
	spec  flow.Spec // all but the target
	store *store.Store

	turn chan struct{} // holds one token; its taker works

	mu   sync.Mutex
	tell mcp.Progress // of the call that works

	acts   *flow.Activities // of the target that is worked on; nil when none is
	target string
	run    string
	ready  bool   // its inputs are recorded
	dir    string // of its module
	seen   string // fingerprint of the module when it was prepared
	done   map[string]*mcp.Evaluation
}

func newJudge(spec flow.Spec, s *store.Store) *judge {
	j := &judge{spec: spec, store: s, turn: make(chan struct{}, 1)}
	j.turn <- struct{}{}
	return j
}

// runOn runs something on a target when its turn has come. The store is locked for
// as long, so that no search measures at the same time.
func (j *judge) runOn(ctx context.Context, target string, tell mcp.Progress, do func() error) error {
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
	if err := j.openTarget(target); err != nil {
		return err
	}
	return do()
}

// inUse is the reason why the store cannot be opened; nothing was read then.
type inUse struct{ error }

func (e *inUse) Unwrap() error { return e.error }

// openTarget begins with a target, unless it is ready with the module as it is now.
func (j *judge) openTarget(target string) error {
	if j.ready && j.target == target && j.seen == fingerprint(j.dir) {
		return nil
	}
	j.close()
	spec := j.specFor(target)
	if err := spec.Validate(); err != nil {
		return err
	}
	j.acts, j.target, j.run = &flow.Activities{Store: j.store, Watch: j.watch}, target, store.NewID()
	return nil
}

func (j *judge) specFor(target string) flow.Spec {
	spec := j.spec
	spec.Target = target
	return spec
}

// refuse refuses a version that cannot be one before inputs are recorded for it,
// which costs seconds to minutes; nil when it may be one, or they are recorded.
func (j *judge) refuse(ctx context.Context, source string) (*beagle.Verdict, error) {
	if j.ready {
		return nil, nil
	}
	v, err := j.acts.ReadSource(ctx, j.run, j.specFor(j.target), source, versionName)
	if err != nil || v.OK() {
		return nil, err
	}
	return v, nil
}

// record makes the target ready unless it is.
func (j *judge) record(ctx context.Context) error {
	if j.ready {
		return nil
	}
	if _, err := j.acts.Prepare(ctx, j.run, j.specFor(j.target)); err != nil {
		j.close()
		return err
	}
	d, err := j.acts.Describe(ctx, j.run)
	if err != nil {
		j.close()
		return err
	}
	j.ready, j.dir, j.done = true, d.Briefing.Target.Dir, map[string]*mcp.Evaluation{}
	j.seen = fingerprint(j.dir)
	return nil
}

// close lets go of the target.
func (j *judge) close() {
	if j.acts != nil {
		j.acts.Close()
	}
	j.acts, j.ready = nil, false
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

// describe describes a target; a refusal is an answer too.
func (j *judge) describe(ctx context.Context, target string, tell mcp.Progress) (*mcp.Description, error) {
	var out *mcp.Description
	prepared := false
	err := j.runOn(ctx, target, tell, func() error {
		if err := j.record(ctx); err != nil {
			return err
		}
		prepared = true
		d, err := j.acts.Describe(ctx, j.run)
		if err == nil {
			out = &mcp.Description{Briefing: d.Briefing, InPlace: d.InPlace, Findings: d.Findings, Rewrites: d.Rewrites}
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

// versionName names an agent's text in verdicts.
const versionName = "the agent's version"

// evaluate judges a version. The same text of the same target is judged once.
func (j *judge) evaluate(ctx context.Context, target, source, note string, tell mcp.Progress) (*mcp.Evaluation, error) {
	var out *mcp.Evaluation
	err := j.runOn(ctx, target, tell, func() error {
		v, err := j.refuse(ctx, source)
		if err != nil {
			return err
		}
		if v != nil { // a later one is judged with the module as it is then
			out = &mcp.Evaluation{ID: j.idOf(fingerprint(j.spec.Dir), source), Target: target, Note: note, Verdict: *v}
			return j.keep(out)
		}
		if err := j.record(ctx); err != nil {
			return err
		}
		id := j.idOf(j.seen, source)
		if out = j.done[id]; out != nil {
			return nil
		}
		if v, err = j.acts.JudgeSource(ctx, j.run, source, versionName); err != nil {
			return err
		}
		out = &mcp.Evaluation{ID: id, Target: target, Note: note, Verdict: *v}
		j.done[id] = out
		return j.keep(out)
	})
	return out, err
}

// idOf names the evaluation of a version with a module as it was seen.
func (j *judge) idOf(seen, source string) string {
	return beagle.HashOf("evaluation", j.target, seen, j.spec, source)[:16]
}

// keep lets later calls find an evaluation, those of other processes too.
func (j *judge) keep(e *mcp.Evaluation) error { return j.store.Cache(evaluationKey(e.ID), e) }

// evaluation returns an earlier verdict, of this process or another.
func (j *judge) evaluation(id string) (*mcp.Evaluation, error) {
	var e mcp.Evaluation
	if !j.store.Cached(evaluationKey(id), &e) {
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("there is no evaluation %.40q", id),
			Remedy: "give the ID that evaluate_candidate returned",
		}
	}
	return &e, nil
}

func evaluationKey(id string) store.Key { return store.Key{Kind: "evaluation", Candidate: id} }

// fingerprint returns a hash of a module's files that changes with their names, sizes or times.
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
