package verify

import (
	"context"
	"fmt"
	"go/types"
	"slices"
	"sync"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	bounded "github.com/beagle-go/beagle/internal/proof"
	"github.com/beagle-go/beagle/internal/proof/exec"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/mutate/rules"
)

// A prover holds the data that the proofs of one target share.
type prover struct {
	once sync.Once
	lib  *exec.Library
	orig *exec.Program
	why  string // the reason why there is no program of the original
}

// A proving compares the two versions of a job as terms, and runs the inputs that solvers name.
type proving struct {
	*Job
	was, is *exec.Program // the original and the candidate
	lib     *exec.Library
}

// proving translates both versions into the form that proofs need, or returns the reason why it
// cannot.
func (j *Job) proving() (x *proving, why string) {
	p := &j.Env.prover
	p.once.Do(func() {
		p.lib = exec.NewLibrary(j.Env.Unit.Target.Dir)
		p.orig, p.why = j.Env.program(j.Env.Unit.Target.Source)
	})
	if p.why != "" {
		return nil, p.why
	}
	cand, why := j.Env.program(j.Candidate.Source)
	return &proving{Job: j, was: p.orig, is: cand, lib: p.lib}, why
}

func (e *Env) program(source string) (*exec.Program, string) {
	w, problem := e.Unit.Reader.Whole(source)
	if problem != nil {
		return nil, fmt.Sprintf("line %d: %s", problem.Line, problem.Message)
	}
	p, err := exec.Build(w.Fset, w.Types, w.Files, w.Info, w.Target)
	if err != nil {
		return nil, err.Error()
	}
	return p, ""
}

