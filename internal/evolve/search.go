package evolve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// A Strategy is a way of choosing what to try.
type Strategy string

const (
	Islands Strategy = "islands"           // the method of the package documentation
	BestOfN Strategy = "best-of-n"         // independent stacks on the original, no learning
	Greedy  Strategy = "rules-only-greedy" // the best single step, again and again
)

// Strategies are the values of Config.Strategy.
var Strategies = []Strategy{Islands, BestOfN, Greedy}

// Config holds the options of a search. The zero value of a field means its default.
type Config struct {
	Seed     uint64   `json:"seed"`
	Strategy Strategy `json:"strategy"` // default Islands
	Budget   int      `json:"budget"`   // candidates to evaluate, the original and duplicates not counted; default 60
	Islands  int      `json:"islands"`  // default 4, or fewer when the budget is small

	Authors []Author `json:"authors,omitempty"`  // models that write candidates; none by default
	NoRules bool     `json:"no_rules,omitempty"` // models alone
	// the price of an hour of waiting, in dollars, to put seconds and dollars on one scale;
	// default 1
	Hour float64 `json:"hour,omitempty"`
	// the most calls of models; 0 for no known limit. The rules leave that many candidates to them
	Calls int `json:"calls,omitempty"`
	// choose the fastest version, not the simplest of those about as fast
	Fastest bool `json:"fastest,omitempty"`
}

func (c Config) withDefaults() Config {
	if c.Strategy == "" {
		c.Strategy = Islands
	}
	if c.Budget == 0 {
		c.Budget = 60
	}
	if c.Islands == 0 {
		c.Islands = max(1, min(4, c.Budget/10))
	}
	if c.Hour == 0 {
		c.Hour = 1
	}
	c.Authors = slices.Clone(c.Authors)
	for i := range c.Authors {
		if c.Authors[i].Weight == 0 {
			c.Authors[i].Weight = 1
		}
	}
	return c
}

// A Search holds the state of a running search. Its JSON form is the whole state.
type Search struct {
	state
	breeder breeder
	rng     *rand.Rand
	pcg     *rand.PCG
}

// state is the content of a search's JSON form, part by part.
type state struct {
	Config Config `json:"config"`
	Random []byte `json:"random"` // state of the PCG, set when marshaled
	agenda
	population
	merits
	Seen    map[string]bool `json:"seen"`  // IDs and shapes of candidates
	Asked   map[string]bool `json:"asked"` // proposals by content
	Current string          `json:"current,omitempty"`
	authors
	trims
	// the caller's place in its own journals
	Mark int `json:"mark,omitempty"`
}

// An agenda holds the counts of the search's proposals and feedback, and the pending proposals.
type agenda struct {
	// calls of Tell
	Generation int        `json:"generation"`
	Placed     int        `json:"placed,omitempty"` // proposals of the rules; islands take turns
	Next       int        `json:"next"`             // ID of the next proposal
	Spent      int        `json:"spent"`            // budget used
	Barren     int        `json:"barren"`           // proposals in a row without a new candidate
	SinceBest  int        `json:"stale"`            // calls of Tell in a row without a new best
	Ended      bool       `json:"ended"`            // nothing is left to try
	Pending    []Proposal `json:"pending"`
}

// New starts a search. The caller must add the original next, with Add.
func New(c Config) *Search {
	c = c.withDefaults()
	s := &Search{pcg: rand.NewPCG(c.Seed, 0x9e3779b97f4a7c15)}
	s.state = state{
		Config: c, Seen: map[string]bool{}, Asked: map[string]bool{},
		population: population{Archives: make([]archive, c.Islands)},
		merits:     merits{Arms: map[string]*arm{}, Kinds: map[Kind]*earnings{}},
		authors:    authors{Accounts: map[string]*Account{}, Samples: map[string]int{}, Behind: map[string]int{}},
	}
	for i := range s.Archives {
		s.Archives[i] = archive{}
	}
	s.join()
	return s
}

