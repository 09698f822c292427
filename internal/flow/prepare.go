package flow

import (
	"context"
	"errors"
	"fmt"
	"go/types"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/mutate/lift"
	"github.com/beagle-go/beagle/mutate/llm"
)

// Prepared holds what a search starts from. The run saves it, so that a resumed run works with the
// same inputs.
type Prepared struct {
	Target     string          `json:"target"` // Target.ID
	Spec       string          `json:"spec"`   // Target.Spec
	Corpus     string          `json:"corpus"` // Corpus.ID
	CorpusBlob string          `json:"corpus_blob"`
	RootID     string          `json:"root_id"`
	Root       beagle.Verdict  `json:"root"` // of the original: its static facts
	Moves      []beagle.Move   `json:"moves"`
	Profile    map[int]float64 `json:"profile"`
	Callees    bench.Callees   `json:"callees,omitempty"` // the profile's part outside of the candidate
	Samples    int             `json:"samples,omitempty"` // of the profile
	// cost of a call of the original; nil if no model asks for it
	Cost     *beagle.Resources `json:"cost,omitempty"`
	Calls    *llm.Calls        `json:"calls,omitempty"` // that models are shown; shapes alone where values are redacted
	Findings []beagle.Finding  `json:"findings,omitempty"`
	Lifted   []lift.Match      `json:"lifted,omitempty"` // pieces of the original that the library has
	Seconds  float64           `json:"seconds"`
	First    float64           `json:"first,omitempty"` // seconds until a preview had verdicts; 0 without one

	// Machine is the kind of machine that measures, if the run fixes it: results are looked up
	// under its name.
	Machine *beagle.Machine `json:"machine,omitempty"`

	// InPlace is the evidence, where it is not a corpus.
	InPlace *beagle.InPlace `json:"in_place,omitempty"`
	// Recorded are the corpora of functions of a group, beside the evidence in place.
	Recorded []Recorded `json:"recorded,omitempty"`
}

// noteInputs notes the target and its inputs: their name in keys, and where the store has them.
func (p *Prepared) noteInputs(t *beagle.Target, corpus, blob string) {
	p.Target, p.Spec, p.Corpus, p.CorpusBlob = t.ID(), t.Spec(), corpus, blob
}

// noteOriginal notes the original as the first version of a search.
func (p *Prepared) noteOriginal(id string, static beagle.StaticFacts) {
	p.RootID = id
	p.Root = beagle.Verdict{Candidate: id, Status: beagle.Equal, Stage: "compile", Static: static}
}

// noteProfile notes where the original's time goes.
func (p *Prepared) noteProfile(found *bench.Profile) {
	p.Profile, p.Callees, p.Samples = found.Lines, found.Callees, found.Samples
}

// Prepare resolves the target, records its inputs, audits them, and profiles the original. Bad
// input ends here, before the run writes anything.
func (a *Activities) Prepare(ctx context.Context, run string, spec Spec) (*Prepared, error) {
	return a.PrepareFor(ctx, run, spec, nil)
}

// PrepareFor is Prepare for a run that measures on another kind of machine; nil is this one.
func (a *Activities) PrepareFor(ctx context.Context, run string, spec Spec, m *beagle.Machine) (*Prepared, error) {
	// Open the session. A run that is prepared already keeps its state.
	start := time.Now()
	x, err := a.begin(ctx, run, spec)
	if err != nil {
		return nil, err
	}
	x.ready.Machine, x.began, x.previews = m, start, a.Preview
	if err := x.works.fileUnder(); err != nil {
		return nil, err
	}
	var known Prepared
	if ok, err := a.Store.Load(run, "prepared", &known); err != nil || ok {
		return &known, errors.Join(err, x.lab.evidence.equip(ctx))
	}
	// Gather the evidence, or fall back on the other kind.
	err = x.inputs.hopeless()
	if err == nil {
		err = x.lab.evidence.observe(ctx)
	}
	if err != nil {
		if err = x.instead(ctx, err); err != nil {
			return nil, err
		}
	}
	// Save the run only now, so that bad input leaves nothing behind.
	x.ready.Seconds = time.Since(start).Seconds()
	if err := a.Store.Save(run, "spec", spec); err != nil {
		return nil, err
	}
	if err := a.Store.Save(run, "prepared", x.ready); err != nil {
		return nil, err
	}
	return &x.ready, x.rewriter.keepLaterFaults()
}

// begin opens the session of a run that may not be in the store yet.
func (a *Activities) begin(ctx context.Context, run string, spec Spec) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if x := a.sessions[run]; x != nil && x.waiting {
		x.waiting = false
		return x, nil
	}
	a.Watch.Stage("target", spec.Target)
	x, err := open(ctx, run, spec, a.Store, a.Watch)
	if err != nil {
		return nil, err
	}
	for _, wall := range x.lab.box.Missing() {
		a.Watch.Warn(wall)
	}
	if a.sessions == nil {
		a.sessions = map[string]*session{}
	}
	if was := a.sessions[run]; was != nil { // an attempt that was given up, and begins again
		was.lab.close()
	}
	a.sessions[run] = x
	return x, nil
}

