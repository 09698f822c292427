package evolve

import (
	"cmp"
	"math"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// AsGoodAs returns the least ratio at which a simpler version is preferred to the fastest, whose
// ratio is best. A simpler version may lose 5 % of the speed and a quarter of the gain, in
// logarithms, whichever is less: of a gain of 8 %, 5 % would be most. Without a gain it may lose
// nothing. With fastest set, it may lose only the resolution of a measurement.
func AsGoodAs(best float64, fastest bool) float64 {
	if fastest {
		return 0.995 * best
	}
	return max(0.95*best, min(best, math.Pow(best, keptGain)))
}

const keptGain = 0.75 // of the fastest version's gain, in logarithms

const (
	maxFinalists = 3
	worthATry    = 1.01 // screened ratio below which nothing is measured in full: the accept rule asks for more
)

// trims holds the last generations: the best members without some of their steps.
type trims struct {
	Finals  []string `json:"finals,omitempty"` // the members to trim
	Trims   []Trim   `json:"trims,omitempty"`
	Trimmed int      `json:"trimmed,omitempty"` // generations of trims so far

	config     *Config
	population *population
}

// A Trim is a finalist made again without some of its steps.
type Trim struct {
	Of       string `json:"of"`
	Without  []int  `json:"without"` // of its loose steps, by index
	Proposal int    `json:"proposal"`
	ID       string `json:"id,omitempty"` // the candidate; empty if there is none
	// the member with its machine code, often itself; empty if it does not behave
	As      string        `json:"as,omitempty"`
	Steps   []beagle.Step `json:"steps,omitempty"`
	Reading int           `json:"reading,omitempty"` // the effort to read its source
}

// A Finalist is a candidate to measure in full. Steps is set if a shorter way to its text exists
// than the one that the search found first.
type Finalist struct {
	ID    string        `json:"id"`
	Steps []beagle.Step `json:"steps,omitempty"`
}

// AskTrims returns the proposals of a search's last two generations. They leave out steps of the
// finalists, because a maintainer should not have to read a step that gains nothing. The first
// generation leaves out each step alone and each bundle, and joins the steps that gain something by
// the regression.
// The second leaves out the two least useful, the three least useful, and so on. They cost no
// budget. An empty result means that nothing is left to trim.
func (s *Search) AskTrims() []Proposal {
	first := s.agenda.Next
	if s.trims.Trimmed == 0 {
		s.trims.Finals = s.trims.pickFinalists()
	}
	for ; s.trims.Trimmed < 2 && s.agenda.Next == first; s.trims.Trimmed++ {
		if s.trims.Trimmed == 0 {
			s.askJoint()
		}
		for _, id := range s.trims.Finals {
			for _, without := range s.trims.cuts(s.population.index[id]) {
				s.askTrim(id, without)
			}
		}
	}
	return slices.Clone(s.agenda.Pending[len(s.agenda.Pending)-(s.agenda.Next-first):])
}

// pickFinalists returns the IDs of the best few members that took different ways.
func (tr *trims) pickFinalists() []string {
	var out []*Member
	for _, m := range tr.population.Ranked() {
		known := func(f *Member) bool { return m.extends(f) && !tr.mayBeat(m, f) }
		if m.ID != tr.population.Root && m.Point >= worthATry && !slices.ContainsFunc(out, known) {
			if out = append(out, m); len(out) == maxFinalists {
				break
			}
		}
	}
	ids := make([]string, len(out))
	for i, m := range out {
		ids[i] = m.ID
	}
	return ids
}

// extends reports whether a member has all steps of another, with the same parameters. Unless its
// further steps gain something, trimming it would lead to the other one.
func (m *Member) extends(of *Member) bool {
	for _, s := range of.Steps {
		same := func(t beagle.Step) bool { return t.Mutator == s.Mutator && t.Param == s.Param }
		if !slices.ContainsFunc(m.Steps, same) {
			return false
		}
	}
	return true
}

// mayBeat reports whether a member with more steps may be so much faster that the search should
// prefer it to the simpler one. Quick measurements on a busy machine rank the two by chance.
func (tr *trims) mayBeat(m, simpler *Member) bool {
	return AsGoodAs(m.upperBound(), tr.config.Fastest) > simpler.upperBound()
}

// cuts returns the sets of steps that this generation leaves out of a finalist.
func (tr *trims) cuts(m *Member) [][]int {
	n := len(m.stepsAfterBase())
	if len(m.Steps) < 2 {
		return nil
	}
	var out [][]int
	add := func(cut []int) {
		known := func(other []int) bool { return slices.Equal(other, cut) }
		asked := func(t Trim) bool { return t.Of == m.ID && known(t.Without) }
		whole := len(cut) == len(m.Steps) // that is the original
		if len(cut) > 0 && !whole && !slices.ContainsFunc(out, known) && !slices.ContainsFunc(tr.Trims, asked) {
			out = append(out, cut)
		}
	}
	if tr.Trimmed == 0 {
		for i := range n {
			add([]int{i})
		}
		for _, b := range bundles(m.stepsAfterBase()) {
			add(b)
		}
		return out
	}
	order := tr.leastUseful(m)
	for k := 2; k <= n; k++ {
		cut := slices.Clone(order[:k])
		inorder.Sort(cut)
		add(cut)
	}
	add(tr.unshown(m))
	return out
}

// unshown returns a finalist's loose steps, by index, whose gain is not shown: the version may be
// as fast without one of them.
func (tr *trims) unshown(m *Member) (out []int) {
	for _, t := range tr.Trims {
		if t.Of != m.ID || len(t.Without) != 1 || t.As == "" {
			continue
		}
		if tr.population.index[t.As].upperBound() >= m.Point {
			out = append(out, t.Without[0])
		}
	}
	inorder.Sort(out)
	return out
}

// upperBound returns the upper end of a member's ratio.
func (m *Member) upperBound() float64 { return max(m.High, m.Point) }

// leastUseful returns a finalist's loose steps, by index. The first is the one without which the
// finalist is fastest.
func (tr *trims) leastUseful(m *Member) []int {
	order, without := make([]int, len(m.stepsAfterBase())), make([]float64, len(m.stepsAfterBase()))
	for i := range order {
		order[i], without[i] = i, math.Inf(-1)
	}
	for _, t := range tr.Trims {
		if t.Of == m.ID && len(t.Without) == 1 && t.As != "" {
			without[t.Without[0]] = tr.population.index[t.As].Score
		}
	}
	inorder.By(order, func(a, b int) int { return cmp.Compare(without[b], without[a]) })
	return order
}

// askTrim proposes a finalist without some of its steps.
func (s *Search) askTrim(of string, without []int) {
	m := s.population.index[of]
	p := s.population.replay(m, without)
	p.Kind, p.Island = Prune, m.Island
	p = s.enroll(p)
	s.trims.Trims = append(s.trims.Trims, Trim{Of: of, Without: without, Proposal: p.ID})
}

// shownGain is the least gain of a step, by the regression, for the joint version.
const shownGain = perStep / 2

// askJoint proposes the original with all steps that gain something by the regression. The
// screening of one version has the luck of its layout in it. Where each step gains a few percent,
// the best of many versions owes its rank to luck. The regression averages the luck of all members.
func (s *Search) askJoint() {
	steps := s.joinedSteps()
	if len(s.trims.Finals) == 0 || len(steps) < 2 {
		return
	}
	p := Proposal{Parent: s.population.Root, Kind: Cross}
	for _, st := range steps {
		p.Then = append(p.Then, wish(st))
	}
	p = s.enroll(p)
	s.trims.Trims = append(s.trims.Trims, Trim{Of: s.population.Root, Proposal: p.ID})
}

// joinedSteps returns the steps that gain something by the regression. It takes those of a mutator
// from the best member that has it, and keeps their order: a step may need one before it.
func (s *Search) joinedSteps() (out []beagle.Step) {
	from := map[string]string{} // the member that a mutator's steps are from
	for _, m := range s.population.Ranked() {
		if m.Base != "" { // steps on a model's text do without the original's
			continue
		}
		for _, st := range m.Steps {
			if _, taken := from[st.Mutator]; !taken && s.merits.gain(st.Mutator) >= shownGain {
				from[st.Mutator] = m.ID
			}
			if from[st.Mutator] == m.ID {
				out = append(out, st)
			}
		}
	}
	return out
}

// joint returns the ID of the member that the joint version is, or "".
func (tr *trims) joint() string {
	for _, t := range tr.Trims {
		if t.Of == tr.population.Root && t.As != tr.population.Root {
			return t.As
		}
	}
	return ""
}

// IsTrim reports whether a proposal is one of the last generations'.
func (tr *trims) IsTrim(proposal int) bool { return tr.trim(proposal) != nil }

// trim returns the trim that a proposal asked for, or nil.
func (tr *trims) trim(proposal int) *Trim {
	i := slices.IndexFunc(tr.Trims, func(t Trim) bool { return t.Proposal == proposal })
	if i < 0 {
		return nil
	}
	return &tr.Trims[i]
}

// hear stores what trims made. If several proposals made the same text, only one has a verdict. The
// others take the member from it, whichever proposal comes first.
func (tr *trims) hear(feedback []Feedback) {
	for i := range feedback {
		if t := tr.trim(feedback[i].Proposal); t != nil {
			t.note(tr.population, &feedback[i])
		}
	}
	for i := range tr.Trims {
		t := &tr.Trims[i]
		same := func(o Trim) bool { return o.ID == t.ID && o.As != "" }
		if at := slices.IndexFunc(tr.Trims, same); t.As == "" && t.ID != "" && at >= 0 {
			t.As = tr.Trims[at].As
		}
	}
}

// note stores the candidate that a trim made.
func (t *Trim) note(pop *population, o *Feedback) {
	t.ID, t.Steps, t.Reading = o.Candidate.ID, o.Candidate.Steps, o.Reading
	switch {
	case t.ID == t.Of: // the step was taken back by a later one
		m := pop.index[t.Of]
		t.As, t.Steps, t.Reading = t.Of, m.stepsWithout(t.Without), m.Reading
	case pop.index[t.ID] != nil:
		t.As = t.ID
	case pop.index[o.Twin] != nil:
		t.As = o.Twin
	}
}

// stepsWithout returns a member's steps except some loose ones, by index.
func (m *Member) stepsWithout(cut []int) []beagle.Step {
	return leaveOut(m.Steps, len(m.Steps)-len(m.stepsAfterBase()), cut)
}

// leaveOut returns the steps except the cut ones, whose indices count from the step at from.
func leaveOut(steps []beagle.Step, from int, cut []int) []beagle.Step {
	out := slices.Clone(steps[:from])
	for i, st := range steps[from:] {
		if !slices.Contains(cut, i) {
			out = append(out, st)
		}
	}
	return out
}

// Finalists returns the candidates to measure in full, the most promising first: the simplest
// form of each of the best few members that was measured to be about as fast. For the best member
// it adds the simplest form that may be as fast, and the member as it was found, since a quick
// measurement may err, most of all on a busy machine. With Config.Fastest it leaves out forms
// that only may be as fast.
func (tr *trims) Finalists() []Finalist {
	var out []Finalist
	add := func(f Finalist) {
		if !slices.ContainsFunc(out, func(g Finalist) bool { return g.ID == f.ID }) {
			out = append(out, f)
		}
	}
	for i, id := range tr.Finals {
		m := tr.population.index[id]
		as := AsGoodAs(m.Point, tr.config.Fastest)
		if i == 0 && !tr.config.Fastest {
			add(tr.simplest(m, func(t *Member) bool { return t.upperBound() >= as }))
		}
		add(tr.simplestForm(m))
		if i == 0 {
			add(Finalist{ID: id})
		}
	}
	return out
}

// simplestForm returns the simplest form of a finalist that measured about as fast.
func (tr *trims) simplestForm(m *Member) Finalist {
	as := AsGoodAs(m.Point, tr.config.Fastest)
	return tr.simplest(m, func(t *Member) bool { return t.Point >= as && t.Score > m.Score-tellable })
}

// tellable is how much lower, in logarithms, the low end of a simpler form may be. With a larger
// one, some kind of input may pay for the form.
const tellable = 0.15

// simplest returns the form of a finalist that is easiest to read among the good enough ones; of
// equals, the one with fewer steps, and then the faster one.
func (tr *trims) simplest(m *Member, good func(*Member) bool) Finalist {
	type form struct {
		Finalist
		reading, steps int
		score          float64
	}
	best := form{Finalist{ID: m.ID}, m.Reading, len(m.Steps), m.Score}
	for _, t := range tr.Trims {
		if t.Of != m.ID || t.As == "" || t.As == tr.population.Root || !good(tr.population.index[t.As]) {
			continue
		}
		steps, score := len(m.Steps)-len(t.Without), tr.population.index[t.As].Score
		f := form{Finalist{ID: t.ID, Steps: t.Steps}, t.Reading, steps, score}
		if cmp.Or(cmp.Compare(f.reading, best.reading), cmp.Compare(f.steps, best.steps),
			cmp.Compare(best.score, f.score)) < 0 {
			best = f
		}
	}
	return best.Finalist
}
