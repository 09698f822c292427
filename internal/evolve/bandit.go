package evolve

import (
	"math"
	"slices"

	"github.com/beagle-go/beagle"
)

// An arm is what is known of a mutator on this target.
type arm struct {
	Prior float64 `json:"prior"` // highest Move.Weight seen
	OK    float64 `json:"ok"`    // candidates with it that behave
	Bad   float64 `json:"bad"`   // its share of the blame for those that do not
	None  int     `json:"none"`  // times that it fitted nowhere
}

// A ledger is what a kind of proposal has earned.
type ledger struct {
	Tries  float64 `json:"tries"`
	Earned float64 `json:"earned"`
}

func (s *Search) arm(mutator string) *arm {
	a := s.Arms[mutator]
	if a == nil {
		a = &arm{}
		s.Arms[mutator] = a
	}
	return a
}

func (s *Search) ledger(k Kind) *ledger {
	l := s.Kinds[k]
	if l == nil {
		l = &ledger{}
		s.Kinds[k] = l
	}
	return l
}

func (a *arm) refused() { a.None++ }

// behaves is the probability that a step of this mutator leaves a candidate
// correct: most rewrites do, so the prior is 5 of 6.
func (a *arm) behaves() float64 { return (a.OK + 0.5) / (a.OK + a.Bad + 0.6) }

// tested reports whether anything was learned of it yet.
func (a *arm) tested() bool { return a.OK+a.Bad > 0 }

// priorGain is the rule author's estimate, with the caution that rule authors
// deserve.
func (a *arm) priorGain() float64 { return min(0.4, 0.5*math.Log1p(a.Prior)) }

// credit books an outcome on the mutators of its new steps and on its kind.
// What they gained is for the model to find out.
func (s *Search) credit(p Proposal, o *Outcome) {
	s.creditKind(p, o)
	steps := newSteps(s.index[p.Parent], o.Candidate.Steps)
	if !o.Verdict.OK() {
		s.blame(steps)
		return
	}
	for _, st := range steps {
		s.arm(st.Mutator).OK++
	}
}

// newSteps are the steps that a candidate has beyond its parent's.
func newSteps(parent *Member, steps []beagle.Step) []beagle.Step {
	return steps[min(len(parent.Steps), len(steps)):]
}

// blame shares out a failure by how suspicious each mutator was before.
func (s *Search) blame(steps []beagle.Step) {
	total := 0.0
	for _, st := range steps {
		total += 1 - s.arm(st.Mutator).behaves()
	}
	shares := make([]float64, len(steps))
	for i, st := range steps {
		shares[i] = (1 - s.arm(st.Mutator).behaves()) / total
	}
	for i, st := range steps {
		s.arm(st.Mutator).Bad += shares[i]
	}
}

// without returns the steps that are not in the other list.
func without(steps, other []beagle.Step) []beagle.Step {
	return slices.DeleteFunc(slices.Clone(steps), func(st beagle.Step) bool { return slices.Contains(other, st) })
}

// neutral is how much slower than its parent a candidate may be and still be a
// stepping stone.
const neutral = 0.05

// creditKind pays a kind for new bests, and a little for stepping stones.
func (s *Search) creditKind(p Proposal, o *Outcome) {
	l := s.ledger(p.Kind)
	l.Tries++
	if !o.Verdict.OK() {
		return
	}
	sc := score(&o.Verdict)
	switch {
	case sc > s.Best().Score+0.02:
		l.Earned++
	case sc > s.index[p.Parent].Score-neutral:
		l.Earned += 0.3
	}
}

// worth is what a try of a kind is expected to earn.
func (l *ledger) worth() float64 { return (l.Earned + 1) / (l.Tries + 2) }
