package flow

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
)

// The input classes, which a screener times last, change the score of few candidates. So the next
// generation is nearly certain before they are timed, and the processor that times nothing makes it
// ahead. It tells a fork of the search the verdicts so far, asks the fork, and takes the proposed
// steps on the workbench. When the search proposes the same steps, the workbench knows what they
// make. A wrong guess costs idle time alone. A workbench is pure, so a search takes the same way
// with and without foresight, unless a rule fails in a step that the guess alone takes: it is off
// from the next proposal on.

// A Foresee returns the course that a search is likely to take from the verdicts on a batch, and
// whether a generation of trims follows. It returns nil where that is unknown.
type Foresee func(likely []Evaluation) (next *Course, trim bool)

// Foreseen returns the course after these verdicts on a draft, with no log of its candidates. The
// course itself does not change.
func (c *Course) Foreseen(s *Spec, d *Draft, evaluated []Evaluation) (*Course, error) {
	fresh, err := d.feedback(evaluated)
	if err != nil {
		return nil, err
	}
	next := &Course{Search: c.Search.Fork(), Log: Log{Thin: c.Log.Thin}}
	if err := next.Search.Tell(slices.Concat(d.Known, fresh)); err != nil {
		return nil, err
	}
	next.noteThin(s, d)
	return next, nil
}

// An outlook is the work of one processor while another times the entrants of a batch.
type outlook struct {
	screened chan []beagle.Verdict // on the batch, before the input classes are timed
	ended    atomic.Bool
	done     chan struct{}
}

// end ends the foresight, and waits for the next moves of all entrants.
func (l *outlook) end() {
	l.ended.Store(true)
	close(l.screened)
	<-l.done
}

// look finds the next moves of the entrants in the background, one after the other, so that it
// keeps to one processor. Then it makes the next generation ahead, if the caller shows the screened
// verdicts. The caller ends it.
func (b *batchState) look() *outlook {
	live := slices.Clone(b.live)
	l := &outlook{screened: make(chan []beagle.Verdict, 1), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for _, e := range live {
			o := &b.out[e.out]
			o.Moves, o.Without = b.rewriter.moves(e.candidate)
		}
		if verdicts := <-l.screened; verdicts != nil {
			if next, trim := b.foresee(b.likely(verdicts)); next != nil {
				b.rewriter.makeAhead(next, b.spec.Batch, trim, l.ended.Load)
			}
		}
	}()
	return l
}

// showScreened shows the outlook the verdicts so far.
func (b *batchState) showScreened(l *outlook) {
	if b.foresee == nil {
		return
	}
	verdicts := make([]beagle.Verdict, len(b.out))
	for i := range b.out {
		verdicts[i] = b.out[i].Verdict
	}
	l.screened <- verdicts
}

// likely returns the evaluations of the batch with the verdicts so far.
func (b *batchState) likely(verdicts []beagle.Verdict) []Evaluation {
	out := make([]Evaluation, len(b.out))
	for i := range b.out {
		o := &b.out[i]
		out[i] = Evaluation{Candidate: o.Candidate, Parents: o.Parents, Steps: o.Steps}
		out[i].Verdict, out[i].Moves = verdicts[i], o.Moves
	}
	return out
}

// errEnded ends the making of a generation that is not needed.
var errEnded = errors.New("the generation is made no further")

// makeAhead makes the next generation of a course on the workbench, until ended says that its time
// is over. It stores nothing. A rule that fails in a step is off from the next proposal on, as one
// that fails in the search for moves is.
func (rw *rewriter) makeAhead(next *Course, batch int, trim bool, ended func() bool) {
	// An error ends the guess: the search meets it again.
	_ = next.fill(&Draft{Full: batch}, trim, func(asked []evolve.Proposal) ([]ProposalOutcome, error) {
		made := make([]ProposalOutcome, len(asked))
		for _, i := range longestFirst(asked) {
			if ended() {
				return nil, errEnded
			}
			made[i].Proposal = asked[i].ID
			chain, err := rw.proposeUntil(asked[i], ended)
			if errors.Is(err, errEnded) || err != nil && refusalReason(err) == "" {
				return nil, err
			}
			if n := len(chain); err == nil && n > 0 {
				made[i].Candidate = chain[n-1].ID
				rw.unit.Reader.Parse(chain[n-1].Source) // the next look at it finds it read
			}
		}
		return made, nil
	})
}
