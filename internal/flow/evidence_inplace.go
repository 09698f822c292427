package flow

import (
	"context"
	"errors"
	"go/types"
	"os"
	"path/filepath"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/inplace"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/verify"
)

// The kinds of evidence that a user may ask for.
const (
	EvidenceAuto    = "auto"    // a corpus where one can be made, otherwise in place
	EvidenceCorpus  = "corpus"  // a corpus or nothing
	EvidenceInPlace = "inplace" // in place, also where a corpus can be made
	// EvidenceState is in place for methods whose receiver may keep state from call to call, where
	// their tests and benchmarks allow it, and otherwise as auto.
	EvidenceState = "state"
)

// An inPlaceEvidence is the evidence from inside the user's tests.
type inPlaceEvidence struct {
	placeTimer
	inputs   *inputs
	verifier *verifier
	because  string        // why no corpus serves; "" when the user asked for it
	entries  []*groupEntry // functions of a group with recorded calls
}

// mayGoInPlace reports whether a run may take its evidence from the tests.
func (s *Spec) mayGoInPlace() bool { return s.Evidence != EvidenceCorpus && s.CorpusFile == "" }

// choose chooses the evidence of a session that was just opened: that of the run, if it began
// already.
func (pr *preparer) choose(began *Prepared) {
	switch unrecordable := pr.unit.Unrecordable; {
	case began.InPlace != nil:
		pr.usePlace(began.InPlace.Because)
	case began.Target != "":
		pr.useCorpus()
	case pr.spec.Evidence == EvidenceInPlace:
		pr.usePlace("")
	case unrecordable != nil:
		pr.usePlace(reasonOf(unrecordable))
	case pr.spec.Evidence == EvidenceState && pr.spec.CorpusFile == "" && keepsState(pr.unit):
		pr.tentative = true
		pr.usePlace("its receiver may keep state from call to call")
	default:
		pr.useCorpus()
	}
}

// keepsState reports whether calls of the target may leave something in its receiver. With records
// each call gets a receiver of its own, so that it comes from memory, or finds a cache empty.
func keepsState(u *source.Unit) bool {
	r := u.Sig.Recv()
	if r == nil {
		return false
	}
	_, pointer := types.Unalias(r.Type()).(*types.Pointer)
	return pointer
}

// reasonOf returns the reason of a usage error, without the remedy.
func reasonOf(err error) string {
	var usage *beagle.UsageError
	if errors.As(err, &usage) {
		return usage.What
	}
	return err.Error()
}

// tryOtherEvidence tries the other kind of evidence: in place after no corpus could be made, or a
// corpus where going in place was tentative. It returns the error if the other kind does not help
// either.
func (pr *preparer) tryOtherEvidence(ctx context.Context, err error) error {
	var usage *beagle.UsageError
	if pr.tentative && errors.As(err, &usage) && ctx.Err() == nil {
		return pr.withCorpus(ctx, usage)
	}
	if pr.lab.inPlace || !pr.spec.mayGoInPlace() || ctx.Err() != nil ||
		!errors.As(err, &usage) || !errors.Is(err, errNoCorpus) {
		return err
	}
	pr.usePlace(reasonOf(err))
	if again := pr.lab.evidence.equip(ctx); again != nil {
		return err
	}
	again := pr.lab.evidence.observe(ctx, pr)
	var inPlace *beagle.UsageError
	switch {
	case again == nil:
		return nil
	case errors.As(again, &inPlace):
		return noEvidenceError(usage, inPlace)
	case ctx.Err() != nil:
		return again
	}
	pr.watch.Warn("in place there is no evidence either: " + again.Error())
	return err
}

// noEvidenceError is the error for a target for which no corpus and no test serves, with both
// reasons. The remedy for the tests comes first: few people have recorded calls.
func noEvidenceError(corpus, inPlace *beagle.UsageError) error {
	return &beagle.UsageError{
		What:   corpus.What + "; and in place: " + inPlace.What,
		Remedy: inPlace.Remedy + "\nor " + corpus.Remedy,
	}
}

