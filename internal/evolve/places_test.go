package evolve

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

// A spread is a target with one mutator that gains a little at each of several places, among others
// that gain nothing.
type spread struct {
	rng *rand.Rand
}

const (
	spreadPlaces = 4
	spreadGain   = 0.02 // of the mutator at one place
	spreadOthers = 20
	spreadNoise  = 0.015 // of a measured logarithm
)

// moves returns what can come next: each mutator at the places where it was not taken.
func (x *spread) moves(steps []beagle.Step) (out []beagle.Move) {
	left := spreadPlaces - len((&Member{Steps: steps}).stepsOf("everywhere"))
	for site := range left {
		out = append(out, beagle.Move{Mutator: "everywhere", Site: site, Weight: 0.1})
	}
	for i := range spreadOthers {
		if name := fmt.Sprint("other ", i); len((&Member{Steps: steps}).stepsOf(name)) == 0 {
			out = append(out, beagle.Move{Mutator: name, Weight: 0.1})
		}
	}
	return out
}

// evaluate makes the candidate of a proposal and measures it.
func (x *spread) evaluate(s *Search, p Proposal) Feedback {
	steps := slices.Clone(s.index[p.Parent].Steps)
	take := func(mutator, site string) {
		of := (&Member{Steps: steps}).stepsOf(mutator)
		most := 1
		if mutator == "everywhere" {
			most = spreadPlaces
		}
		for i := range most {
			name := fmt.Sprint("place ", i)
			taken := slices.ContainsFunc(of, func(st beagle.Step) bool { return st.Site == name })
			if !taken && (site == "" || site == name) {
				steps = append(steps, beagle.Step{Mutator: mutator, Site: name})
				return
			}
		}
	}
	if p.Move != nil {
		take(p.Move.Mutator, "")
	}
	for _, w := range p.Then {
		take(w.Mutator, w.Site)
	}
	if len(steps) == len(s.index[p.Parent].Steps) {
		return Feedback{Proposal: p.ID}
	}
	var names []string
	for _, st := range steps {
		names = append(names, st.Mutator+" at "+st.Site)
	}
	slices.Sort(names)
	c := beagle.NewCandidate("package p // "+strings.Join(names, ", "), []string{p.Parent}, steps)
	n := len((&Member{Steps: steps}).stepsOf("everywhere"))
	point := math.Exp(spreadGain*float64(n) + spreadNoise*x.rng.NormFloat64())
	return Feedback{Proposal: p.ID, Candidate: c, Moves: x.moves(steps), Verdict: beagle.Verdict{
		Status: beagle.Equal, Screen: &beagle.Ratio{Low: point * 0.99, Point: point, High: point * 1.01},
	}}
}

// TestOneRewriteAtAllPlaces checks that a search finds a rewrite whose gain at one place is too
// small to see, and at all of them is not.
func TestOneRewriteAtAllPlaces(t *testing.T) {
	found := 0
	for seed := range uint64(seeds) {
		x := &spread{rng: rand.New(rand.NewPCG(seed, 11))}
		s := New(Config{Seed: seed, Budget: 60})
		s.Add(beagle.NewCandidate("package p", nil, nil), beagle.Verdict{Status: beagle.Equal}, x.moves(nil))
		for !s.Done() {
			var told []Feedback
			for _, p := range s.Ask(12) {
				told = append(told, x.evaluate(s, p))
			}
			if err := s.Tell(told); err != nil {
				t.Fatal(err)
			}
		}
		if s.Best().times("everywhere") >= spreadPlaces-1 {
			found++
		}
	}
	if found < 24 {
		t.Errorf("%d of %d searches take the rewrite at nearly all places", found, seeds)
	}
}
