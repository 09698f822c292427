package evolve

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/beagle-go/beagle"
)

// ByAuthor is the mutator's name in a model's step. The step's parameter is the ID of the resulting
// candidate: a model's step cannot be taken elsewhere, but its result can be looked up.
const ByAuthor = beagle.Written

// Rules is the author of all proposals that need no model.
const Rules = "rules"

// An Author is a model that writes candidates, at one temperature.
type Author struct {
	Name        string  `json:"name"`  // unique: the model's name, with the temperature where there are several
	Model       string  `json:"model"` // as the driver knows it
	Temperature float64 `json:"temperature,omitempty"`
	Weight      float64 `json:"weight,omitempty"` // preference before its account shows anything; default 1
	// it answers each request anew: it holds no conversations
	Alone bool `json:"alone,omitempty"`
}

// An Account sums up the cost and the earnings of an author. Earned is verified gain, in
// logarithms of the conservative end of the ratio. A candidate that raises the best earns its
// whole gain on its parent, even if another author found part of that gain by another way. A
// candidate that does not earns a tenth of its gain on its parent beyond its siblings.
type Account struct {
	Asked     int     `json:"asked"`    // proposals
	Unheard   int     `json:"unheard"`  // calls without a reply
	Useless   int     `json:"useless"`  // replies without a new candidate
	Evaluated int     `json:"written"`  // candidates that were evaluated
	Behaving  int     `json:"behaving"` // of these, the ones that behave
	Dollars   float64 `json:"dollars"`
	Seconds   float64 `json:"seconds"` // waiting for replies and evaluating
	Earned    float64 `json:"earned"`

	// The same with older entries fading, so that an author that has run dry loses its place.
	RecentCost   float64 `json:"recent_cost"` // dollars, seconds included
	RecentEarned float64 `json:"recent_earned"`
	RecentCalls  float64 `json:"recent_calls"`
	Silence      int     `json:"silence"` // calls without a reply, in a row

	Echoes    int  `json:"echoes,omitempty"`    // paid replies in a row that repeat known candidates
	Dismissed bool `json:"dismissed,omitempty"` // it gets no more calls
}

const (
	fading    = 0.93 // weight of an account's entry after the next entry
	lookahead = 0.03 // assumed gain of an author without a record
	freeCost  = 1e-4 // dollars that a proposal costs at least, for the division
)

// authors holds the accounts of the authors, and the record of the models' replies.
type authors struct {
	Accounts    map[string]*Account `json:"books"`       // by author
	Commissions int                 `json:"commissions"` // proposals made for models
	Samples     map[string]int      `json:"turns,omitempty"`
	Fallen      []string            `json:"fallen,omitempty"` // failed candidates, the latest first
	// the latest judged candidates of models, the oldest first
	Replies []string       `json:"replies,omitempty"`
	Talks   []Talk         `json:"talks,omitempty"`  // conversations that may go on
	Behind  map[string]int `json:"behind,omitempty"` // the rules' proposals that build on each reply
	Repeats int            `json:"repeats"`          // models' replies in a row without a new candidate
	Lent    int            `json:"lent"`             // of the models' share to the rules
	Closed  bool           `json:"closed"`           // models get no more calls

	config     *Config
	population *population
	rng        *rand.Rand
}

// Open reports whether models may still be asked.
func (au *authors) Open() bool { return len(au.config.Authors) > 0 && !au.Closed }

// Close ends the asking of models: their money is spent, or none of them
// answers. The rules take over what was kept for them.
func (au *authors) Close() { au.Closed = true }

// Dismiss ends the asking of one model, because there is no money for another call
// of it. When none is left that answers, the models are closed.
func (au *authors) Dismiss(model string) {
	for _, a := range au.config.Authors {
		if a.Model == model {
			au.account(a.Name).Dismissed = true
		}
	}
	au.closeIfGone()
}

func (au *authors) account(author string) *Account {
	b := au.Accounts[author]
	if b == nil {
		b = &Account{}
		au.Accounts[author] = b
	}
	return b
}

// worth returns the verified gain that a dollar spent on an author is expected to bring, waiting
// included.
func (b *Account) worth() float64 {
	each := freeCost
	if b.RecentCalls > 0 {
		each += b.RecentCost / b.RecentCalls
	}
	return (b.RecentEarned + lookahead) / (b.RecentCost + each)
}