// observe finds out the facts that a search starts from. The original is built while the tests are
// recorded.
func (x corpusEvidence) observe(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	// Build the original and the pieces for the library's look-up while the tests run.
	var built atomic.Bool
	original := sync.OnceValues(func() (*harness.Binary, error) {
		defer built.Store(true)
		return x.alone(ctx)
	})
	regions := x.regions(ctx, original)
	go regions.early()
	defer func() {
		stop()
		regions.wait()
		regions.early()
		original() // waits before the session's files are removed
	}()
	// Record the calls, make the corpus, and profile the original.
	in, err := x.inputs.collect(ctx)
	if err != nil {
		return err
	}
	if !built.Load() {
		x.watch.Stage("build", "the first harness: "+x.builds())
	}
	bin, err := original()
	if err != nil {
		return err
	}
	made, blob, err := x.inputs.compose(ctx, bin, in)
	if err != nil {
		return err
	}
	x.ready.noteInputs(&x.unit.Target, made.Corpus.ID(), blob)
	if x.ready.Findings, err = x.inputs.audit(made); err != nil {
		return err
	}
	return x.baseline(ctx, bin, regions)
}

// regions looks for pieces of the original in the library. On request it builds their program as
// soon as the original is built.
func (x *session) regions(ctx context.Context, original func() (*harness.Binary, error)) *lifter {
	l := &lifter{spec: &x.spec, watch: x.watch, lab: x.lab, inputs: x.inputs, pause: &x.pause, wait: func() {}}
	l.early = sync.OnceValues(func() (first, error) {
		if _, err := original(); err != nil || !x.spec.lifts() {
			return first{}, err
		}
		p, problem := x.rewriter.work.pass(x.works.root)
		if problem != nil {
			return first{}, nil
		}
		return l.begin(ctx, p)
	})
	return l
}

// builds identifies the inputs of a harness's compilation.
func (x *session) builds() string {
	f, problem := x.unit.Reader.Parse(x.works.root.Source)
	if problem != nil {
		return x.unit.Target.PkgPath
	}
	seen := map[*types.Package]bool{}
	var visit func(*types.Package)
	visit = func(p *types.Package) {
		for _, imported := range p.Imports() {
			if !seen[imported] {
				seen[imported] = true
				visit(imported)
			}
		}
	}
	visit(f.Types)
	return fmt.Sprintf("%s, %d packages that it imports, and Beagle's runtime", x.unit.Target.PkgPath, len(seen))
}

// alone equips the session and builds the original by itself.
func (x *session) alone(ctx context.Context) (*harness.Binary, error) {
	if err := x.lab.equip(ctx); err != nil {
		return nil, err
	}
	bin, err := x.lab.beside(ctx, harness.Link{FuncAlign: 64})
	x.lab.verify.Alone = bin
	return bin, err
}

// baseline notes the original's compiler facts, its profile, and its first moves.
func (x *session) baseline(ctx context.Context, bin *harness.Binary, regions *lifter) (err error) {
	x.ready.noteOriginal(x.works.root.ID, bin.Static[0])
	// The look-up runs while the original is profiled.
	lifted := x.study(ctx, regions)
	profile, err := bench.TakeProfile(ctx, x.lab.bench, bin, x.inputs.corpus())
	if err != nil {
		return err
	}
	x.ready.noteProfile(profile)
	// Models want the cost of a call and sample calls.
	if x.spec.Models.On() {
		if x.ready.Cost, err = bench.Cost(ctx, x.lab.bench, bin, 0, x.inputs.corpus()); err != nil {
			return err
		}
		if x.ready.Calls, err = x.briefing.sample(ctx, bin); err != nil {
			return err
		}
	}
	// Evaluate a first generation while the look-up goes on. Matches change the first moves.
	x.weigh()
	if x.previews && !regions.ended.Load() && !x.spec.Models.On() {
		if err := x.preview(ctx); err != nil {
			return err
		}
	}
	if x.ready.Lifted = lifted(); len(x.ready.Lifted) > 0 {
		x.weigh()
	}
	return ctx.Err()
}

// weigh finds the first moves, from the facts known so far.
func (x *session) weigh() {
	x.rewriter.weigh(&x.ready)
	x.ready.Moves, _ = x.rewriter.moves(x.works.root)
}

// study begins to look the original's pieces up in the library, and returns a function that waits
// for the matches. A profile taken meanwhile says where the time goes, not how long it takes.
func (x *session) study(ctx context.Context, regions *lifter) (lifted func() []lift.Match) {
	p, problem := x.rewriter.work.pass(x.works.root)
	if problem != nil || !x.spec.lifts() {
		regions.ended.Store(true)
		return func() []lift.Match { return nil }
	}
	found := make(chan []lift.Match, 1)
	go func() {
		defer close(found)
		found <- regions.find(ctx, p)
		regions.ended.Store(true)
	}()
	regions.wait = func() { <-found }
	return func() []lift.Match { return <-found }
}

// restore takes over the facts that Prepare saved in another process.
func (x *session) restore(ctx context.Context) error {
	if ok, err := x.works.store.Load(x.works.run, "prepared", &x.ready); err != nil || !ok {
		return errors.Join(fmt.Errorf("run %s was not prepared", x.works.run), err)
	}
	if x.ready.RootID != x.works.root.ID {
		return usage(fmt.Sprintf("%s changed since run %s began", x.unit.Target.Spec(), x.works.run),
			"start a new run with beagle evolve, or restore the old text")
	}
	if err := x.works.fileUnder(); err != nil {
		return err
	}
	if err := x.lab.evidence.restore(ctx); err != nil {
		return err
	}
	x.rewriter.weigh(&x.ready)
	return nil
}
