package evolve

import (
	"cmp"
	"math"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// AskModels returns up to n proposals for models, fewer when the budget runs out. [Search.Tell]
// takes their feedback like any other.
func (s *Search) AskModels(n int) []Proposal {
	if s.population.Root == "" {
		panic("evolve: AskModels before the original was added")
	}
	if !s.authors.Open() {
		return nil
	}
	n = min(n, s.Config.Budget-s.agenda.Spent-len(s.agenda.Pending))
	var out []Proposal
	for range max(n, 0) {
		p := s.enroll(s.commission(s.authors.Commissions % s.Config.Islands))
		s.authors.Commissions++
		s.authors.account(p.Author).Asked++
		out = append(out, p)
	}
	return out
}

// commission returns a task for a model on an island: a better version of the best or of the best
// of another family, sometimes the best of two in one, or a version that follows from its last
// reply.
func (s *Search) commission(island int) Proposal {
	a := s.authors.author(island)
	p := Proposal{
		Kind:        Model,
		Island:      island,
		Author:      a.Name,
		Model:       a.Model,
		Temperature: a.Temperature,
	}
	if !s.authors.goOn(a, &p) {
		p.Parent = s.subject(island)
		if mate := s.population.mate(p.Parent); mate != "" && s.rng.Float64() < mateShare {
			p.Mate = mate
		}
	}
	s.population.index[p.Parent].Asked++
	key := beagle.HashOf("commission", p.Author, p.Parent, p.Mate, p.Talk)
	p.Sample = s.authors.Samples[key]
	s.authors.Samples[key]++
	p.Examples = s.population.examples(&p)
	p.Tried = slices.Clone(s.authors.Fallen)
	p.Ideas, p.Rules = slices.Clone(s.authors.Replies), s.merits.ruleNotes()
	return p
}

const (
	maxFamilies = 12 // best families
	memorySize  = 6  // latest failed candidates in a prompt
	maxIdeas    = 40 // candidates of models in a prompt
	maxTurns    = 3  // replies in one conversation
	maxTalks    = 8  // open conversations
)

// A RuleNote is the record of a rule in this search.
type RuleNote struct {
	Name string  `json:"name"`
	Good int     `json:"good,omitempty"` // versions with it that behave
	Bad  int     `json:"bad,omitempty"`  // versions that it broke
	Gain float64 `json:"gain"`           // the factor of one step, by regression
}

// maxRuleNotes bounds the rules that a prompt lists.
const maxRuleNotes = 24

// ruleNotes lists the gains of the tested rules, the best first.
func (ms *merits) ruleNotes() []RuleNote {
	var out []RuleNote
	for _, name := range inorder.Keys(ms.Arms) {
		if a := ms.Arms[name]; a.tested() && name != ByAuthor {
			out = append(out, RuleNote{name, int(a.OK), int(math.Ceil(a.Bad)), math.Exp(ms.gain(name))})
		}
	}
	inorder.By(out, func(a, b RuleNote) int { return cmp.Compare(b.Gain, a.Gain) })
	return out[:min(len(out), maxRuleNotes)]
}

// halfAsFast is the largest distance, in logarithms, from the best to the parent of a model's
// version.
const halfAsFast = math.Ln2

// A Talk is a conversation with a model that may go on: its last reply has a verdict, and the model
// has not seen it yet.
type Talk struct {
	Author    string `json:"author"`
	Proposals []int  `json:"proposals"`      // its turns
	Parent    string `json:"parent"`         // the candidate that the next turn changes
	Fell      string `json:"fell,omitempty"` // the candidate of the last turn, if it is wrong
}

// noteReply stores a model's reply, and its conversation if that can go on.
func (au *authors) noteReply(p Proposal, o *Feedback) {
	if p.Kind != Model {
		return
	}
	au.Replies = append(au.Replies, o.Candidate.ID)
	au.Replies = au.Replies[max(0, len(au.Replies)-maxIdeas):]
	talk := Talk{Author: p.Author, Proposals: append(slices.Clone(p.Talk), p.ID), Parent: o.Candidate.ID}
	switch {
	case len(talk.Proposals) >= maxTurns || au.lacksConversations(p.Author):
		return
	case !o.Verdict.OK():
		talk.Parent, talk.Fell = p.Parent, o.Candidate.ID
	case o.Private:
		return
	}
	au.Talks = append(au.Talks, talk)
	au.Talks = au.Talks[max(0, len(au.Talks)-maxTalks):]
}

// lacksConversations reports whether an author holds no conversations.
func (au *authors) lacksConversations(author string) bool {
	i := slices.IndexFunc(au.config.Authors, func(a Author) bool { return a.Name == author })
	return i < 0 || au.config.Authors[i].Alone
}

// goOn makes a proposal continue the author's latest conversation that is worth it, and reports
// whether it found one: the model can mend a wrong reply, or improve a good one. It ends the
// conversations that are not worth it. It drops a good reply at random, since a new beginning
// brings other ideas.
func (au *authors) goOn(a Author, p *Proposal) bool {
	for i := len(au.Talks) - 1; i >= 0; i-- {
		t := au.Talks[i]
		if t.Author != a.Name {
			continue
		}
		au.Talks = slices.Delete(au.Talks, i, i+1)
		m := au.population.index[t.Parent]
		if m.Private || m.Score < au.population.Best().Score-halfAsFast ||
			t.Fell == "" && au.rng.Float64() < newBeginning {
			continue
		}
		p.Talk, p.Parent, p.Fell = t.Proposals, t.Parent, t.Fell
		return true
	}
	return false
}

// subject returns the candidate that a model changes. It draws from the best of each family that
// are at least half as fast as the best of all and that the model may see. Fast ones, and those
// with few proposals so far, are more likely.
func (s *Search) subject(island int) string {
	switch s.Config.Strategy {
	case BestOfN:
		return s.population.Root
	case Greedy:
		if s.population.index[s.Current].Private {
			return s.population.Root
		}
		return s.Current
	}
	out, soonest := s.population.Root, math.Inf(1)
	for _, m := range s.population.families() {
		if m.Score < s.population.Best().Score-halfAsFast {
			continue
		}
		rate := math.Exp((m.Score-s.population.Best().Score)/subjectSpread) / float64(1+m.Asked)
		if at := s.rng.ExpFloat64() / rate; at < soonest {
			out, soonest = m.ID, at
		}
	}
	return out
}

// families returns the best member of each of the best families that models may see, the best
// first. The members of a family descend from one reply of a model, or by rules alone from the
// original: they differ in steps, not in structure.
func (pop *population) families() []*Member { return pop.kin }

// addKin puts a member among the best of the families if it belongs there.
func (pop *population) addKin(m *Member) {
	if m.Private {
		return
	}
	if i := slices.IndexFunc(pop.kin, func(k *Member) bool { return k.Base == m.Base }); i >= 0 {
		if pop.kin[i].fitness() >= m.fitness() {
			return
		}
		pop.kin = slices.Delete(pop.kin, i, i+1)
	}
	at, _ := slices.BinarySearchFunc(pop.kin, m, func(k, m *Member) int {
		return cmp.Or(cmp.Compare(m.fitness(), k.fitness()), -1)
	})
	pop.kin = slices.Insert(pop.kin, at, m)
	pop.kin = pop.kin[:min(len(pop.kin), maxFamilies)]
}

// akin reports whether two members have one algorithm: one of them descends from the reply that the
// other stands on.
func akin(a, b *Member) bool {
	holds := func(m *Member, base string) bool {
		is := func(st beagle.Step) bool { return st.Mutator == ByAuthor && st.Param == base }
		return base != "" && slices.ContainsFunc(m.Steps, is)
	}
	return a.Base == b.Base || holds(a, b.Base) || holds(b, a.Base)
}

// mate returns a version with another algorithm that is worth combining with the parent; "" early
// on. It may be less than half as fast as the best, since it has ideas that the parent lacks.
func (pop *population) mate(parent string) string {
	const worth = 0.1 // it must be faster than the original itself
	of := pop.index[parent]
	for _, m := range pop.families() {
		if m.ID != parent && m.ID != pop.Root && m.Score > worth && !akin(m, of) {
			return m.ID
		}
	}
	return ""
}

// examples returns two good versions of other families.
func (pop *population) examples(p *Proposal) (out []string) {
	shown := []*Member{pop.index[p.Parent]}
	if p.Mate != "" {
		shown = append(shown, pop.index[p.Mate])
	}
	for _, m := range pop.families() {
		kin := func(o *Member) bool { return akin(o, m) }
		if len(out) < 2 && m.ID != pop.Root && m.Score > 0 && !slices.ContainsFunc(shown, kin) {
			out, shown = append(out, m.ID), append(shown, m)
		}
	}
	return out
}

// remember stores the latest failed candidates, for models.
func (au *authors) remember(id string) { au.Fallen = moveToFront(au.Fallen, id) }

// moveToFront puts an ID in front and forgets the oldest.
func moveToFront(ids []string, id string) []string {
	return slices.Insert(ids, 0, id)[:min(len(ids)+1, memorySize)]
}
