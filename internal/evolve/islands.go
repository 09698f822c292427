package evolve

import (
	"math"
	"slices"

	"github.com/beagle-go/beagle"
)

// maxStack is how many unjudged moves a proposal stacks at most; crosses and
// prunes replay steps that were judged before, and may be longer.
const (
	maxStack  = 4
	maxReplay = 10
)

// onIsland returns a new idea of an island.
func (s *Search) onIsland(island int) (Proposal, bool) {
	for _, k := range s.kinds(island) {
		p, ok := s.tryKind(k, island)
		if ok && !s.Asked[p.key()] {
			p.Island, p.Kind = island, k
			return p, true
		}
	}
	return Proposal{}, false
}

func (s *Search) tryKind(k Kind, island int) (Proposal, bool) {
	switch k {
	case Cross:
		return s.cross(island)
	case Sibling:
		return s.sibling(island)
	case Prune:
		return s.prune()
	case Step:
		return s.grow(island, 1)
	}
	return s.grow(island, maxStack)
}

// kinds returns all kinds in a drawn order: by what they earned here, by the
// island's character, and by how far the search is.
func (s *Search) kinds(island int) []Kind {
	weights := map[Kind]float64{Step: 0.5, Stack: 2, Cross: 1, Sibling: 0.5, Prune: 0}
	progress := float64(s.Spent+len(s.Pending)) / float64(s.Config.Budget)
	switch {
	case progress < 0.2:
		weights[Cross], weights[Sibling] = 0, 0
	case progress > 0.8:
		weights[Prune] = 4
	case progress > 0.5:
		weights[Prune] = 1
	}
	if island == 0 { // one island stays careful: it judges each step alone
		weights[Step], weights[Stack] = 2, 0.5
	}
	order := []Kind{Step, Stack, Cross, Sibling, Prune}
	draw := map[Kind]float64{}
	for _, k := range order {
		w := weights[k] * s.ledger(k).worth()
		draw[k] = s.rng.ExpFloat64() / (w + 1e-6) // exponential race: the first is k with probability proportional to w
	}
	slices.SortStableFunc(order, func(a, b Kind) int { return compare(draw[a], draw[b]) })
	return order
}

// grow stacks untried moves on a member of the island.
func (s *Search) grow(island, depth int) (Proposal, bool) {
	for _, m := range s.parents(island) {
		if p, ok := s.growOn(m, depth); ok {
			return p, true
		}
	}
	return Proposal{}, false
}

// parents are the elites in the order in which to try them: drawn, the fast
// ones more likely first, those that were asked often less.
func (s *Search) parents(island int) []*Member {
	elites := s.elites(island)
	top := best(elites).Score
	draw := map[*Member]float64{}
	for _, m := range elites {
		w := math.Exp((m.Score-top)/0.1) / float64(1+m.Asked)
		draw[m] = s.rng.ExpFloat64() / (w + 1e-9)
	}
	slices.SortStableFunc(elites, func(a, b *Member) int { return compare(draw[a], draw[b]) })
	return elites
}

// An option is a mutator that could come next on a member, with its best
// untried move there.
type option struct {
	mutator string
	move    int // index into the member's Moves
	value   float64
}

func (s *Search) growOn(m *Member, depth int) (Proposal, bool) {
	opts := s.options(m)
	if len(opts) == 0 {
		return Proposal{}, false
	}
	first := opts[0]
	m.Tried = append(m.Tried, first.move)
	m.Asked++
	p := Proposal{Parent: m.ID, Move: &m.Moves[first.move]}
	mv := m.Moves[first.move]
	p.Move = &mv
	for d := 1; d < depth && d < len(opts); d++ {
		// A stack of d is worth d moves if it behaves: stop where one more
		// would cost more than it adds.
		if s.arm(opts[d].mutator).behaves() < float64(d)/float64(d+1) {
			break
		}
		p.Then = append(p.Then, Wish{Mutator: opts[d].mutator})
	}
	return p, true
}

// options are what could come next on a member, the most promising first.
func (s *Search) options(m *Member) []option {
	var out []option
	at := map[string]int{}
	for i, mv := range m.Moves {
		if slices.Contains(m.Tried, i) {
			continue
		}
		j, seen := at[mv.Mutator]
		if !seen {
			at[mv.Mutator] = len(out)
			out = append(out, option{mutator: mv.Mutator, move: i})
		} else if s.rng.Float64()*mv.Weight > s.rng.Float64()*m.Moves[out[j].move].Weight {
			out[j].move = i
		}
	}
	out = slices.DeleteFunc(out, func(o option) bool {
		a := s.arm(o.mutator)
		return a.behaves() < 0.35 || a.None > 3
	})
	for i := range out {
		out[i].value = s.value(m, out[i].mutator)
	}
	slices.SortStableFunc(out, func(a, b option) int { return -compare(a.value, b.value) })
	return out
}

