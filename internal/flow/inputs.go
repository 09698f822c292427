package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/tail"
	"github.com/beagle-go/beagle/mutate/llm"
)

// The inputs are the calls on which versions are run: recorded or given, audited, and extended by
// counterexamples of earlier candidates.
type inputs struct {
	setting
	file string // of recorded calls that the user gave; "" for those of the tests

	mu      sync.Mutex
	held    *beagle.Corpus // nil before compose or restore
	learned int            // inputs found by the run that are in the corpus

	files struct { // of recordingKey
		once  sync.Once
		print string
		known bool
	}
	common struct { // of commonClasses
		once sync.Once
		list []corpus.InputClass
		err  error
	}
}

// corpus returns the corpus as it is now; nil before it is known. It may be replaced and is never
// changed: its facets and its training inputs stay.
func (n *inputs) corpus() *beagle.Corpus {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.held
}

// hold makes a corpus the run's; the run itself found this many of its inputs.
func (n *inputs) hold(c *beagle.Corpus, learned int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held, n.learned = c, learned
}

// restore takes up the corpus of a run that was prepared in another process.
func (n *inputs) restore(blob string) error {
	corpus := new(beagle.Corpus)
	if err := n.works.store.GetJSON(blob, corpus); err != nil {
		return err
	}
	found, err := learned(n.works.store, n.works.run)
	if err != nil {
		return err
	}
	corpus.Generated = append(corpus.Generated, found...)
	n.hold(corpus, len(found))
	return nil
}

const (
	captureTime = time.Minute // for the user's test suites
	freshInputs = 4096        // drawn for the final measurement
)

// compose makes the corpus of gathered inputs with a program that has the original. It puts the
// corpus into the store, under the name that it returns.
func (n *inputs) compose(
	ctx context.Context, bin *harness.Binary, g *gathered,
) (built *corpus.Built, blob string, err error) {
	if built, err = n.built(ctx, bin, g); err != nil {
		if errors.Is(err, corpus.ErrViolated) { // in place no call would be left out
			return nil, "", err
		}
		return nil, "", unmade(err)
	}
	c := built.Corpus
	c.DroppedWhy = strings.Join(built.DroppedFor, "; ")
	if c.GeneratedOnly && c.Dropped > 0 && n.file == "" && n.spec.Evidence != EvidenceCorpus {
		return nil, "", noCorpus{&beagle.UsageError{
			What: fmt.Sprintf("%s: none of %d recorded calls can be replayed: %s", n.unit.Target.Spec(), c.Dropped,
				tail.Short(c.DroppedWhy, maxReason)),
			Remedy: "give recorded calls with --corpus, or ask for generated ones with --evidence corpus",
		}}
	}
	n.hold(c, 0)
	n.watch.Note("corpus", fmt.Sprintf("%d inputs to search with, %d held out, %d generated",
		len(c.Train), len(c.Holdout), len(c.Generated)))
	blob, err = n.works.store.PutJSON(c)
	return built, blob, err
}

// collect reads the user's file, or records the calls of the tests.
func (n *inputs) collect(ctx context.Context) (*corpus.Input, error) {
	in := &corpus.Input{Seed: n.spec.Seed}
	if n.file != "" {
		if g := n.spec.givenCorpora()[0]; g.function != "" && n.file == n.spec.CorpusFile {
			return nil, usage("--corpus "+n.file+": NAME=FILE is for a group, and the target is one function",
				"give the file alone: --corpus "+quote(g.path))
		}
		records, err := corpus.Load(n.unit, n.file)
		if err != nil {
			return nil, err
		}
		in.Records, in.Source = records, fmt.Sprintf("%d records of %s", len(records), filepath.Base(n.file))
		if from, err := corpus.Provenance(n.file); err == nil && len(from) > 0 {
			in.Source += ": " + strings.Join(from, "; ")
		}
		return in, nil
	}
	// Record the tests, or take the recording of an earlier run.
	captured, err := n.recording(func() (*corpus.Captured, error) {
		return corpus.Capture(ctx, n.unit, n.lab.box, filepath.Join(n.lab.dir, "corpus"), corpus.CaptureOptions{
			Budget: captureTime,
			Progress: func(what string, records int) {
				if records > 0 {
					what += fmt.Sprintf("; %d distinct calls so far", records)
				}
				n.watch.Stage("record", what)
			},
		})
	})
	if err != nil {
		return nil, err
	}
	for _, f := range captured.Failures {
		n.watch.Warn(f)
	}
	in.Captured = captured
	return in, nil
}

