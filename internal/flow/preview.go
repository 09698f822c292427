package flow

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
)

// A preview is the first generation of a search, evaluated while the library is still searched for
// the original's pieces. For most functions the library has nothing, and their search begins with
// just these candidates. For the others the verdicts are like those of an earlier run.
type preview struct {
	batch *EvaluatedBatch // nil if there is none, or once the search has it
}

// previewed names the works of a preview. Its candidates are not those of the run: of several ways
// to the same text a run keeps its own first.
const previewed = "-preview"

// fileAside files what follows under a name of its own, until back is called.
func (w *works) fileAside(suffix string) (back func()) {
	run := w.run
	w.run += suffix
	return func() {
		w.run = run
		w.memory.forget()
	}
}

// preview evaluates the first generation of a search to which the library adds nothing, and reports
// its outcome. All its candidates are built at once, but a quarter of them is compared and screened
// before the others, since a user waits for the first verdict. The look-up pauses meanwhile.
func (pr *preparer) preview(ctx context.Context) error {
	// The look-up pauses. The candidates of a preview have a name of their own in the store.
	pr.pause.Lock()
	defer pr.pause.Unlock()
	defer pr.works.fileAside(previewed)()
	// Make the first generation, and evaluate it as a batch.
	start := time.Now()
	c := NewCourse(pr.spec, pr.ready)
	d, err := pr.firstDraft(c)
	if err != nil || len(d.Made) == 0 || len(pr.rewriter.work.guard.Faults()) > 0 {
		return err
	}
	ids := d.Candidates()
	b := pr.screener.begin(ids, len(ids))
	b.early = func(share []entrant) {
		pr.ready.First = time.Since(pr.began).Seconds()
		pr.watch.Note("preview", b.shareText(share))
	}
	if err := b.run(ctx, ids, ids); err != nil {
		return err
	}
	if err := b.keep(); err != nil {
		return err
	}
	// Keep the batch for the search.
	out := &EvaluatedBatch{Candidates: b.out, Cost: b.cost}
	out.Cost.Ahead = time.Since(start)
	if pr.screener.preview.batch = out; pr.ready.First == 0 {
		pr.ready.First = time.Since(pr.began).Seconds()
	}
	pr.watch.Note("preview", previewText(out))
	return nil
}

// firstDraft makes the first generation of the rules.
func (pr *preparer) firstDraft(c *Course) (*Draft, error) {
	d := c.Begin(nil)
	if err := c.Enter(pr.works.run, d, nil, pr.spec.Batch); err != nil {
		return d, err
	}
	return d, c.fill(d, false, func(asked []evolve.Proposal) ([]ProposalOutcome, error) {
		made, chains, err := pr.rewriter.proposeAll(asked)
		if err == nil {
			err = pr.rewriter.putChains(made, chains)
		}
		return made, err
	})
}

// shareText describes the outcome of the share of a batch that has its verdicts.
func (b *batchState) shareText(share []entrant) string {
	out := new(EvaluatedBatch)
	for _, e := range share {
		out.Candidates = append(out.Candidates, b.out[e.out])
	}
	return previewText(out)
}

// previewText describes the outcome of the first generation.
func previewText(out *EvaluatedBatch) string {
	log := new(Log)
	log.Add(out.Candidates, nil, Split{}, 0)
	equal := log.Statuses()[beagle.Equal]
	text := fmt.Sprintf("%d of the first %d versions behave as the original", equal, len(out.Candidates))
	if len(out.Candidates) == 1 && equal == 1 {
		text = "the first version behaves as the original"
	}
	if best := log.Best(); best != nil {
		text += fmt.Sprintf(", the best is about %.2fx as fast", best.Screen.Point)
	}
	return text + "; its pieces are still looked up in the library"
}

// takePreview returns the preview's evaluations of a batch, once; nil for any other batch.
func (s *screener) takePreview(batch, mine []string) (*EvaluatedBatch, error) {
	out := s.preview.batch
	if s.preview.batch = nil; out == nil || len(batch) != len(mine) || len(mine) != len(out.Candidates) {
		return nil, nil
	}
	for i, id := range mine {
		o := &out.Candidates[i]
		if o.Candidate != id {
			return nil, nil
		}
		c, err := s.works.candidate(id)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(c.Parents, o.Parents) || !slices.Equal(c.Steps, o.Steps) || s.rewriter.lacks(o.Without) {
			return nil, nil
		}
	}
	for _, o := range out.Candidates {
		if err := s.works.putVerdict(o); err != nil {
			return nil, err
		}
	}
	return out, nil
}