// withCorpus makes a corpus the evidence after all.
func (pr *preparer) withCorpus(ctx context.Context, why *beagle.UsageError) error {
	pr.tentative = false
	pr.useCorpus()
	pr.watch.Note("evidence", "recorded calls, since "+why.What)
	if err := pr.inputs.hopeless(); err != nil {
		return err
	}
	return pr.lab.evidence.observe(ctx, pr)
}

// errNoCorpus marks an error which says that the available calls make no corpus.
var errNoCorpus = errors.New("no corpus")

// noCorpus is a usage error that wraps errNoCorpus.
type noCorpus struct{ *beagle.UsageError }

func (e noCorpus) Unwrap() []error { return []error{e.UsageError, errNoCorpus} }

func (x *inPlaceEvidence) work() string {
	if x.lab.unit.Scope.Group() {
		return "the tests and the race detector, in place"
	}
	return "the calls, the tests and the race detector, in place"
}

// equip prepares the place in which the tests run.
func (x *inPlaceEvidence) equip(ctx context.Context) (err error) {
	if x.place != nil {
		return nil
	}
	if err := x.lab.furnish(); err != nil {
		return err
	}
	x.place, err = inplace.New(ctx, x.lab.unit, x.lab.box, filepath.Join(x.lab.dir, "place"),
		func(what string) { x.watch.Stage("survey", what) })
	return err
}

// observe surveys the tests and profiles the original in the benchmarks.
func (x *inPlaceEvidence) observe(ctx context.Context, pr *preparer) error {
	group := x.lab.unit.Scope.Group()
	var files map[string]string // of calls that the user gave
	if group {
		var err error
		if files, err = x.files(ctx); err != nil {
			return err
		}
	}
	// Survey the tests, and take the calls of a group's entries.
	if err := x.equip(ctx); err != nil {
		return err
	}
	if err := x.survey(ctx); err != nil {
		return err
	}
	x.makeCorpus()
	found := x.place.Evidence()
	found.Because = x.because
	var recorded []Recorded
	if group {
		var err error
		if recorded, err = x.record(ctx, files); err != nil {
			return err
		}
	}
	// Note what the search starts from: the evidence, the profile and the first moves.
	x.watch.Note("evidence", found.String())
	pr.ready.notePlace(found, recorded)
	pr.ready.noteInputs(x.lab.unit, x.name(found, recorded), "")
	pr.ready.noteOriginal(x.lab.root.ID, beagle.StaticFacts{})
	profile, err := x.profile(ctx)
	if err != nil {
		return err
	}
	pr.ready.noteProfile(profile)
	pr.weigh()
	return nil
}

// restore surveys the tests again: a session has its own test binaries.
func (x *inPlaceEvidence) restore(ctx context.Context, ready *Prepared) error {
	if err := x.equip(ctx); err != nil {
		return err
	}
	if err := x.survey(ctx); err != nil {
		return err
	}
	if err := x.recall(ctx, ready); err != nil {
		return err
	}
	x.makeCorpus()
	return nil
}

// makeCorpus makes the empty corpus of a run in place, which marks the session as ready: a survey
// that was canceled is made again.
func (x *inPlaceEvidence) makeCorpus() {
	x.inputs.hold(&beagle.Corpus{Target: x.lab.unit.Target.ID()}, 0)
}

// survey finds out which tests can give evidence.
func (x *inPlaceEvidence) survey(ctx context.Context) error {
	x.place.Timing = !x.spec.NoMeasure && len(x.spec.Score.Benchmarks) == 0
	e, err := x.place.Survey(ctx, x.lab.root.Source)
	if err != nil {
		return err
	}
	x.watch.Stage("survey", "the benchmarks that call it")
	if err := x.place.Choose(ctx, x.lab.bench.CPU); err != nil {
		return err
	}
	if len(e.Timed) == 0 && x.place.Timing {
		return x.place.Untimed(e.Untimed)
	}
	return nil
}

// name identifies the evidence in keys: by the text of the module that its tests are part of.
func (x *inPlaceEvidence) name(found *beagle.InPlace, recorded []Recorded) string {
	text := x.works.run
	if key, ok := x.inputs.recordingKey(); ok {
		text = key.Corpus
	}
	return beagle.HashOf("in place", text, found.Within, recorded)
}