// Findings on a corpus.
const (
	fewDistinct = "few-distinct" // all calls have one input
	oneClass    = "one-class"    // nearly all calls panic, or are alike
)

// audit lists the faults of a corpus, and refuses one that cannot tell faster from slower.
func (n *inputs) audit(built *corpus.Built) ([]beagle.Finding, error) {
	found := bench.Audit(&n.unit.Target, n.corpus(), bench.Observed{
		NonDeterministic: built.Unstable + built.Stateful,
		Results:          built.Outcomes,
	})
	for _, f := range found {
		if f.Code == oneClass && n.corpus().Facets.Panics == 1 { // nothing to time, with or without --force
			return found, unmade(n.findingErrorWith(f, f.Remedy))
		}
		if f.Refuse && !n.spec.Force {
			if f.Code == fewDistinct { // in place a constant would pass for them too
				return found, n.findingError(f)
			}
			return found, unmade(n.findingError(f))
		}
		n.watch.Warn(fmt.Sprintf("%s: %s. %s", f.Code, f.Figure, f.Remedy))
	}
	return found, nil
}

func (n *inputs) findingError(f beagle.Finding) error {
	return n.findingErrorWith(f, f.Remedy+"\nor go on all the same with --force")
}

func (n *inputs) findingErrorWith(f beagle.Finding, remedy string) error {
	return &beagle.UsageError{
		What:   fmt.Sprintf("%s cannot be judged (%s): %s", n.unit.Target.Spec(), f.Code, f.Figure),
		Remedy: remedy,
	}
}

// hopeless refuses, before recording, a target that no recorded inputs can make worth a search.
func (n *inputs) hopeless() error {
	if n.lab.inPlace || len(n.unit.Target.Params) > 0 || n.spec.Force {
		return nil
	}
	for _, f := range bench.Audit(&n.unit.Target, new(beagle.Corpus), bench.Observed{}) {
		if f.Code == "constant-foldable" && f.Refuse {
			return unmade(n.findingError(f))
		}
	}
	return nil
}

// drawFresh draws inputs that neither the search nor the verification has seen, with outcomes like
// those of recorded calls. told says what the inputs lack.
func (n *inputs) drawFresh(ctx context.Context, seed uint64) (fresh []beagle.Record, told string, err error) {
	return corpus.Alike(ctx, n.unit, n.lab.builder, n.lab.box, n.corpus(), freshInputs, seed)
}

// facets describe all recorded inputs.
func (n *inputs) facets() *beagle.Facets { return &n.corpus().Facets }

// isPrivate reports whether models may not see a candidate: captured values leave the machine as
// shapes only, and this candidate holds some, as a version for the frequent case does.
func (n *inputs) isPrivate(c beagle.Candidate) bool {
	if !n.spec.Models.On() || !n.spec.Redacted() {
		return false
	}
	e := llm.Briefing{Redact: true, Target: &n.unit.Target, Facets: n.facets()}
	return e.Leaks(c.Source)
}

// commonClasses returns the classes that the search times. They depend on the training inputs,
// which never change.
func (n *inputs) commonClasses() ([]corpus.InputClass, error) {
	n.common.once.Do(func() {
		all, err := corpus.InputClasses(n.corpus())
		all = slices.DeleteFunc(all, func(c corpus.InputClass) bool { return c.Share < commonClass })
		inorder.By(all, func(a, b corpus.InputClass) int { return cmp.Compare(a.Share, b.Share) })
		n.common.list, n.common.err = all[:min(len(all), searchClasses)], err
	})
	return n.common.list, n.common.err
}

// summary describes the corpus of this name for a report.
func (n *inputs) summary(id string) beagle.CorpusSummary {
	c := n.corpus()
	return beagle.CorpusSummary{
		ID: id, Train: len(c.Train), Holdout: len(c.Holdout), Generated: len(c.Generated), Calls: c.Calls,
		Dropped: c.Dropped, DroppedWhy: c.DroppedWhy, GeneratedOnly: c.GeneratedOnly, Sources: c.Sources,
		Facets: c.Facets,
	}
}

// unmade marks an error of the user's inputs as one that evidence in place may avoid.
func unmade(err error) error {
	var usage *beagle.UsageError
	if errors.As(err, &usage) {
		return noCorpus{usage}
	}
	return err
}

// maxReason bounds the reasons for dropped calls that a message repeats.
const maxReason = 200
