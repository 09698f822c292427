package evolve

import (
	"slices"

	"github.com/beagle-go/beagle"
)

// knownSteps indexes the steps that members took. It follows from the members and is not part of
// the state.
type knownSteps struct {
	// for each mutator its steps in its best member, in the order of the mutators' first members
	best   [][]beagle.Step
	index  map[string]int
	from   []float64           // fitness of that member
	params map[string][]string // parameters of each mutator, as they were first seen
}

func newKnownSteps() *knownSteps {
	return &knownSteps{index: map[string]int{}, params: map[string][]string{}}
}

func (b *knownSteps) add(m *Member) {
	for _, st := range m.Steps {
		if st.Mutator == ByAuthor {
			continue // no other member can take it over
		}
		if known := b.params[st.Mutator]; !slices.Contains(known, st.Param) {
			b.params[st.Mutator] = append(known, st.Param)
		}
		i, seen := b.index[st.Mutator]
		switch {
		case !seen:
			b.index[st.Mutator] = len(b.best)
			b.best, b.from = append(b.best, m.stepsOf(st.Mutator)), append(b.from, m.fitness())
		case m.fitness() > b.from[i]:
			b.best[i], b.from[i] = m.stepsOf(st.Mutator), m.fitness()
		}
	}
}

// stepsOf returns the steps of a mutator that led to a member.
func (m *Member) stepsOf(mutator string) []beagle.Step {
	return slices.DeleteFunc(slices.Clone(m.Steps), func(st beagle.Step) bool { return st.Mutator != mutator })
}
