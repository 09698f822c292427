package evolve

import (
	"slices"

	"github.com/beagle-go/beagle"
)

// A Member is a candidate of the population.
type Member struct {
	ID      string        `json:"id"`
	Steps   []beagle.Step `json:"steps,omitempty"`
	Moves   []beagle.Move `json:"moves,omitempty"`
	Tried   []int         `json:"tried,omitempty"`   // indices into Moves
	Score   float64       `json:"score"`             // logarithm of the low end of the ratio
	Point   float64       `json:"point,omitempty"`   // the screened ratio; 0 if there is none
	High    float64       `json:"high,omitempty"`    // the upper end of that ratio
	Reading int           `json:"reading,omitempty"` // the effort to read its source
	Island  int           `json:"island"`            // where it arrived
	Kind    Kind          `json:"kind,omitempty"`    // of its proposal
	Cell    string        `json:"cell"`
	Asked   int           `json:"asked"`            // proposals made from it
	Ground  float64       `json:"ground,omitempty"` // score of the base
	Bred    float64       `json:"bred,omitempty"`   // the best score of its children
	Private bool          `json:"private,omitempty"`
	// the last candidate by a model on the way here; empty for the original
	Base string `json:"base,omitempty"`
}

func newMember(c beagle.Candidate, v beagle.Verdict, moves []beagle.Move) *Member {
	point, high := 0.0, 0.0
	if v.Screen != nil {
		point, high = v.Screen.Point, v.Screen.High
	}
	return &Member{
		Point: point,
		High:  high,
		ID:    c.ID,
		Steps: slices.Clone(c.Steps),
		Moves: slices.Clone(moves),
		Score: score(&v),
		Cell:  cell(c, &v),
		Base:  baseOf(c.Steps),
	}
}

// welcome takes a candidate into the population.
func (s *Search) welcome(m *Member) {
	s.population.Members = append(s.population.Members, m)
	s.population.count(m)
	s.merits.sums.add(m)
	s.merits.forgetFit()
	for _, mv := range m.Moves {
		a := s.merits.arm(mv.Mutator)
		a.Prior, a.Params = max(a.Prior, mv.Weight), max(a.Params, mv.Param+1)
	}
}

// count updates the sums over all members, so that no candidate needs a walk through them.
func (pop *population) count(m *Member) {
	pop.index[m.ID] = m
	pop.known.add(m)
	pop.addKin(m)
	if pop.top == nil || m.fitness() > pop.top.fitness() {
		pop.top = m
	}
}

// perStep is the least gain of a step that is worth reading.
const perStep = 0.01

// news is how much faster a new best must be to change the course.
const news = 0.02

func (m *Member) fitness() float64 { return m.Score - perStep*float64(len(m.Steps)) }

func best(ms []*Member) *Member {
	var b *Member
	for _, m := range ms {
		if b == nil || m.fitness() > b.fitness() {
			b = m
		}
	}
	return b
}