// author draws the author to ask next: a race of exponential clocks by worth. An island prefers
// its own author, so that islands stay different. An author that does not answer is asked less
// and less.
func (au *authors) author(island int) Author {
	var first Author
	soonest := math.Inf(1)
	for i, a := range au.config.Authors {
		b := au.account(a.Name)
		if b.Dismissed {
			continue
		}
		rate := b.worth() * max(a.Weight, leastWeight) * math.Pow(0.5, float64(b.Silence))
		if i == island%len(au.config.Authors) {
			rate *= 2
		}
		if at := au.rng.ExpFloat64() / rate; at < soonest {
			first, soonest = a, at
		}
	}
	return first
}

// enter adds the cost and the earnings of a proposal to its author's account. Tell calls it before
// the feedback changes the population.
func (s *Search) enter(p Proposal, o *Feedback, fresh bool) {
	name := p.Author
	if !p.fromOutside() {
		name = Rules
	}
	b := s.authors.account(name)
	// A request that was not sent costs nothing.
	switch {
	case o.Unsent:
		b.Asked--
		return
	case name == Rules:
		b.Asked++
	}
	// Add the cost. The recent sums fade with each call.
	cost := o.Dollars + o.Seconds*s.Config.Hour/3600
	b.Dollars, b.Seconds = b.Dollars+o.Dollars, b.Seconds+o.Seconds
	b.RecentCost = fading*b.RecentCost + cost
	b.RecentCalls = fading*b.RecentCalls + 1
	b.RecentEarned *= fading
	switch {
	case o.Unheard:
		b.Unheard++
		b.Silence++
		return
	case !fresh:
		b.Useless++
		b.Silence = 0
		b.echo(o)
		return
	}
	// Add what the version earned.
	b.Evaluated++
	b.Silence, b.Echoes = 0, 0
	if !o.Verdict.OK() {
		return
	}
	b.Behaving++
	earned := s.earns(p, score(&o.Verdict))
	b.Earned += earned
	b.RecentEarned += earned
}

// earns returns what a candidate of this score earns the author of its proposal.
func (s *Search) earns(p Proposal, score float64) float64 {
	parent := s.population.index[p.Parent]
	if score > s.population.Best().Score {
		return score - parent.Score
	}
	return siblingEarns * max(0, score-max(parent.Score, parent.Bred))
}

// silent is the number of calls in a row that a model may leave unanswered before it counts as
// gone.
const silent = 4

// useless is the number of replies in a row without a new candidate that closes the models. Broken
// replies count too, but not as echoes: their author may yet succeed.
const useless = 20

// echoes is the number of paid replies in a row that may repeat known candidates before their
// author is dismissed. It is the smallest limit that still finds a good reply after nine useless
// ones. For free replies only [useless] holds.
const echoes = 10

// echo counts replies that repeat a known candidate. A free reply, such as one from the journal,
// does not count.
func (b *Account) echo(o *Feedback) {
	switch {
	case o.Dollars == 0:
	case !o.Known:
		b.Echoes = 0
	default:
		b.Echoes++
		b.Dismissed = b.Dismissed || b.Echoes >= echoes
	}
}

// hear closes the models when all are gone, or when their replies bring nothing new.
func (au *authors) hear(o *Feedback, fresh bool) {
	switch {
	case o.Unheard:
	case fresh:
		au.Repeats = 0
	default:
		au.Repeats++
	}
	if au.Repeats >= useless {
		au.Close()
	}
	au.closeIfGone()
}

// closeIfGone closes the models when all are gone or dismissed.
func (au *authors) closeIfGone() {
	left := func(a Author) bool { return au.account(a.Name).Silence < silent && !au.account(a.Name).Dismissed }
	if !slices.ContainsFunc(au.config.Authors, left) {
		au.Close()
	}
}

// Account returns the account of an author: of a model by its name, or of
// [Rules].
func (au *authors) Account(author string) Account { return *au.account(author) }

// base returns the last candidate by a model on the way to a member, or the original. The member's
// loose steps lead from it to the member.
func (pop *population) base(m *Member) *Member {
	if b := pop.index[m.Base]; b != nil {
		return b
	}
	return pop.index[pop.Root]
}

// stepsAfterBase returns the steps of a member after its base. All of them are rewrites.
func (m *Member) stepsAfterBase() []beagle.Step { return m.Steps[loosen(m.Steps):] }

// loosen returns the number of steps up to the last one that a model took.
func loosen(steps []beagle.Step) int {
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Mutator == ByAuthor {
			return i + 1
		}
	}
	return 0
}

// baseOf returns the ID of the candidate that the last model's step made, or "".
func baseOf(steps []beagle.Step) string {
	if n := loosen(steps); n > 0 {
		return steps[n-1].Param
	}
	return ""
}
