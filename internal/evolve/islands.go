package evolve

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// maxStack bounds the mutators that a proposal stacks unjudged, and maxPlaces the steps that it
// takes of one of them; maxCross bounds the mutators whose judged steps it takes over from other
// lineages.
const (
	maxStack  = 4
	maxPlaces = 4
	maxCross  = 12
)

// A breeder makes the proposals of the rules for islands.
type breeder struct {
	config     *Config
	agenda     *agenda
	population *population
	merits     *merits
	authors    *authors
	asked      map[string]bool // proposals by content
	rng        *rand.Rand
}

// onIsland returns a new proposal for an island.
func (br *breeder) onIsland(island int) (Proposal, bool) {
	for _, k := range br.kinds() {
		p, ok := br.tryKind(k, island)
		if ok {
			p.Island, p.Kind = island, k
			return p, true
		}
	}
	return Proposal{}, false
}

func (br *breeder) tryKind(k Kind, island int) (Proposal, bool) {
	switch k {
	case Cross:
		return br.cross(island)
	case Sibling:
		return br.sibling(island)
	case Prune:
		return br.prune()
	case Step:
		return br.grow(island, 1)
	}
	return br.grow(island, maxStack)
}

// kinds returns all kinds in a drawn order, by the progress of the search and the earnings of
// each kind. A search first has to learn the moves, then to try their combinations, and in the
// end to take useless steps away.
func (br *breeder) kinds() []Kind {
	weight := map[Kind]float64{
		Step: stepWeight, Stack: stackWeight, Cross: crossWeight, Sibling: siblingWeight,
	}
	progress := float64(br.agenda.Spent+len(br.agenda.Pending)) / float64(br.config.Budget)
	switch {
	case progress < combineFrom:
		weight[Cross], weight[Sibling] = 0, 0
	case progress > pruneMostly:
		weight[Prune] = lastPruneWeight
	case progress > pruneFrom:
		weight[Prune] = pruneWeight
	}
	draw := map[Kind]float64{}
	order := []Kind{Step, Stack, Cross, Sibling, Prune}
	for _, k := range order {
		// A race of exponential clocks: k is first with a probability
		// proportional to its rate.
		draw[k] = br.rng.ExpFloat64() / (weight[k]*br.merits.earnings(k).worth() + 1e-6)
	}
	inorder.By(order, func(a, b Kind) int { return cmp.Compare(draw[a], draw[b]) })
	return order
}

// parents returns the elites of an island in a drawn order. Fast elites are likely to come first,
// as are those with few proposals, and those with many steps: they are further on the way to a
// combination. It leaves out members that descend from a reply from which the rules have made
// enough.
func (br *breeder) parents(island int) []*Member {
	elites := slices.DeleteFunc(br.population.elites(island), br.authors.crowded)
	if shun := br.shunned(island); shun != "" {
		elites = slices.DeleteFunc(elites, func(m *Member) bool { return m.has(shun) })
	}
	top := math.Inf(-1)
	for _, m := range elites {
		top = max(top, m.Score)
	}
	draw := map[*Member]float64{}
	for _, m := range elites {
		w := math.Exp((m.Score-top)/parentSpread+perTaken*float64(len(m.Steps))) / float64(1+m.Asked)
		draw[m] = br.rng.ExpFloat64() / (w + 1e-9)
	}
	inorder.By(elites, func(a, b *Member) int { return cmp.Compare(draw[a], draw[b]) })
	return elites
}

// shunned returns the mutator that an island must do without. When the search stands still, the
// last island looks for gains that the best candidate's most profitable step may exclude.
func (br *breeder) shunned(island int) string {
	if br.agenda.SinceBest == 0 || island == 0 || island != br.config.Islands-1 {
		return ""
	}
	top, name := dominant, ""
	for _, st := range br.population.Best().Steps {
		if g := br.merits.gain(st.Mutator); g > top {
			top, name = g, st.Mutator
		}
	}
	return name
}

// grow stacks up to depth untried moves on a member of the island.
func (br *breeder) grow(island, depth int) (Proposal, bool) {
	for _, m := range br.parents(island) {
		if p, ok := br.growOn(m, depth, br.shunned(island)); ok && !br.asked[p.key()] {
			m.Asked++
			return p, true
		}
	}
	return Proposal{}, false
}

