package evolve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

// TestFellBesideOthers checks that a move which fell in a stack is tried again without the others:
// here four moves of five break every candidate, and the fifth is the gain.
func TestFellBesideOthers(t *testing.T) {
	for seed := range uint64(40) {
		s := New(Config{Seed: seed, Strategy: Islands, Budget: 30})
		var moves []beagle.Move
		for i := range 5 {
			moves = append(moves, beagle.Move{Mutator: fmt.Sprint("step ", i), Weight: 0.1})
		}
		s.Add(beagle.NewCandidate("package p", nil, nil), beagle.Verdict{Status: beagle.Equal}, moves)
		for rounds := 0; !s.Done() && rounds < 100; rounds++ {
			var told []Feedback
			for _, p := range s.Ask(4) {
				told = append(told, fifthAlone(s, p, moves))
			}
			if err := s.Tell(told); err != nil {
				t.Fatal(err)
			}
		}
		if !s.Best().has("step 4") {
			t.Errorf("seed %d: %d candidates without the only move that behaves", seed, s.Spent)
		}
	}
}

// fifthAlone says what comes of a proposal: only the fifth move behaves.
func fifthAlone(s *Search, p Proposal, moves []beagle.Move) Feedback {
	steps := slices.Clone(s.index[p.Parent].Steps)
	if p.Move != nil {
		steps = append(steps, beagle.Step{Mutator: p.Move.Mutator})
	}
	for _, w := range p.Then {
		if !slices.ContainsFunc(steps, func(st beagle.Step) bool { return st.Mutator == w.Mutator }) {
			steps = append(steps, beagle.Step{Mutator: w.Mutator})
		}
	}
	var names []string
	for _, st := range steps {
		names = append(names, st.Mutator)
	}
	c := beagle.NewCandidate("package p // "+strings.Join(names, ", "), []string{p.Parent}, steps)
	if slices.ContainsFunc(names, func(n string) bool { return n != "step 4" }) {
		return Feedback{Proposal: p.ID, Candidate: c, Verdict: beagle.Verdict{Status: beagle.Forbidden}}
	}
	return Feedback{Proposal: p.ID, Candidate: c, Verdict: beagle.Verdict{
		Status: beagle.Equal, Screen: &beagle.Ratio{Low: 1.2, Point: 1.25, High: 1.3},
	}, Moves: moves[:4]}
}