// prove compares the versions as terms, for all inputs or up to a length. An input on which the
// terms differ counts if the versions differ on it too.
func prove(ctx context.Context, j *Job) (*Rejection, error) {
	j.constructed()
	if j.Budget.Proof <= 0 {
		j.note("left out")
		return nil, nil
	}
	// Translate both versions into terms, as far as that works.
	p, why := j.proving()
	if why != "" {
		j.note("nothing proved: %s", why)
		return nil, nil
	}
	// Compare the terms within the budget.
	r := new(bounded.Result)
	if why := safely(func() {
		r = bounded.Prove(ctx, p.was, p.is, p.lib, bounded.Budget{Time: j.Budget.Proof})
	}); why != "" {
		j.note("nothing proved: %s", why)
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Report the solvers' proof, or try the input on which they found a difference.
	if r.Proved {
		j.assurance().Proof = &beagle.Proof{Complete: r.Complete, Length: r.Length, Solvers: r.Solvers,
			Not: slices.Clone(exec.NotCompared), Millis: float64(r.Spent.Microseconds()) / 1000}
	}
	switch {
	case r.Differs != nil:
		if found, err := p.refute(ctx, r.Differs); found != nil || err != nil {
			return found, err
		}
	case r.Proved && r.Complete:
		j.note("proved for all inputs")
	case r.Proved:
		j.note("proved for all inputs up to length %d", r.Length)
		if r.Why != "" {
			j.note("then %s", r.Why)
		}
	default:
		j.note("nothing proved: %s", r.Why)
	}
	if r.Complete {
		return nil, nil
	}
	if found, err := p.extremes(ctx); found != nil || err != nil {
		return found, err
	}
	// Without a proof, at least run an input for each side of each decision.
	return p.tryRecords(ctx, j.branchSeeds(ctx))
}

// extremes runs inputs at which a sum or product wraps around in one version only, at lengths that
// no proof reaches.
func (p *proving) extremes(ctx context.Context) (*Rejection, error) {
	x := new(bounded.Extremes)
	if why := safely(func() { x = bounded.Wraps(ctx, p.was, p.is, p.lib, p.Budget.Proof/4) }); why != "" {
		p.note("wraps: %s", why)
	}
	var list [][]byte
	for _, w := range x.Inputs {
		list = append(list, recordOf(w))
	}
	for _, n := range x.Notes {
		p.note("%s", n)
	}
	return p.tryRecords(ctx, list)
}

// constructed lists the candidate's steps that are rewrites with a proved lemma.
func (j *Job) constructed() {
	for _, s := range j.Candidate.Steps {
		if _, ok := rules.LemmaOf(s.Mutator); ok && !slices.Contains(j.assurance().Constructed, s.Mutator) {
			j.assurance().Constructed = append(j.assurance().Constructed, s.Mutator)
		}
	}
}

// refute runs an input on which the terms differ.
func (p *proving) refute(ctx context.Context, w *bounded.Witness) (*Rejection, error) {
	found, err := p.tryRecords(ctx, [][]byte{recordOf(w)})
	if err != nil || found != nil {
		return found, err
	}
	if p.Env.doubtful() != "" || !p.Env.Unit.Target.Contract.IsZero() {
		p.addGap("an input on which a solver found a difference: it may be impossible, or the contract " +
			"excludes it")
		return nil, nil
	}
	// Either the translation is wrong, or the comparison leaves this difference out. In both cases
	// nothing is proved, not even for shorter inputs.
	p.assurance().Proof = nil
	p.note("the terms differ on an input on which the versions agree, so nothing more is proved: a fault of " +
		"the translation")
	return nil, nil
}

// tryRecords compares the versions on inputs that a check made.
func (p *proving) tryRecords(ctx context.Context, list [][]byte) (*Rejection, error) {
	// An input that callers may be unable to build proves no fault.
	if why := p.Env.doubtful(); why != "" && len(list) > 0 {
		p.note("the generated inputs were not run: %s", why)
		return nil, nil
	}
	if len(list) == 0 {
		return nil, nil
	}
	path, remove, err := p.recordFile(list)
	if err != nil {
		return nil, err
	}
	defer remove()
	// Replay the inputs.
	files := map[string]string{"made": path}
	q := &rt.Replay{Variant: p.idx, Records: []string{"made"}, Panics: p.panics(), Budget: int64(replayBudget)}
	reply := new(rt.ReplayReply)
	exit, err := p.bin.Run(ctx, p.Env.Box, &rt.Request{Replay: q}, reply,
		harness.RunOptions{CPU: -1, Wall: 4 * replayBudget, Files: files})
	if err != nil {
		return nil, err
	}
	p.result.Cases += reply.Cases
	// Decide by the replay's result: a difference, the end of the candidate, or that of the
	// original.
	switch {
	case exit == nil && reply.Diff != nil:
		if err := p.confirm(ctx, reply.Diff); err != nil {
			return nil, err
		}
		return p.Env.differs(reply.Diff), nil
	case foundDiff(exit) != nil:
		return p.Env.differs(foundDiff(exit)), nil
	case exit != nil && exit.Variant == p.idx:
		fate := fates[exit.Kind]
		d := &rt.Diff{Kind: fate.kind, Got: fate.text}
		if exit.Record >= 0 && exit.Record < len(list) {
			d.Args = list[exit.Record]
		}
		return &Rejection{Status: fate.status, Reason: fate.text, Diff: d}, nil
	case exit != nil:
		p.note("the original does not survive a generated input")
	}
	return nil, nil
}

func (j *Job) recordFile(list [][]byte) (path string, remove func(), err error) {
	path, remove, err = j.writeRecord(list[0])
	if err != nil || len(list) == 1 {
		return path, remove, err
	}
	records := make([]rt.Record, len(list))
	for i, b := range list {
		records[i] = rt.Record{Args: b, Weight: 1}
	}
	return path, remove, rt.WriteRecords(path, records)
}

// seedLength bounds the arguments of branch seeds, and seedTime the time to make them.
const (
	seedLength = 8
	seedTime   = 2 * time.Second
)

// branchSeeds returns records that take each side of each decision of both versions, as far as a
// solver finds some. It leaves out sides that no input up to seedLength takes. The first call makes
// the seeds, and j.seeds keeps them.
func (j *Job) branchSeeds(ctx context.Context) [][]byte {
	if j.seeds != nil {
		return j.seeds
	}
	j.seeds = [][]byte{}
	p, why := j.proving()
	if why != "" {
		return j.seeds
	}
	var sides []bounded.Side
	if why := safely(func() { sides = bounded.Seeds(ctx, p.was, p.is, p.lib, seedLength, seedTime) }); why != "" {
		j.note("seeds: %s", why)
	}
	for _, s := range sides {
		if s.Input != nil {
			j.seeds = append(j.seeds, recordOf(s.Input))
		}
	}
	return j.seeds
}

// doubtful returns a reason why callers may be unable to build an input that a solver names, or "".
func (e *Env) doubtful() string {
	sig := e.Unit.Sig
	if r := sig.Recv(); r != nil && hidden(r.Type(), 0) {
		return "callers may be unable to build such a receiver"
	}
	for v := range sig.Params().Variables() {
		if hidden(v.Type(), 0) {
			return "callers may be unable to build such a " + v.Name()
		}
	}
	return ""
}

// hidden reports whether a type has unexported fields, whose values only its own package makes.
func hidden(t types.Type, depth int) bool {
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return depth < 8 && hidden(u.Elem(), depth+1)
	case *types.Slice:
		return depth < 8 && hidden(u.Elem(), depth+1)
	case *types.Array:
		return depth < 8 && hidden(u.Elem(), depth+1)
	case *types.Struct:
		for f := range u.Fields() {
			if !f.Exported() || depth < 8 && hidden(f.Type(), depth+1) {
				return true
			}
		}
	}
	return false
}

// safely runs a part of a proof. A panic in it is a fault of the translation, not a verdict on the
// candidate.
func safely(f func()) (why string) {
	defer func() {
		if r := recover(); r != nil {
			why = fmt.Sprintf("a fault of the translation: %v", r)
		}
	}()
	f()
	return ""
}