// profile profiles the original in the benchmarks; it is empty if no benchmark is timed.
func (x *inPlaceEvidence) profile(ctx context.Context) (*bench.Profile, error) {
	path := filepath.Join(x.lab.dir, "bench", "place.prof")
	found, err := x.place.Profile(ctx, path, x.lab.bench.CPU)
	if err != nil || !found {
		return &bench.Profile{}, err
	}
	defer os.Remove(path)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if scope := x.lab.unit.Scope; scope.Group() {
		return bench.FileProfile(text, scope.SourceLine())
	}
	return bench.ReadProfile(text)
}

// full judges a version by the tests, and then by the recorded calls of each entry.
func (x *inPlaceEvidence) full(ctx context.Context, c beagle.Candidate) (*beagle.Verdict, error) {
	v, err := x.verifier.static(ctx, c)
	if err != nil || !v.OK() {
		return v, err
	}
	judged, err := x.place.Full(ctx, x.lab.root.Source, c)
	if err != nil {
		return nil, err
	}
	judged.Checks = append(v.Checks, judged.Checks...)
	judged.Warnings = append(v.Warnings, judged.Warnings...)
	for _, e := range x.entries {
		if !judged.OK() {
			break
		}
		if err := e.full(ctx, judged, c, x.spec.Fuzz/time.Duration(len(x.entries))); err != nil {
			return nil, err
		}
	}
	return judged, nil
}

// assemble builds the versions into the tests and, for a group, into a program for each entry.
func (x *inPlaceEvidence) assemble(ctx context.Context, cs []beagle.Candidate) (candidateProgram, error) {
	vs := []inplace.Version{{ID: x.lab.root.ID, Source: x.lab.root.Source}}
	for _, c := range cs {
		vs = append(vs, inplace.Version{ID: c.ID, Source: c.Source})
	}
	g, err := x.place.BuildStarting(ctx, vs)
	if err != nil {
		return nil, err
	}
	t := &inPlaceProgram{timer: x.placeTimer, program: g}
	for _, e := range x.entries {
		calls, err := e.assemble(ctx, cs)
		if err != nil {
			return nil, errors.Join(err, t.Remove())
		}
		t.calls = append(t.calls, calls)
	}
	return t, nil
}

// An inPlaceProgram is a test binary, with the programs for the recorded calls of a group.
type inPlaceProgram struct {
	timer   placeTimer
	program *inplace.Program
	calls   []*entryProgram
}

func (t *inPlaceProgram) refusal(version int) *beagle.Verdict {
	if why, failed := t.program.Failed[version]; failed {
		return &beagle.Verdict{Status: beagle.Invalid, Stage: "compile", Reason: why}
	}
	return nil
}

func (t *inPlaceProgram) static(int) beagle.StaticFacts { return beagle.StaticFacts{} }

// compareTogether leaves each version to a process of its own, since the user's tests run in it.
func (t *inPlaceProgram) compareTogether(_ context.Context, list []verify.Entrant) ([]*beagle.Verdict, error) {
	return make([]*beagle.Verdict, len(list)), nil
}

// quick judges a version by the tests, and then by the recorded calls of each entry.
func (t *inPlaceProgram) quick(ctx context.Context, version int, c beagle.Candidate) (*beagle.Verdict, error) {
	v, err := t.timer.place.Quick(ctx, t.program, version, c)
	for _, calls := range t.calls {
		if err != nil || !v.OK() {
			break
		}
		err = calls.quick(ctx, v, version)
	}
	return v, err
}

func (t *inPlaceProgram) screen(ctx context.Context, versions []int, budget time.Duration) ([]beagle.Ratio, error) {
	return t.timer.screen(ctx, t.program, versions, budget)
}

// classes says nothing here: each benchmark has a say when versions are confirmed.
func (t *inPlaceProgram) classes(
	_ context.Context, versions []int, _ time.Duration,
) ([][]beagle.InputClassRatio, error) {
	return make([][]beagle.InputClassRatio, len(versions)), nil
}

func (t *inPlaceProgram) look(context.Context, int) (*bench.Insight, error) { return nil, nil }

func (t *inPlaceProgram) Remove() error {
	t.program.Remove()
	var all []error
	for _, calls := range t.calls {
		all = append(all, calls.bin.Remove())
	}
	return errors.Join(all...)
}
