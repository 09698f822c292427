package evolve

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/beagle-go/beagle"
)

// merits holds the worth of mutators and of kinds of proposals on this target.
type merits struct {
	Arms  map[string]*arm    `json:"arms"` // by mutator
	Kinds map[Kind]*earnings `json:"kinds"`

	sums     *sums   // over the members
	fitted   *fit    // nil when the members or Arms changed since
	behaving float64 // of behavingShare; 0 when the members or Arms changed since
	rng      *rand.Rand
}

// An arm holds the record of a mutator on this target, apart from its gain, which the fit
// estimates.
type arm struct {
	Prior  float64 `json:"prior"`  // highest Move.Weight seen
	Params int     `json:"params"` // parameters seen at one site
	OK     float64 `json:"ok"`     // candidates with it that behave
	Bad    float64 `json:"bad"`    // its share of the blame for those that do not
	Alone  int     `json:"alone"`  // of those, the ones whose only new step it was
	None   int     `json:"none"`   // times that it fitted nowhere
}

// earnings holds the tries and gains of a kind of proposal.
type earnings struct {
	Tries  float64 `json:"tries"`
	Earned float64 `json:"earned"`
}

func (ms *merits) arm(mutator string) *arm {
	a := ms.Arms[mutator]
	if a == nil {
		a = &arm{}
		ms.Arms[mutator] = a
		ms.forgetFit()
	}
	return a
}

func (ms *merits) earnings(k Kind) *earnings {
	l := ms.Kinds[k]
	if l == nil {
		l = &earnings{}
		ms.Kinds[k] = l
	}
	return l
}

// tested reports whether some candidate has shown how the mutator behaves.
func (a *arm) tested() bool { return a.OK+a.Bad > 0 }

// priorGain returns the rule author's estimate of the gain, reduced because such estimates are too
// high.
func (a *arm) priorGain() float64 { return min(maxPrior, priorTrust*math.Log1p(a.Prior)) }

// behaves returns the probability that a step of this mutator leaves a candidate correct. A new
// mutator is assumed to be like the others on this target.
func (ms *merits) behaves(mutator string) float64 {
	const trust = 0.8 // in the others, as a number of observations; little, because mutators behave always or never
	a := ms.arm(mutator)
	return (a.OK + trust*ms.behavingShare()) / (a.OK + a.Bad + trust)
}

// credit enters feedback on the mutators of its new steps and on its kind.
func (s *Search) credit(p Proposal, o *Feedback) {
	s.creditKind(p, o)
	if p.fromOutside() {
		return // its account has it
	}
	steps := newSteps(s.population.index[p.Parent], o.Candidate.Steps)
	if !o.Verdict.OK() {
		s.merits.blame(steps)
		s.retry(p, steps)
		return
	}
	for _, st := range steps {
		s.merits.arm(st.Mutator).OK++
	}
}

// newSteps returns the steps of a candidate after its parent's.
func newSteps(parent *Member, steps []beagle.Step) []beagle.Step {
	return steps[min(len(parent.Steps), len(steps)):]
}

// blame divides a failure among the mutators, in proportion to their earlier chances of failing.
func (ms *merits) blame(steps []beagle.Step) {
	total, shares := 0.0, make([]float64, len(steps))
	for i, st := range steps {
		shares[i] = 1 - ms.behaves(st.Mutator) + 1e-6
		total += shares[i]
	}
	for i, st := range steps {
		ms.arm(st.Mutator).Bad += shares[i] / total
		if len(steps) == 1 {
			ms.arm(st.Mutator).Alone++
		}
	}
}

// hopeless reports whether the search gives up a mutator: it breaks most candidates, and it broke
// one as the only new step. A mutator that only failed beside others may owe its blame to them.
func (ms *merits) hopeless(mutator string) bool {
	return ms.behaves(mutator) < hopeless && ms.arm(mutator).Alone > 0
}

// retry allows a move to be tried on its parent again, after it failed in a stack.
func (s *Search) retry(p Proposal, steps []beagle.Step) {
	parent := s.population.index[p.Parent]
	if parent == nil || p.Move == nil || len(steps) < 2 || s.merits.arm(p.Move.Mutator).Alone > 0 {
		return
	}
	parent.Tried = slices.DeleteFunc(parent.Tried, func(i int) bool { return parent.Moves[i] == *p.Move })
}

// neutral bounds how much slower than its parent a stepping stone may be.
const neutral = 0.05

// creditKind credits a kind with a new best, and a little with a stepping stone.
func (s *Search) creditKind(p Proposal, o *Feedback) {
	l := s.merits.earnings(p.Kind)
	l.Tries++
	if !o.Verdict.OK() {
		return
	}
	sc := score(&o.Verdict)
	switch {
	case sc > s.population.Best().Score+news:
		l.Earned++
	case p.Kind != Prune && sc > s.population.index[p.Parent].Score-neutral:
		l.Earned += steppingStone
	}
}

// worth estimates the earnings of one more try of a kind.
func (l *earnings) worth() float64 { return (l.Earned + 1) / (l.Tries + 2) }

func (m *Member) has(mutator string) bool {
	return slices.ContainsFunc(m.Steps, func(st beagle.Step) bool { return st.Mutator == mutator })
}

// times returns how many steps of a mutator led to a member.
func (m *Member) times(mutator string) int {
	n := 0
	for _, st := range m.Steps {
		if st.Mutator == mutator {
			n++
		}
	}
	return n
}
