package flow

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/harness"
)

const (
	captureTime = time.Minute // for the user's test suites
	freshInputs = 4096        // drawn for the final measurement
)

// gather makes the corpus with a program that has the original, audits it and
// puts it into the store.
func (x *session) gather(ctx context.Context, bin *harness.Binary, in *corpus.Input) error {
	built, err := x.built(in, func() (*corpus.Built, error) { return corpus.With(ctx, x.unit, bin, x.box, *in) })
	if err != nil {
		return err
	}
	x.corpus = built.Corpus
	x.corpus.DroppedWhy = strings.Join(built.DroppedFor, "; ")
	x.watch.Stage("corpus", fmt.Sprintf("%d inputs to search with, %d held out, %d generated", len(x.corpus.Train), len(x.corpus.Holdout), len(x.corpus.Generated)))
	if err := x.audit(bench.Observed{NonDeterministic: built.Unstable + built.Stateful, Results: built.Outcomes}); err != nil {
		return err
	}
	x.ready.Target, x.ready.Spec, x.ready.Corpus = x.unit.Target.ID(), x.unit.Target.Spec(), x.corpus.ID()
	x.ready.CorpusBlob, err = x.store.PutJSON(x.corpus)
	return err
}

// inputs takes the user's file, or records what the tests call.
func (x *session) inputs(ctx context.Context) (*corpus.Input, error) {
	in := &corpus.Input{Seed: x.spec.Seed}
	if x.spec.CorpusFile != "" {
		records, err := corpus.Load(x.unit, x.spec.CorpusFile)
		if err != nil {
			return nil, err
		}
		in.Records, in.Source = records, fmt.Sprintf("%d records of %s", len(records), filepath.Base(x.spec.CorpusFile))
		if from, err := corpus.Provenance(x.spec.CorpusFile); err == nil && len(from) > 0 {
			in.Source += ": " + strings.Join(from, "; ")
		}
		return in, nil
	}
	captured, err := x.recorded(func() (*corpus.Captured, error) {
		return corpus.Capture(ctx, x.unit, x.box, filepath.Join(x.dir, "corpus"), corpus.CaptureOptions{
			Budget: captureTime,
			Progress: func(what string, records int) {
				if records > 0 {
					what += fmt.Sprintf("; %d distinct calls so far", records)
				}
				x.watch.Stage("record", what)
			},
		})
	})
	if err != nil {
		return nil, err
	}
	for _, f := range captured.Failures {
		x.watch.Warn(f)
	}
	in.Captured = captured
	return in, nil
}

// audit refuses inputs that cannot tell faster from slower.
func (x *session) audit(seen bench.Observed) error {
	x.ready.Findings = bench.Audit(&x.unit.Target, x.corpus, seen)
	for _, f := range x.ready.Findings {
		if f.Refuse && !x.spec.Force {
			return x.refused(f)
		}
		x.watch.Warn(fmt.Sprintf("%s: %s. %s", f.Code, f.Figure, f.Remedy))
	}
	return nil
}

func (x *session) refused(f beagle.Finding) error {
	return &beagle.UsageError{
		What:   fmt.Sprintf("%s cannot be judged (%s): %s", x.unit.Target.Spec(), f.Code, f.Figure),
		Remedy: f.Remedy + "\nor go on all the same with --force",
	}
}

// hopeless refuses a target that no inputs can make worth a search, before they
// are recorded.
func (x *session) hopeless() error {
	if len(x.unit.Target.Params) > 0 || x.spec.Force {
		return nil
	}
	for _, f := range bench.Audit(&x.unit.Target, new(beagle.Corpus), bench.Observed{}) {
		if f.Code == "constant-foldable" && f.Refuse {
			return x.refused(f)
		}
	}
	return nil
}

// fresh draws inputs that neither the search nor the verification has seen, with
// the outcomes that recorded calls have. told says what they lack.
func (x *session) fresh(ctx context.Context, seed uint64) (fresh []beagle.Record, told string, err error) {
	return corpus.Alike(ctx, x.unit, x.builder, x.box, x.corpus, freshInputs, seed)
}