// join connects the parts of a search, and computes the values that follow from the members.
func (s *Search) join() {
	s.rng = rand.New(s.pcg)
	s.population.index, s.population.known = map[string]*Member{}, newKnownSteps()
	s.merits.sums, s.merits.rng = newSums(), s.rng
	s.authors.config, s.authors.population, s.authors.rng = &s.Config, &s.population, s.rng
	s.trims.config, s.trims.population = &s.Config, &s.population
	s.breeder = breeder{
		config: &s.Config, agenda: &s.agenda, population: &s.population, merits: &s.merits, authors: &s.authors,
		asked: s.Asked, rng: s.rng,
	}
	for _, m := range s.Members {
		s.population.count(m)
		s.merits.sums.add(m)
	}
}

// MarshalJSON returns the whole state.
func (s *Search) MarshalJSON() ([]byte, error) {
	b, err := s.pcg.MarshalBinary()
	if err != nil {
		return nil, err
	}
	st := s.state
	st.Random = b
	return json.Marshal(st)
}

// UnmarshalJSON restores what MarshalJSON returned. The search continues as if
// it had never stopped.
func (s *Search) UnmarshalJSON(data []byte) error {
	var st state
	if err := json.Unmarshal(data, &st); err != nil {
		return fmt.Errorf("evolve: %w", err)
	}
	pcg := &rand.PCG{}
	if err := pcg.UnmarshalBinary(st.Random); err != nil {
		return fmt.Errorf("evolve: random state: %w", err)
	}
	if st.Samples == nil {
		st.Samples = map[string]int{}
	}
	if st.Behind == nil {
		st.Behind = map[string]int{}
	}
	if st.Accounts == nil {
		st.Accounts = map[string]*Account{}
	}
	*s = Search{state: st, pcg: pcg}
	s.join()
	return nil
}

// Done reports whether there is nothing more to ask.
func (s *Search) Done() bool {
	return s.agenda.Ended || s.agenda.Spent >= s.Config.Budget && len(s.agenda.Pending) == 0
}

// Best returns the fastest member, or a simpler one about as fast. It returns nil before the
// original is added.
func (pop *population) Best() *Member { return pop.top }

// Ranked returns all members, the best first.
func (pop *population) Ranked() []*Member {
	out := slices.Clone(pop.Members)
	inorder.By(out, func(a, b *Member) int { return cmp.Compare(b.fitness(), a.fitness()) })
	return out
}

// Add puts a candidate that the search did not propose into every island. The first must be the
// original; others are hand-written, or come from earlier runs. It costs no budget.
func (s *Search) Add(c beagle.Candidate, v beagle.Verdict, moves []beagle.Move) {
	if s.Seen[c.ID] {
		return
	}
	s.Seen[c.ID] = true
	m := newMember(c, v, moves)
	if s.population.Root == "" {
		s.population.Root, s.Current = m.ID, m.ID
		m.Score = 0
	} else if !v.OK() {
		return
	}
	s.welcome(m)
	for _, a := range s.population.Archives {
		a.place(m, s.population.index)
	}
}

// Ask returns up to n proposals, fewer when the budget or the ideas run out. An empty result means
// that the search needs feedback on earlier proposals first, or has ended: see Done. Ask keeps a
// share of the budget for models.
func (s *Search) Ask(n int) []Proposal {
	if s.population.Root == "" {
		panic("evolve: Ask before the original was added")
	}
	n = min(n, s.Room())
	var out []Proposal
	for len(out) < n {
		p, ok := s.proposeAnywhere()
		if !ok {
			break
		}
		// Remember the proposal, so that no later one repeats it.
		s.agenda.Placed++
		p = s.enroll(p)
		s.Asked[p.key()] = true
		s.authors.noteBehind(p)
		out = append(out, p)
	}
	// With nothing pending and no models, no feedback can bring new ideas.
	if len(s.agenda.Pending) == 0 && !s.authors.Open() {
		s.agenda.Ended = true
	}
	return out
}

// enroll numbers a proposal and makes it pending.
func (s *Search) enroll(p Proposal) Proposal {
	p.ID, p.Generation = s.agenda.Next, s.agenda.Generation+1
	if p.Kind != Guest { // its candidate is made already: nothing is drawn
		p.Seed = s.rng.Uint64()
	}
	s.agenda.Next++
	s.agenda.Pending = append(s.agenda.Pending, p)
	return p
}

// proposeAnywhere returns a new proposal for the island whose turn it is, or for the next one with
// ideas. Only one island may know a good version until the next migration.
func (s *Search) proposeAnywhere() (Proposal, bool) {
	for i := range s.Config.Islands {
		if p, ok := s.propose((s.agenda.Placed + i) % s.Config.Islands); ok {
			return p, true
		}
		if s.Config.Strategy != Islands {
			break
		}
	}
	return Proposal{}, false
}

