package flow

import (
	"context"
	"errors"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/mutate/lift"
	"github.com/beagle-go/beagle/mutate/llm"
)

// Prepared holds what a search starts from. The run saves it, so that a resumed run works with the
// same inputs.
type Prepared struct {
	Target     string          `json:"target"` // Target.ID
	Spec       string          `json:"spec"`   // Target.Spec
	Around     string          `json:"around"` // source.Package.Around; "" in stores of earlier versions
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
	// version of the module that candidates may import and go.mod lacks
	Requires string  `json:"requires,omitempty"`
	First    float64 `json:"first,omitempty"` // seconds until a preview had verdicts; 0 without one

	// Machine is the kind of machine that measures, if the run fixes it: results are looked up
	// under its name.
	Machine *beagle.Machine `json:"machine,omitempty"`

	// InPlace is the evidence, where it is not a corpus.
	InPlace *beagle.InPlace `json:"in_place,omitempty"`
	// Recorded are the corpora of functions of a group, beside the evidence in place.
	Recorded []Recorded `json:"recorded,omitempty"`
}

// noteInputs notes the target, the code around it and its inputs: their names in keys, and where
// the store has the inputs.
func (p *Prepared) noteInputs(u *source.Unit, corpus, blob string) {
	p.Target, p.Spec, p.Around = u.Target.ID(), u.Target.Spec(), u.Package.Around
	p.Corpus, p.CorpusBlob = corpus, blob
}

// noteFindings notes what audits find in the inputs.
func (p *Prepared) noteFindings(list []beagle.Finding) { p.Findings = append(p.Findings, list...) }

// notePlace notes the evidence of a run in place, with the corpora of a group's functions.
func (p *Prepared) notePlace(found *beagle.InPlace, recorded []Recorded) {
	p.InPlace, p.Recorded = found, recorded
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

// PrepareFor does what Prepare does for a run that measures on another kind of machine; nil stands
// for this one.
func (a *Activities) PrepareFor(ctx context.Context, run string, spec Spec, m *beagle.Machine) (*Prepared, error) {
	// Open the session. A run that is prepared already keeps its state.
	start := time.Now()
	x, err := a.begin(ctx, run, spec)
	if err != nil {
		return nil, err
	}
	pr := x.preparer
	pr.start(start, m, a.Preview)
	if err := x.works.fileUnder(); err != nil {
		return nil, err
	}
	var known Prepared
	if ok, err := a.Store.Load(run, "prepared", &known); err != nil || ok {
		return &known, errors.Join(err, x.lab.evidence.equip(ctx))
	}
	if err := pr.observe(ctx); err != nil {
		return nil, err
	}
	// Save the run only now, so that bad input leaves nothing behind.
	if err := a.Store.Save(run, "spec", spec); err != nil {
		return nil, err
	}
	if err := a.Store.Save(run, "prepared", pr.ready); err != nil {
		return nil, err
	}
	return pr.ready, x.rewriter.keepLaterFaults()
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
	x, err := openSession(ctx, run, spec, a.Store, a.Watch)
	if err != nil {
		return nil, err
	}
	for _, wall := range x.lab.box.MissingWalls() {
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
