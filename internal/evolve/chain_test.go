package evolve

import (
	"fmt"
	"testing"

	"github.com/beagle-go/beagle"
)

// TestChain checks that a search follows a chain of steps, each of which only the one before makes
// possible: the version to go on from lives on one island, and the others have nothing to try.
func TestChain(t *testing.T) {
	const length = 5
	for seed := range uint64(20) {
		s := New(Config{Seed: seed, Strategy: Islands, Budget: 20})
		move := func(n int) []beagle.Move {
			return []beagle.Move{{Mutator: fmt.Sprint("step ", n), Weight: 0.1}}
		}
		s.Add(beagle.NewCandidate("package p", nil, nil), beagle.Verdict{Status: beagle.Equal}, move(0))
		for rounds := 0; !s.Done() && rounds < 100; rounds++ {
			var told []Feedback
			for _, p := range s.Ask(4) {
				if p.Move == nil {
					told = append(told, Feedback{Proposal: p.ID})
					continue
				}
				var n int
				if _, err := fmt.Sscanf(p.Move.Mutator, "step %d", &n); err != nil {
					t.Fatal(err)
				}
				c := beagle.NewCandidate(fmt.Sprintf("package p // %d", n+1), []string{p.Parent},
					[]beagle.Step{{Mutator: p.Move.Mutator}})
				v := beagle.Verdict{Status: beagle.Equal}
				o := Feedback{Proposal: p.ID, Candidate: c, Verdict: v}
				if n+1 < length {
					o.Moves = move(n + 1)
				}
				told = append(told, o)
			}
			if err := s.Tell(told); err != nil {
				t.Fatal(err)
			}
		}
		if s.Spent != length {
			t.Errorf("seed %d: %d of %d steps", seed, s.Spent, length)
		}
	}
}
