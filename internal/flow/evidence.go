package flow

import (
	"context"
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
	// observe finds out the facts that a search starts from.
	observe(ctx context.Context) error
	// restore takes over the facts that observe found in another process.
	restore(ctx context.Context) error
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
	// refused returns the verdict on a version that is not in the program, or nil.
	refused(version int) *beagle.Verdict
	static(version int) beagle.StaticFacts
	quick(ctx context.Context, version int, c beagle.Candidate) (*beagle.Verdict, error)
	// together is quick for versions that may share a process; it returns nil for one that must
	// not.
	together(ctx context.Context, list []verify.Entrant) ([]*beagle.Verdict, error)
	// screen compares versions with the original; the zero Ratio marks a version that died.
	screen(ctx context.Context, versions []int, budget time.Duration) ([]beagle.Ratio, error)
	// classes compares versions on the common classes of inputs.
	classes(ctx context.Context, versions []int, each time.Duration) ([][]beagle.InputClassRatio, error)
	// look finds out where the time of a version goes and what a call costs; nil means unknown.
	look(ctx context.Context, version int) (*bench.Insight, error)
	Remove() error
}

// A corpusEvidence is the evidence from a corpus.
type corpusEvidence struct{ *session }

func (x corpusEvidence) equip(ctx context.Context) error { return x.lab.equip(ctx) }

func (x corpusEvidence) restore(context.Context) error { return x.inputs.restore(x.ready.CorpusBlob) }

func (x corpusEvidence) work() string {
	return "all inputs, exhaustion, " + x.spec.Fuzz.String() + " of fuzzing"
}

// full runs the whole ladder of verification on the corpus.
func (x corpusEvidence) full(ctx context.Context, c beagle.Candidate) (*beagle.Verdict, error) {
	fuzz := x.spec.Fuzz
	if fuzz == 0 {
		fuzz = -1 // leaves the search out
	}
	return verify.Full(ctx, x.lab.verify, c, x.inputs.corpus(), verify.Budget{Fuzz: fuzz})
}

// assemble builds one harness program, and drops versions that spoil its start.
func (x corpusEvidence) assemble(ctx context.Context, cs []beagle.Candidate) (candidateProgram, error) {
	bin, spoilt, err := verify.Build(ctx, x.lab.verify, cs, harness.Link{FuncAlign: 64})
	if err != nil {
		return nil, err
	}
	return &corpusProgram{x, bin, spoilt}, nil
}

// confirm measures on recorded, held-out and fresh inputs.
func (x corpusEvidence) confirm(
	ctx context.Context, cs []beagle.Candidate, tried int, budget time.Duration,
) ([]beagle.Measurement, error) {
	fresh, told, err := x.inputs.fresh(ctx, x.spec.Seed^0xf4e54)
	if err != nil {
		return nil, err
	}
	return bench.Confirm(ctx, x.lab.bench, x.unit, cs, x.inputs.corpus(), tried, bench.Options{
		Budget: budget, MinGain: x.spec.MinGain, Fresh: fresh, Told: told, PGO: x.meter.modulePGO(), Seed: x.spec.Seed,
		Score: x.spec.Score,
	})
}

func (x corpusEvidence) sift(
	ctx context.Context, cs []beagle.Candidate, pairs [][2]int, rounds int,
) (*bench.Sifting, error) {
	return bench.Sift(ctx, x.lab.bench, x.unit, cs, pairs, x.inputs.corpus(), bench.Options{
		Budget: bench.SiftTime(len(cs)), Rounds: rounds, PGO: x.meter.modulePGO(), Seed: x.spec.Seed ^ siftSeed,
		Score: x.spec.Score,
	})
}

// siftSeed gives a sifting other layouts than the full measurement has. That one must not repeat
// what chose its finalists.
const siftSeed = 0x51f7

// A corpusProgram is a harness program.
type corpusProgram struct {
	corpusEvidence
	bin    *harness.Binary
	spoilt map[int]*verify.Rejection
}

func (t *corpusProgram) refused(version int) *beagle.Verdict {
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

func (t *corpusProgram) together(ctx context.Context, list []verify.Entrant) ([]*beagle.Verdict, error) {
	return verify.Together(ctx, t.lab.verify, t.bin, list, t.inputs.corpus())
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