// growOn stacks up to depth untried moves on a member, if it has any. A stack of d moves is worth d
// moves if it behaves: it ends where one more would cost more than it adds. A suspect goes alone. A
// stack takes each mutator at several places at once, since what a rewrite gains at
// one of them may be too little to see, and it behaves at all of them or at none.
func (br *breeder) growOn(m *Member, depth int, shun string) (p Proposal, ok bool) {
	opts := br.options(m, shun)
	if len(opts) == 0 {
		return p, false
	}
	m.Tried = append(m.Tried, opts[0].move)
	mv := m.Moves[opts[0].move]
	p = Proposal{Parent: m.ID, Move: &mv}
	if depth == 1 || br.merits.behaves(mv.Mutator) < goesAlone {
		return p, true
	}
	p.Then = append(p.Then, repeated(mv.Mutator, m.places(mv.Mutator)-1)...)
	for d := 1; d < min(depth, len(opts)); d++ {
		if br.merits.behaves(opts[d].mutator) < float64(d)/float64(d+1) {
			break
		}
		p.Then = append(p.Then, repeated(opts[d].mutator, m.places(opts[d].mutator))...)
	}
	return p, true
}

// repeated wishes for a number of steps of a mutator, each wherever it fits.
func repeated(mutator string, times int) []Wish {
	return slices.Repeat([]Wish{{Mutator: mutator}}, times)
}

// An option is a mutator that could come next on a member, with one of its
// untried moves there.
type option struct {
	mutator string
	move    int // index into the member's Moves
	value   float64
	weight  float64 // of all moves among which it was drawn
}

// options returns the mutators that could come next on a member, the most promising first.
func (br *breeder) options(m *Member, shun string) []option {
	var out []option
	at := map[string]int{}
	for i, mv := range m.Moves {
		if mv.Mutator == shun || slices.Contains(m.Tried, i) || br.merits.hopeless(mv.Mutator) ||
			br.merits.arm(mv.Mutator).None > 3 {
			continue
		}
		j, seen := at[mv.Mutator]
		switch {
		case !seen:
			at[mv.Mutator] = len(out)
			out = append(out, option{mutator: mv.Mutator, move: i, value: br.value(m, mv.Mutator), weight: mv.Weight})
		default: // each with a probability proportional to its weight
			if out[j].weight += mv.Weight; br.rng.Float64()*out[j].weight < mv.Weight {
				out[j].move = i
			}
		}
	}
	inorder.By(out, func(a, b option) int { return cmp.Compare(b.value, a.value) })
	return out
}

// places returns at how many places of a member a mutator applies, at most maxPlaces.
func (m *Member) places(mutator string) int {
	sites := map[int]bool{}
	for _, mv := range m.Moves {
		if mv.Mutator == mutator {
			sites[mv.Site] = true
		}
	}
	return min(len(sites), maxPlaces)
}

// value returns a drawn estimate of a mutator's gain on a member. Untested mutators come first, and
// those under test wait for the result. The more often a member has a mutator, the less is left for
// it to gain.
func (br *breeder) value(m *Member, mutator string) float64 {
	v := br.merits.draw(mutator) + perDoubt*math.Log(br.merits.behaves(mutator))
	if !br.merits.arm(mutator).tested() {
		v += untestedBonus
	}
	v -= perRepeat * float64(m.times(mutator))
	return v - perPending*float64(br.agenda.countPending(mutator))
}

func (ag *agenda) countPending(mutator string) int {
	n := 0
	for _, p := range ag.Pending {
		if p.Move != nil && p.Move.Mutator == mutator ||
			slices.ContainsFunc(p.Then, func(w Wish) bool { return w.Mutator == mutator }) {
			n++
		}
	}
	return n
}

// cross takes over steps from all other lineages at once. It draws the gain of each step that has
// behaved, and takes those that are not clearly negative. Steps without a gain come along, since
// their worth in combination is unknown.
func (br *breeder) cross(island int) (Proposal, bool) {
	shun := br.shunned(island)
	for _, m := range br.parents(island) {
		if br.rng.Float64() < fromRoot {
			m = br.population.index[br.population.Root]
		}
		p := Proposal{Parent: m.ID, Then: br.transplants(m, shun)}
		if len(p.Then) > 0 && !br.asked[p.key()] {
			m.Asked++
			return p, true
		}
	}
	return Proposal{}, false
}

// transplants returns the steps that a member lacks, of the mutators that promise the most gain.
func (br *breeder) transplants(m *Member, shun string) []Wish {
	type transplant struct {
		steps []beagle.Step // of one mutator
		gain  float64
	}
	var ts []transplant
	for _, steps := range br.population.known.best {
		mutator := steps[0].Mutator
		if steps = m.lacks(steps); mutator == shun || len(steps) == 0 {
			continue
		}
		if g := br.merits.draw(mutator); g > leastCross {
			ts = append(ts, transplant{steps, g})
		}
	}
	inorder.By(ts, func(a, b transplant) int { return cmp.Compare(b.gain, a.gain) })
	var out []Wish
	for _, t := range ts[:min(len(ts), maxCross)] {
		for _, st := range t.steps {
			out = append(out, wish(st))
		}
	}
	return out
}