// propose returns a new proposal for an island, by the strategy.
func (s *Search) propose(island int) (Proposal, bool) {
	switch s.Config.Strategy {
	case BestOfN:
		return s.independent()
	case Greedy:
		return s.greedyStep()
	}
	return s.breeder.onIsland(island)
}

// key identifies a proposal by its content.
func (p *Proposal) key() string {
	return beagle.HashOf("proposal", p.Parent, p.Move, p.Then)
}

// barrenLimit is the number of proposals in a row without a new candidate after which the rules
// count as dry.
const barrenLimit = 100

// Tell takes feedback on some or all pending proposals, in any order. Feedback on any other
// proposal is an error.
func (s *Search) Tell(feedback []Feedback) error {
	// Take the feedback in the order of its proposals, whatever the order in which it came: a seed
	// then gives one search.
	before := s.population.Best().Score
	sorted := slices.Clone(feedback)
	inorder.By(sorted, func(a, b Feedback) int { return a.Proposal - b.Proposal })
	for i := range sorted {
		p, err := s.agenda.take(sorted[i].Proposal)
		if err != nil {
			return err
		}
		s.learn(p, &sorted[i])
	}
	s.trims.hear(sorted)
	// Count the generation, and whether it brought a new best.
	s.merits.forgetFit()
	s.agenda.Generation++
	s.agenda.SinceBest++
	if s.population.Best().Score > before+news {
		s.agenda.SinceBest = 0
	}
	// Let the islands share, and end a search that has no ideas left.
	if s.Config.Strategy == Islands {
		s.population.migrate(s.agenda.Generation)
	}
	s.agenda.Ended = s.agenda.Ended || s.agenda.dry() && !s.authors.Open()
	return nil
}

// dry reports whether the rules bring nothing new any more. A model's version can change that.
func (ag *agenda) dry() bool { return ag.Barren > barrenLimit }

func (ag *agenda) take(id int) (Proposal, error) {
	i := slices.IndexFunc(ag.Pending, func(p Proposal) bool { return p.ID == id })
	if i < 0 {
		return Proposal{}, fmt.Errorf("evolve: proposal %d is not pending: unknown, or answered before", id)
	}
	p := ag.Pending[i]
	ag.Pending = slices.Delete(ag.Pending, i, i+1)
	return p, nil
}

// learn enters feedback into the population and the accounts.
func (s *Search) learn(p Proposal, o *Feedback) {
	c := o.Candidate
	// Feedback on a known candidate counts for the accounts only.
	fresh := c.ID != "" && o.Verdict.Status != beagle.Duplicate && !s.Seen[c.ID] && (o.Shape == "" || !s.Seen[o.Shape])
	s.enter(p, o, fresh)
	if p.Kind == Model && !o.Unsent {
		s.authors.hear(o, fresh)
	}
	if !fresh {
		s.agenda.Barren++
		if c.ID == "" && p.Move != nil {
			s.merits.arm(p.Move.Mutator).None++
		}
		return
	}
	// A new candidate uses budget, unless it is a trim.
	s.agenda.Barren = 0
	if s.trims.trim(p.ID) == nil {
		s.agenda.Spent++
	}
	s.Seen[c.ID] = true
	if o.Shape != "" {
		s.Seen[o.Shape] = true
	}
	// Credit or blame its mutators.
	s.credit(p, o)
	s.authors.noteReply(p, o)
	if !o.Verdict.OK() {
		s.authors.remember(c.ID)
		return
	}
	// A candidate that behaves joins the population, and its island.
	m := newMember(c, o.Verdict, o.Moves)
	m.Island, m.Kind, m.Private, m.Reading = p.Island, p.Kind, o.Private, o.Reading
	if parent := s.population.index[p.Parent]; parent != nil {
		parent.Bred = max(parent.Bred, m.Score)
	}
	if b := s.population.index[m.Base]; b != nil {
		m.Ground = b.Score
	}
	s.welcome(m)
	s.population.Archives[p.Island].place(m, s.population.index)
	if s.Config.Strategy == Greedy {
		s.stepTo(m)
	}
}
