package flow

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/mutate/lift"
)

// A preparer finds out what a search starts from. It chooses the evidence, and fills the prepared
// state. An evidence notes in that state what it observes; the other parts of a session read it.
type preparer struct {
	setting
	inputs   *inputs
	rewriter *rewriter
	verifier *verifier
	screener *screener
	briefer  *briefer

	began     time.Time
	previews  bool         // the first generation may be evaluated before the library was looked through
	pause     sync.RWMutex // held while the look-up pauses
	tentative bool         // the run began in place, and may change to a corpus
}

// start notes when the preparation began and on which kind of machine the run measures; nil is this
// one.
func (pr *preparer) start(at time.Time, m *beagle.Machine, previews bool) {
	pr.ready.Machine, pr.began, pr.previews = m, at, previews
}

// observe finds out the facts that the search starts from, or falls back on the other kind of
// evidence.
func (pr *preparer) observe(ctx context.Context) error {
	err := pr.inputs.hopeless()
	if err == nil {
		err = pr.lab.evidence.observe(ctx, pr)
	}
	if err != nil {
		err = pr.tryOtherEvidence(ctx, err)
	}
	pr.ready.Seconds = time.Since(pr.began).Seconds()
	return err
}

// regions looks for pieces of the original in the library. On request it builds their program as
// soon as the original is built.
func (pr *preparer) regions(ctx context.Context, original func() (*harness.Binary, error)) *lifter {
	l := &lifter{setting: pr.setting, inputs: pr.inputs, pause: &pr.pause, wait: func() {}}
	l.early = sync.OnceValues(func() (first, error) {
		if _, err := original(); err != nil || !pr.spec.lifts() {
			return first{}, err
		}
		p, problem := pr.rewriter.work.pass(pr.works.root)
		if problem != nil {
			return first{}, nil
		}
		return l.begin(ctx, p)
	})
	return l
}

// A takeProfile returns the profile of the original.
type takeProfile func() (*bench.Profile, error)

// profileAhead begins to profile the original as soon as the training records are settled, while
// the rest of the corpus is made. A profile taken meanwhile says where the time goes, not how long
// it takes. Where nothing is settled early, the profile is taken when it is asked for. wait returns
// once nothing runs any more.
func (pr *preparer) profileAhead(
	ctx context.Context, bin *harness.Binary, g *gathered,
) (profile takeProfile, wait func()) {
	take := func(c *beagle.Corpus) (*bench.Profile, error) { return bench.TakeProfile(ctx, pr.lab.bench, bin, c) }
	var begun takeProfile
	g.settled(func(c *beagle.Corpus) {
		begun = sync.OnceValues(func() (*bench.Profile, error) { return take(c) })
		go begun()
	})
	profile = func() (*bench.Profile, error) {
		if begun == nil {
			return take(pr.inputs.corpus())
		}
		return begun()
	}
	wait = func() {
		if begun != nil {
			begun()
		}
	}
	return profile, wait
}

// baseline notes the original's compiler facts, its profile, and its first moves.
func (pr *preparer) baseline(
	ctx context.Context, bin *harness.Binary, takeProfile takeProfile, regions *lifter,
) (err error) {
	pr.ready.noteOriginal(pr.works.root.ID, bin.Static[0])
	// The look-up runs while the original is profiled.
	lifted := pr.study(ctx, regions)
	profile, err := takeProfile()
	if err != nil {
		return err
	}
	pr.ready.noteProfile(profile)
	// Models want the cost of a call and sample calls.
	if pr.spec.Models.On() {
		if pr.ready.Cost, err = bench.Cost(ctx, pr.lab.bench, bin, 0, pr.inputs.corpus()); err != nil {
			return err
		}
		if pr.ready.Calls, err = pr.briefer.sample(ctx, bin); err != nil {
			return err
		}
	}
	// Evaluate a first generation while the look-up goes on. Matches change the first moves.
	pr.weigh()
	if pr.previews && !regions.ended.Load() && !pr.spec.Models.On() {
		if err := pr.preview(ctx); err != nil {
			return err
		}
	}
	if pr.ready.Lifted = lifted(); len(pr.ready.Lifted) > 0 {
		pr.weigh()
	}
	return ctx.Err()
}

// weigh finds the first moves, from the facts known so far.
func (pr *preparer) weigh() {
	pr.rewriter.weigh(pr.ready)
	pr.ready.Moves, _ = pr.rewriter.moves(pr.works.root)
}

// study begins to look the original's pieces up in the library, and returns a function that waits
// for the matches. A profile taken meanwhile says where the time goes, not how long it takes.
func (pr *preparer) study(ctx context.Context, regions *lifter) (lifted func() []lift.Match) {
	p, problem := pr.rewriter.work.pass(pr.works.root)
	if problem != nil || !pr.spec.lifts() {
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
func (pr *preparer) restore(ctx context.Context) error {
	if ok, err := pr.works.store.Load(pr.works.run, "prepared", pr.ready); err != nil || !ok {
		return errors.Join(fmt.Errorf("run %s was not prepared", pr.works.run), err)
	}
	if pr.ready.RootID != pr.works.root.ID {
		return usage(fmt.Sprintf("%s changed since run %s began", pr.unit.Target.Spec(), pr.works.run),
			"start a new run with beagle evolve, or restore the old text")
	}
	if began := pr.ready.Around; began != "" && began != pr.unit.Package.Around {
		return usage(fmt.Sprintf("the code that %s is built with changed since run %s began: its package, one that "+
			"versions may import, or the version of Go in go.mod", pr.unit.Target.Spec(), pr.works.run),
			"start a new run with beagle evolve, or restore the old code")
	}
	if err := pr.works.fileUnder(); err != nil {
		return err
	}
	if err := pr.lab.evidence.restore(ctx, pr.ready); err != nil {
		return err
	}
	pr.rewriter.weigh(pr.ready)
	return nil
}

// startFrom takes over the prepared state of a recorded run. The names of the recorded calls stay
// those of this store.
func (pr *preparer) startFrom(p Prepared) Prepared {
	p.CorpusBlob, p.Recorded = pr.ready.CorpusBlob, pr.ready.Recorded
	p.Machine, p.Seconds, p.Around = pr.ready.Machine, pr.ready.Seconds, pr.ready.Around
	*pr.ready = p
	pr.rewriter.weigh(pr.ready)
	return p
}

// use makes an evidence that of the run. Where the score names benchmarks, these decide on the
// speed.
func (pr *preparer) use(e evidence, inPlace bool) {
	if len(pr.spec.Score.Benchmarks) > 0 {
		e = &benchmarkEvidence{evidence: e, timer: placeTimer{setting: pr.setting}}
	}
	pr.lab.use(e, inPlace)
}

// useCorpus makes recorded calls the evidence.
func (pr *preparer) useCorpus() {
	pr.use(corpusEvidence{setting: pr.setting, inputs: pr.inputs}, false)
}

// usePlace makes the tests of the module the evidence.
func (pr *preparer) usePlace(because string) {
	pr.use(&inPlaceEvidence{
		placeTimer: placeTimer{setting: pr.setting}, inputs: pr.inputs, verifier: pr.verifier, because: because,
	}, true)
	if because != "" {
		pr.watch.Note("evidence", "in place, inside the package's own tests: "+because)
	}
}