// lacks returns those of some steps of one mutator that a member lacks, at most as many as it has
// fewer of them.
func (m *Member) lacks(steps []beagle.Step) []beagle.Step {
	fewer := len(steps) - m.times(steps[0].Mutator)
	has := func(st beagle.Step) bool { return slices.Contains(m.Steps, st) }
	out := slices.DeleteFunc(slices.Clone(steps), has)
	return out[:max(0, min(fewer, len(out)))]
}

func wish(st beagle.Step) Wish { return Wish{Mutator: st.Mutator, Site: st.Site, Param: st.Param} }

// sibling makes a member again with another parameter at one of its steps, the most profitable step
// first. It takes a new parameter before those of other members.
func (br *breeder) sibling(island int) (Proposal, bool) {
	for _, m := range br.parents(island) {
		steps := m.stepsAfterBase()
		for _, i := range br.merits.byGain(steps) {
			for _, w := range br.otherParams(steps[len(steps)-1-i]) {
				p := br.population.replay(m, nil)
				p.Then[len(steps)-1-i] = w
				if !br.asked[p.key()] {
					m.Asked++
					return p, true
				}
			}
		}
	}
	return Proposal{}, false
}

// otherParams returns the other parameters that a step could have.
func (br *breeder) otherParams(st beagle.Step) []Wish {
	known := br.population.known.params[st.Mutator]
	var out []Wish
	if len(known) < br.merits.arm(st.Mutator).Params {
		out = append(out, Wish{Mutator: st.Mutator, Site: st.Site, Not: slices.Clone(known)})
	}
	for _, param := range known {
		if param != st.Param {
			out = append(out, Wish{Mutator: st.Mutator, Site: st.Site, Param: param})
		}
	}
	return out
}

// prune makes the best candidate again without some of its steps.
func (br *breeder) prune() (Proposal, bool) {
	b := br.population.Best()
	if len(b.stepsAfterBase()) < 2 || b.Score < pruneScore {
		return Proposal{}, false
	}
	for _, drop := range br.drops(b) {
		if len(drop) == 0 || len(drop) == len(b.stepsAfterBase()) {
			continue
		}
		if p := br.population.replay(b, drop); !br.asked[p.key()] {
			return p, true
		}
	}
	return Proposal{}, false
}

// drops returns sets of steps, by index, that the best candidate may not need: the steps that
// another member about as fast lacks, those without an estimated gain, the poorer half, then three
// at a time, and then each one alone.
func (br *breeder) drops(b *Member) [][]int {
	var out [][]int
	for _, m := range br.population.aboutAsFast(b) {
		out = append(out, lacking(b, m))
	}
	steps := b.stepsAfterBase()
	order := br.merits.byGain(steps)
	out = append(out,
		slices.DeleteFunc(slices.Clone(order), func(i int) bool { return br.merits.gain(steps[i].Mutator) > dropGain }))
	out = append(out, order[:len(order)/2])
	for chunk := range slices.Chunk(order, 3) {
		out = append(out, chunk)
	}
	for _, i := range order {
		out = append(out, []int{i})
	}
	return out
}

// maxNear bounds the members about as fast as the best that drops compares.
const maxNear = 64

// aboutAsFast returns the members about as fast as another, the best first.
func (pop *population) aboutAsFast(b *Member) []*Member {
	var out []*Member
	for _, m := range pop.Members {
		if m.Score > b.Score-neutral {
			out = append(out, m)
		}
	}
	inorder.By(out, func(a, b *Member) int { return cmp.Compare(b.fitness(), a.fitness()) })
	return out[:min(len(out), maxNear)]
}

// lacking returns the loose steps of b, by index, that another member lacks.
func lacking(b, other *Member) []int {
	var out []int
	for i, st := range b.stepsAfterBase() {
		if !slices.Contains(other.Steps, st) {
			out = append(out, i)
		}
	}
	return out
}

// byGain returns the indices of the steps, the least profitable first.
func (ms *merits) byGain(steps []beagle.Step) []int {
	order := make([]int, len(steps))
	for i := range order {
		order[i] = i
	}
	inorder.By(order, func(i, j int) int {
		return cmp.Compare(ms.gain(steps[i].Mutator), ms.gain(steps[j].Mutator))
	})
	return order
}

// replay makes a member again from its base, without the steps to drop.
func (pop *population) replay(m *Member, drop []int) Proposal {
	p := Proposal{Parent: pop.base(m).ID, Mate: m.ID}
	for i, st := range m.stepsAfterBase() {
		if !slices.Contains(drop, i) {
			p.Then = append(p.Then, wish(st))
		}
	}
	return p
}
