package flow

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/verify"
)

// An evidence shows that a version behaves as the original and is faster. It comes from a corpus of
// calls, or from the user's own tests.
type evidence interface {
	// equip prepares the builder and the judges.
	equip(ctx context.Context) error
	// observe finds out the facts that a search starts from, and notes them in the prepared state.
	observe(ctx context.Context, pr *preparer) error
	// restore takes over the facts that observe found in another process.
	restore(ctx context.Context, ready *Prepared) error
	// assemble builds a program of the original, as version 0, and candidates from version 1 on.
	assemble(ctx context.Context, cs []beagle.Candidate) (candidateProgram, error)
	// full runs every check on a candidate that was read before.
	full(ctx context.Context, c beagle.Candidate) (*beagle.Verdict, error)
	// confirm is the full measurement.
	confirm(ctx context.Context, cs []beagle.Candidate, tried int, budget time.Duration) ([]beagle.Measurement, error)
	// sift compares versions, and pairs of them, over at most this many rounds of layouts.
	sift(ctx context.Context, cs []beagle.Candidate, pairs [][2]int, rounds int) (*bench.Sifting, error)
	// work describes full to people.
	work() string
}

// A candidateProgram holds the original and candidates, for the cheap end of the ladder.
type candidateProgram interface {
	// refusal returns the verdict on a version that is not in the program, or nil.
	refusal(version int) *beagle.Verdict
	static(version int) beagle.StaticFacts
	quick(ctx context.Context, version int, c beagle.Candidate) (*beagle.Verdict, error)
	// together is quick for versions that may share a process; it returns nil for one that must
	// not.
	compareTogether(ctx context.Context, list []verify.Entrant) ([]*beagle.Verdict, error)
	// screen compares versions with the original; the zero Ratio marks a version that died.
	screen(ctx context.Context, versions []int, budget time.Duration) ([]beagle.Ratio, error)
	// classes compares versions on the common classes of inputs.
	classes(ctx context.Context, versions []int, each time.Duration) ([][]beagle.InputClassRatio, error)
	// look finds out where the time of a version goes and what a call costs; nil means unknown.
	look(ctx context.Context, version int) (*bench.Insight, error)
	Remove() error
}

// A corpusEvidence is the evidence from a corpus.
type corpusEvidence struct {
	setting
	inputs *inputs
}

func (e corpusEvidence) equip(ctx context.Context) error { return e.lab.equip(ctx) }

// observe records the calls, makes the corpus and profiles the original. The original is built
// while the tests are recorded, and profiled while the corpus is made.
func (e corpusEvidence) observe(ctx context.Context, pr *preparer) error {
	ctx, stop := context.WithCancel(ctx)
	// Build the original and the pieces for the library's look-up while the tests run.
	var built atomic.Bool
	original := sync.OnceValues(func() (*harness.Binary, error) {
		defer built.Store(true)
		return e.lab.buildOriginal(ctx)
	})
	regions := pr.regions(ctx, original)
	go regions.early()
	defer func() {
		stop()
		regions.wait()
		regions.early()
		original() // waits before the session's files are removed
	}()
	// Record the calls, make the corpus, and profile the original.
	in, err := e.inputs.collect(ctx)
	if err != nil {
		return err
	}
	gathered := e.inputs.gather(in)
	if !built.Load() {
		pr.watch.Stage("build", "the first harness: "+e.lab.compiles())
	}
	bin, err := original()
	if err != nil {
		return err
	}
	profile, wait := pr.profileAhead(ctx, bin, gathered)
	defer func() {
		stop()
		wait()
	}()
	made, blob, err := e.inputs.compose(ctx, bin, gathered)
	if err != nil {
		return err
	}
	pr.ready.noteInputs(e.lab.unit, made.Corpus.ID(), blob)
	findings, err := e.inputs.audit(made)
	pr.ready.noteFindings(findings)
	if err != nil {
		return err
	}
	return pr.baseline(ctx, bin, profile, regions)
}

func (e corpusEvidence) restore(_ context.Context, ready *Prepared) error {
	return e.inputs.restore(ready.CorpusBlob)
}

func (e corpusEvidence) work() string {
	return "all inputs, exhaustion, " + e.spec.Fuzz.String() + " of fuzzing"
}

// full runs the whole ladder of verification on the corpus.
func (e corpusEvidence) full(ctx context.Context, c beagle.Candidate) (*beagle.Verdict, error) {
	fuzz := e.spec.Fuzz
	if fuzz == 0 {
		fuzz = -1 // leaves the search out
	}
	return verify.Full(ctx, e.lab.verify, c, e.inputs.corpus(), verify.Budget{Fuzz: fuzz})
}

