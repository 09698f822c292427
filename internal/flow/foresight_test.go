package flow

import (
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/store"
)

// TestForesight makes a generation ahead from the verdicts that the search is told later. The
// search goes the same way as its fork, and no rule rewrites anything again.
func TestForesight(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var rewrites atomic.Int64
	acts, x := plantedSession(t, plantedUnit(t), s, func(string) {}, func(function string) {
		if function == "Rewrite" {
			rewrites.Add(1)
		}
	})
	spec := Defaults()
	spec.Batch = 4
	ready := x.preparer.ready
	ready.RootID, ready.Root = x.works.root.ID, beagle.Verdict{Candidate: x.works.root.ID, Status: beagle.Equal}
	ready.Moves, _ = x.rewriter.moves(x.works.root)
	c := NewCourse(&spec, ready)

	// Evaluate the first generation on paper.
	first := filled(t, acts, c, spec.Batch)
	var evaluated []Evaluation
	for i, id := range first.Candidates() {
		k, err := x.works.candidate(id)
		if err != nil {
			t.Fatal(err)
		}
		e := Evaluation{Candidate: id, Parents: k.Parents, Steps: k.Steps}
		point := 1.1 + float64(i)/10
		e.Verdict = beagle.Verdict{
			Candidate: id, Status: beagle.Equal, Stage: "screen",
			Screen: &beagle.Ratio{Point: point, Low: point - 0.01, High: point + 0.01},
		}
		e.Moves, _ = x.rewriter.moves(k)
		evaluated = append(evaluated, e)
	}

	// Make the second generation ahead: not at all once its time is over, else wholly.
	before := state(t, c.Search)
	foreseen := func() *Course {
		next, err := c.Foreseen(&spec, first, evaluated)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	made := rewrites.Load()
	single := NewCourse(&spec, ready)
	single.Search.Config.Strategy = evolve.Greedy // its proposals are of one step
	for _, late := range []*Course{foreseen(), single} {
		asked := 0
		x.rewriter.makeAhead(late, spec.Batch, false, func() bool {
			asked++
			return true
		})
		if rewrites.Load() != made || asked != 1 {
			t.Errorf("after its time a generation was made further: %d rewrites, asked %d times",
				rewrites.Load()-made, asked)
		}
	}
	next := foreseen()
	x.rewriter.makeAhead(next, spec.Batch, false, func() bool { return false })
	if rewrites.Load() == made {
		t.Error("nothing was made ahead")
	}
	if state(t, c.Search) != before {
		t.Error("the foresight changed the search")
	}

	// Make it in the search.
	made = rewrites.Load()
	if err := c.Tell(&spec, first, &EvaluatedBatch{Candidates: evaluated}, 0); err != nil {
		t.Fatal(err)
	}
	second := filled(t, acts, c, spec.Batch)
	if len(second.Made) == 0 || rewrites.Load() != made {
		t.Errorf("%d candidates, for which the rule rewrote %d times more", len(second.Made), rewrites.Load()-made)
	}
	if state(t, next.Search) != state(t, c.Search) {
		t.Error("the search went another way than its fork")
	}
}

// filled returns a draft of a course, filled as a driver does.
func filled(t *testing.T, acts *Activities, c *Course, batch int) *Draft {
	t.Helper()
	d := &Draft{Full: batch}
	err := c.fill(d, false, func(asked []evolve.Proposal) ([]ProposalOutcome, error) {
		return acts.Propose(t.Context(), "abc", asked)
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func state(t *testing.T, s *evolve.Search) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
