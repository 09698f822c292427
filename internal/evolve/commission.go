package evolve

import (
	"cmp"
	"math"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// AskModels returns up to n proposals for models to write, fewer when the
// budget of candidates runs out. They are told of like all others.
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
	maxFamilies = 12 // best families that are kept at hand
	memorySize  = 6  // the latest failed candidates that a prompt shows
	maxIdeas    = 40 // candidates of models that models are told of
	maxTurns    = 3  // replies in one conversation
	maxTalks    = 8  // conversations that are kept
)

// A RuleNote says what a rule brought so far.
type RuleNote struct {
	Name string  `json:"name"`
	Good int     `json:"good,omitempty"` // versions with it that behave
	Bad  int     `json:"bad,omitempty"`  // versions that fell for it
	Gain float64 `json:"gain"`           // the factor that a step of it brings, by regression
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

// halfAsFast is how far below the best, in logarithms, the parent of a model's version may be.
const halfAsFast = math.Ln2

// A Talk is a conversation with a model that may go on: its last reply was judged,
// and no answer to the verdict is asked for yet.
type Talk struct {
	Author    string `json:"author"`
	Proposals []int  `json:"proposals"`      // its turns
	Parent    string `json:"parent"`         // the candidate that the next turn changes
	Fell      string `json:"fell,omitempty"` // the candidate of the last turn, when it is wrong
}

// noteReply keeps what a model wrote, and whether the conversation can go on.
func (au *authors) noteReply(p Proposal, o *Feedback) {
	if p.Kind != Model {
		return
	}
	au.Replies = append(au.Replies, o.Candidate.ID)
	au.Replies = au.Replies[max(0, len(au.Replies)-maxIdeas):]
	talk := Talk{Author: p.Author, Proposals: append(slices.Clone(p.Talk), p.ID), Parent: o.Candidate.ID}
	switch {
	case len(talk.Proposals) >= maxTurns || au.alone(p.Author):
		return
	case !o.Verdict.OK():
		talk.Parent, talk.Fell = p.Parent, o.Candidate.ID
	case o.Private:
		return
	}
	au.Talks = append(au.Talks, talk)
	au.Talks = au.Talks[max(0, len(au.Talks)-maxTalks):]
}

// alone reports whether an author holds no conversations.
func (au *authors) alone(author string) bool {
	i := slices.IndexFunc(au.config.Authors, func(a Author) bool { return a.Name == author })
	return i < 0 || au.config.Authors[i].Alone
}

// goOn has a proposal follow the author's latest conversation that is worth it, if
// there is one: a wrong reply can be mended, and a good one taken further. It ends
// those that are not. A good reply is not always followed, since a new beginning
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

// subject is the candidate that a model is shown: one that it may see. Of the
// versions that are at least half as fast as the best, the best of each family is
// drawn, the fast and those that were asked for seldom more likely.
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

// families returns the best members that models may see, one of each of the best families, the
// best first. A family goes back to one reply of a model, or to the original by rules alone: its
// members differ in steps, not in structure.
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

// akin reports whether one member goes back to the reply that the other stands on:
// they have one algorithm.
func akin(a, b *Member) bool {
	holds := func(m *Member, base string) bool {
		is := func(st beagle.Step) bool { return st.Mutator == ByAuthor && st.Param == base }
		return base != "" && slices.ContainsFunc(m.Steps, is)
	}
	return a.Base == b.Base || holds(a, b.Base) || holds(b, a.Base)
}

// mate is a version with another algorithm that is worth combining; none early on.
// It may be slower than half of the best, since what it has the parent has not.
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

// examples are two good versions of other families.
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

// remember keeps what fell last, for models.
func (au *authors) remember(id string) { au.Fallen = latest(au.Fallen, id) }

// latest puts an ID in front and forgets the oldest.
func latest(ids []string, id string) []string {
	return slices.Insert(ids, 0, id)[:min(len(ids)+1, memorySize)]
}