// assemble builds one harness program, and drops versions that spoil its start.
func (e corpusEvidence) assemble(ctx context.Context, cs []beagle.Candidate) (candidateProgram, error) {
	bin, spoilt, err := verify.Build(ctx, e.lab.verify, cs, harness.Link{FuncAlign: 64})
	if err != nil {
		return nil, err
	}
	return &corpusProgram{e.lab, e.inputs, bin, spoilt}, nil
}

// confirm measures on recorded, held-out and fresh inputs.
func (e corpusEvidence) confirm(
	ctx context.Context, cs []beagle.Candidate, tried int, budget time.Duration,
) ([]beagle.Measurement, error) {
	fresh, told, err := e.inputs.drawFresh(ctx, e.spec.Seed^0xf4e54)
	if err != nil {
		return nil, err
	}
	pgo, err := modulePGO(ctx, e.lab.unit)
	if err != nil {
		return nil, err
	}
	return bench.Confirm(ctx, e.lab.bench, e.lab.unit, cs, e.inputs.corpus(), tried, bench.Options{
		Budget: budget, MinGain: e.spec.MinGain, Fresh: fresh, FreshGaps: told, PGO: pgo,
		Seed: e.spec.Seed, Score: e.spec.Score, Brief: e.lab.brief,
	})
}

func (e corpusEvidence) sift(
	ctx context.Context, cs []beagle.Candidate, pairs [][2]int, rounds int,
) (*bench.Sifting, error) {
	pgo, err := modulePGO(ctx, e.lab.unit)
	if err != nil {
		return nil, err
	}
	return bench.Sift(ctx, e.lab.bench, e.lab.unit, cs, pairs, e.inputs.corpus(), bench.Options{
		Budget: bench.SiftTime(len(cs)), Rounds: rounds, PGO: pgo,
		Seed: e.spec.Seed ^ siftSeed, Score: e.spec.Score, Brief: e.lab.brief,
	})
}

// siftSeed gives a sifting other layouts than the full measurement has. That one must not repeat
// what chose its finalists.
const siftSeed = 0x51f7

// A corpusProgram is a harness program.
type corpusProgram struct {
	lab    *lab
	inputs *inputs
	bin    *harness.Binary
	spoilt map[int]*verify.Rejection
}

func (t *corpusProgram) refusal(version int) *beagle.Verdict {
	if why, failed := t.bin.Failed[version]; failed {
		return &beagle.Verdict{Status: beagle.Invalid, Stage: "compile", Reason: why}
	}
	if f := t.spoilt[version-1]; f != nil {
		return &beagle.Verdict{Status: f.Status, Stage: f.Stage, Reason: f.Reason}
	}
	return nil
}

func (t *corpusProgram) static(version int) beagle.StaticFacts { return t.bin.Static[version] }

func (t *corpusProgram) quick(ctx context.Context, version int, c beagle.Candidate) (*beagle.Verdict, error) {
	return verify.Quick(ctx, t.lab.verify, t.bin, version, c, t.inputs.corpus())
}

func (t *corpusProgram) compareTogether(ctx context.Context, list []verify.Entrant) ([]*beagle.Verdict, error) {
	return verify.QuickTogether(ctx, t.lab.verify, t.bin, list, t.inputs.corpus())
}

func (t *corpusProgram) screen(ctx context.Context, versions []int, budget time.Duration) ([]beagle.Ratio, error) {
	return bench.Screen(ctx, t.lab.bench, t.bin, versions, t.inputs.corpus(), budget)
}

// classes times versions on the common classes of inputs, in one process.
func (t *corpusProgram) classes(
	ctx context.Context, versions []int, each time.Duration,
) ([][]beagle.InputClassRatio, error) {
	classes, err := t.inputs.commonClasses()
	if err != nil {
		return nil, err
	}
	sets := make([][]beagle.Record, len(classes))
	for k, class := range classes {
		sets[k] = class.Records
	}
	budget := each * time.Duration(len(versions)+1)
	ratios, err := bench.ScreenSets(ctx, t.lab.bench, t.bin, versions, t.inputs.corpus(), sets, budget)
	if err != nil {
		return nil, err
	}
	out := make([][]beagle.InputClassRatio, len(versions))
	for k, class := range classes {
		if ratios[k] == nil {
			continue
		}
		for i := range versions {
			if r := ratios[k][i]; r != (beagle.Ratio{}) {
				out[i] = append(out[i], beagle.InputClassRatio{Name: class.Name, Share: class.Share, Ratio: r})
			}
		}
	}
	return out, nil
}

func (t *corpusProgram) look(ctx context.Context, version int) (*bench.Insight, error) {
	return bench.Look(ctx, t.lab.bench, t.bin, version, t.inputs.corpus())
}

func (t *corpusProgram) Remove() error { return t.bin.Remove() }
