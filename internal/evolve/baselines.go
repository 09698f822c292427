package evolve

import (
	"slices"
)

// independent stacks one to four moves on the original, drawn by weight. It learns nothing, so it
// shows the gain from luck and the number of tries alone.
func (s *Search) independent() (Proposal, bool) {
	root := s.population.index[s.population.Root]
	if len(root.Moves) == 0 {
		return Proposal{}, false
	}
	for range 100 { // draw again what was drawn before
		mv := root.Moves[s.byWeight(root)]
		p := Proposal{Kind: Step, Parent: root.ID, Move: &mv}
		for range s.rng.IntN(maxStack) {
			p.Kind = Stack
			p.Then = append(p.Then, Wish{Mutator: root.Moves[s.byWeight(root)].Mutator})
		}
		if !s.Asked[p.key()] {
			return p, true
		}
	}
	return Proposal{}, false
}

// byWeight draws a move. A constant is added to each weight, so that moves on lines without samples
// get a chance too.
func (s *Search) byWeight(m *Member) int {
	total := 0.0
	for _, mv := range m.Moves {
		total += mv.Weight + unweighted
	}
	x := s.rng.Float64() * total
	for i, mv := range m.Moves {
		if x -= mv.Weight + unweighted; x < 0 {
			return i
		}
	}
	return len(m.Moves) - 1
}

// greedyStep takes the untried move of the current candidate with the highest
// weight.
func (s *Search) greedyStep() (Proposal, bool) {
	cur := s.population.index[s.Current]
	next := -1
	for i, mv := range cur.Moves {
		if !slices.Contains(cur.Tried, i) && (next < 0 || mv.Weight > cur.Moves[next].Weight) {
			next = i
		}
	}
	if next < 0 {
		return Proposal{}, false
	}
	cur.Tried = append(cur.Tried, next)
	mv := cur.Moves[next]
	return Proposal{Kind: Step, Parent: cur.ID, Move: &mv}, true
}

// gate is the least gain of a step to be believed, as in a search that accepts improvements only.
const gate = 0.03

func (s *Search) stepTo(m *Member) {
	if m.Score > s.population.index[s.Current].Score+gate {
		s.Current = m.ID
	}
}