// value is a drawn estimate of what a mutator would add to a member. What was
// never tested comes first, in the order of the rule authors' estimates, and
// what is just being tested waits for the result.
func (s *Search) value(m *Member, mutator string) float64 {
	a := s.arm(mutator)
	v := s.draw(mutator) + math.Log(a.behaves())*0.2
	if !a.tested() {
		v += 0.15
	}
	v -= 0.15 * float64(s.pendingWith(mutator))
	if slices.ContainsFunc(m.Steps, func(st beagle.Step) bool { return st.Mutator == mutator }) {
		v -= 0.15
	}
	return v
}

func (s *Search) pendingWith(mutator string) int {
	n := 0
	for _, p := range s.Pending {
		if p.Move != nil && p.Move.Mutator == mutator || slices.ContainsFunc(p.Then, func(w Wish) bool { return w.Mutator == mutator }) {
			n++
		}
	}
	return n
}

// cross puts the steps of a mate on top of a member of the island. The mate
// may live anywhere; steps that were seen to cost are left out.
func (s *Search) cross(island int) (Proposal, bool) {
	for _, m := range s.parents(island) {
		var found Proposal
		most := 0.0
		for _, mate := range s.Members {
			wishes := s.transplant(m, mate)
			if len(wishes) == 0 {
				continue
			}
			v := 0.1 * s.rng.Float64()
			for _, w := range wishes {
				v += s.gain(w.Mutator) + 0.03
			}
			p := Proposal{Parent: m.ID, Mate: mate.ID, Then: wishes}
			if v > most && !s.Asked[p.key()] {
				found, most = p, v
			}
		}
		if most > 0 {
			m.Asked++
			return found, true
		}
	}
	return Proposal{}, false
}

// transplant are the steps of the mate that the member lacks and that are not
// known to cost.
func (s *Search) transplant(m, mate *Member) []Wish {
	var out []Wish
	for _, st := range without(mate.Steps, m.Steps) {
		has := slices.ContainsFunc(m.Steps, func(o beagle.Step) bool { return o.Mutator == st.Mutator && o.Site == st.Site })
		if !has && s.gain(st.Mutator) > -0.03 && len(out) < maxReplay {
			out = append(out, wish(st))
		}
	}
	return out
}

func wish(st beagle.Step) Wish { return Wish{Mutator: st.Mutator, Site: st.Site, Param: st.Param} }

// sibling makes a good member's lineage again with another parameter at the
// site where its last proposal began.
func (s *Search) sibling(island int) (Proposal, bool) {
	for _, m := range s.parents(island) {
		parent := s.index[m.Parent]
		if m.First == nil || parent == nil {
			continue
		}
		for i, mv := range parent.Moves {
			if mv.Mutator != m.First.Mutator || mv.Site != m.First.Site || slices.Contains(parent.Tried, i) {
				continue
			}
			parent.Tried = append(parent.Tried, i)
			p := Proposal{Parent: parent.ID, Mate: m.ID, Move: &mv}
			for _, st := range newSteps(parent, m.Steps)[1:] {
				p.Then = append(p.Then, wish(st))
			}
			return p, true
		}
	}
	return Proposal{}, false
}

// prune makes the best candidate again without some of its steps: first
// without all that seem to have bought nothing, then without one at a time,
// the least valuable first.
func (s *Search) prune() (Proposal, bool) {
	b := s.Best()
	if len(b.Steps) < 2 {
		return Proposal{}, false
	}
	order := make([]int, len(b.Steps))
	for i := range order {
		order[i] = i
	}
	worth := func(i int) float64 { return s.gain(b.Steps[i].Mutator) }
	slices.SortStableFunc(order, func(i, j int) int { return compare(worth(i), worth(j)) })
	cheap := slices.DeleteFunc(slices.Clone(order), func(i int) bool { return worth(i) > 0.02 })
	tries := [][]int{cheap, order[:len(order)/2]}
	for _, i := range order {
		tries = append(tries, []int{i})
	}
	for _, drop := range tries {
		if len(drop) == 0 || len(drop) == len(b.Steps) {
			continue
		}
		p := Proposal{Parent: s.Root, Mate: b.ID}
		for i, st := range b.Steps {
			if !slices.Contains(drop, i) {
				p.Then = append(p.Then, wish(st))
			}
		}
		if !s.Asked[p.key()] {
			return p, true
		}
	}
	return Proposal{}, false
}
