package flow

import (
	"context"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/verify"
)

// An evidence is the source of the evidence that a version behaves as the original and is faster:
// a corpus of calls, or the user's own tests.
type evidence interface {
	// equip sets up what builds and runs versions.
	equip(ctx context.Context) error
	// observe finds out what a search starts from.
	observe(ctx context.Context) error
	// restore takes up what observe found in another process.
	restore(ctx context.Context) error
	// trial makes a program of the original, as version 0, and candidates from version 1 on.
	trial(ctx context.Context, cs []beagle.Candidate) (trial, error)
	// full gives a candidate that was read every check.
	full(ctx context.Context, c beagle.Candidate) (*beagle.Verdict, error)
	// confirm is the full measurement.
	confirm(ctx context.Context, cs []beagle.Candidate, tried int, budget time.Duration) ([]beagle.Measurement, error)
	// sift compares versions, and pairs of them, over so many rounds of layouts at most.
	sift(ctx context.Context, cs []beagle.Candidate, pairs [][2]int, rounds int) (*bench.Sifting, error)
	// work says what full does, for people.
	work() string
}

// A trial is a program of the original and candidates, for the cheap end of the ladder.
type trial interface {
	// refused is the verdict on a version that is not in the program; nil for one that is.
	refused(version int) *beagle.Verdict
	static(version int) beagle.StaticFacts
	quick(ctx context.Context, version int, c beagle.Candidate) (*beagle.Verdict, error)
	// together is quick for versions that may share a process; nil stands for one that must not.
	together(ctx context.Context, list []verify.Entrant) ([]*beagle.Verdict, error)
	// screen compares versions with the original; the zero Ratio stands for one that died.
	screen(ctx context.Context, versions []int, budget time.Duration) ([]beagle.Ratio, error)
	// classes compares versions on the common classes of inputs.
	classes(ctx context.Context, versions []int, each time.Duration) ([][]beagle.InputClassRatio, error)
	// look finds out where the time of a version goes and what a call costs; nil where that is not
	// known.
	look(ctx context.Context, version int) (*bench.Insight, error)
	Remove() error
}

// A recorded is the evidence from a corpus.
type recorded struct{ *session }

func (x recorded) equip(ctx context.Context) error { return x.lab.equip(ctx) }

func (x recorded) restore(context.Context) error { return x.inputs.restore() }

func (x recorded) work() string {
	return "all inputs, exhaustion, " + x.spec.Fuzz.String() + " of fuzzing"
}

func (x recorded) full(ctx context.Context, c beagle.Candidate) (*beagle.Verdict, error) {
	fuzz := x.spec.Fuzz
	if fuzz == 0 {
		fuzz = -1 // leaves it out
	}
	return verify.Full(ctx, x.lab.verify, c, x.inputs.corpus(), verify.Budget{Fuzz: fuzz})
}

func (x recorded) trial(ctx context.Context, cs []beagle.Candidate) (trial, error) {
	bin, spoilt, err := verify.Build(ctx, x.lab.verify, cs, harness.Link{FuncAlign: 64})
	if err != nil {
		return nil, err
	}
	return &recordedTrial{x, bin, spoilt}, nil
}

func (x recorded) confirm(
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

func (x recorded) sift(
	ctx context.Context, cs []beagle.Candidate, pairs [][2]int, rounds int,
) (*bench.Sifting, error) {
	return bench.Sift(ctx, x.lab.bench, x.unit, cs, pairs, x.inputs.corpus(), bench.Options{
		Budget: bench.SiftTime(len(cs)), Rounds: rounds, PGO: x.meter.modulePGO(), Seed: x.spec.Seed ^ siftSeed,
		Score: x.spec.Score,
	})
}

// siftSeed makes the layouts of a sifting others than those of the full measurement, which is to
// be no repetition of what chose its finalists.
const siftSeed = 0x51f7

// A recordedTrial is a harness program.
type recordedTrial struct {
	recorded
	bin    *harness.Binary
	spoilt map[int]*verify.Finding
}

func (t *recordedTrial) refused(version int) *beagle.Verdict {
	if why, failed := t.bin.Failed[version]; failed {
		return &beagle.Verdict{Status: beagle.Invalid, Stage: "compile", Reason: why}
	}
	if f := t.spoilt[version-1]; f != nil {
		return &beagle.Verdict{Status: f.Status, Stage: f.Stage, Reason: f.Reason}
	}
	return nil
}

func (t *recordedTrial) static(version int) beagle.StaticFacts { return t.bin.Static[version] }

func (t *recordedTrial) quick(ctx context.Context, version int, c beagle.Candidate) (*beagle.Verdict, error) {
	return verify.Quick(ctx, t.lab.verify, t.bin, version, c, t.inputs.corpus())
}

func (t *recordedTrial) together(ctx context.Context, list []verify.Entrant) ([]*beagle.Verdict, error) {
	return verify.Together(ctx, t.lab.verify, t.bin, list, t.inputs.corpus())
}

func (t *recordedTrial) screen(ctx context.Context, versions []int, budget time.Duration) ([]beagle.Ratio, error) {
	return bench.Screen(ctx, t.lab.bench, t.bin, versions, t.inputs.corpus(), budget)
}

func (t *recordedTrial) classes(
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

func (t *recordedTrial) look(ctx context.Context, version int) (*bench.Insight, error) {
	return bench.Look(ctx, t.lab.bench, t.bin, version, t.inputs.corpus())
}

func (t *recordedTrial) Remove() error { return t.bin.Remove() }
