package evolve

import (
	"math"
	"slices"
)

// Lend gives the rules n candidates of the models' share, because slow models leave the evaluator
// idle. It never lends candidates that are reserved for calls.
func (au *authors) Lend(n int) { au.Lent += n }

// CanLend reports whether the rules would have more room after [Search.Lend].
func (s *Search) CanLend() bool {
	return s.authors.Open() && !s.Config.NoRules && !s.agenda.dry() && s.Room() < s.freeBudget()
}

// leastShare and mostShare are the least and the most of the budget that is kept for models.
const leastShare, mostShare = 0.3, 0.8

// share returns the part of the budget that is kept for the models. It follows the recent worth of
// a dollar spent on either, and is half while that worth is unknown. The models need no more than
// their calls can fill.
func (au *authors) share() float64 {
	switch {
	case !au.Open():
		return 0
	case au.config.NoRules:
		return 1
	}
	models := 0.0
	for _, a := range au.config.Authors {
		if b := au.account(a.Name); !b.Dismissed {
			models = max(models, b.worth())
		}
	}
	share := evenShare
	if rules := au.account(Rules).worth(); au.account(Rules).Evaluated > 0 && au.answered() {
		share = min(mostShare, max(leastShare, models/(models+rules)))
	}
	if au.config.Calls > 0 {
		share = min(share, float64(au.config.Calls)/float64(au.config.Budget))
	}
	return share
}

func (au *authors) answered() bool {
	return slices.ContainsFunc(au.config.Authors, func(a Author) bool { return au.account(a.Name).RecentCalls > 0 })
}

// reserved returns the number of candidates that the rules can never borrow: one for each remaining
// call, within the models' largest share. If the number of calls is unknown, it is the models'
// smallest share.
func (au *authors) reserved(all []Proposal) int {
	if !au.Open() {
		return 0
	}
	asked, evaluated, pending := 0, 0, 0
	for _, a := range au.config.Authors {
		b := au.account(a.Name)
		asked, evaluated = asked+b.Asked, evaluated+b.Evaluated
	}
	for _, p := range all {
		if p.Kind == Model {
			pending++
		}
	}
	part := func(share float64) int {
		return max(0, int(share*float64(au.config.Budget))-evaluated-pending)
	}
	if au.config.Calls > 0 {
		return min(max(0, au.config.Calls-asked), part(mostShare))
	}
	return part(leastShare)
}

// freeBudget returns the budget that is neither spent, nor pending, nor reserved for models.
func (s *Search) freeBudget() int {
	return max(0, s.Config.Budget-s.agenda.Spent-len(s.agenda.Pending)-s.authors.reserved(s.agenda.Pending))
}

// Room returns the number of proposals that the rules may make now.
func (s *Search) Room() int {
	switch {
	case s.Config.NoRules || s.agenda.dry():
		return 0
	case !s.authors.Open():
		return s.Config.Budget - s.agenda.Spent - len(s.agenda.Pending)
	}
	pending := 0
	for _, p := range s.agenda.Pending {
		if !p.fromOutside() {
			pending++
		}
	}
	mine := int(math.Ceil((1-s.authors.share())*float64(s.Config.Budget))) + s.authors.Lent
	return max(0, min(s.freeBudget(), mine-s.authors.account(Rules).Evaluated-pending))
}

// CanCommission reports whether AskModels would return a proposal.
func (s *Search) CanCommission() bool {
	return s.authors.Open() && !s.agenda.Ended && s.Config.Budget > s.agenda.Spent+len(s.agenda.Pending)
}

// maxBehind bounds the candidates that the rules derive from one reply while models are open.
// Without it, many small steps on one reply leave no room for the next.
const maxBehind = 6

// crowded reports whether the rules have made enough candidates of the reply that a member descends
// from.
func (au *authors) crowded(m *Member) bool {
	return m.Base != "" && au.Open() && au.Behind[m.Base] >= maxBehind
}

// noteBehind counts the rules' proposals that build on a reply.
func (au *authors) noteBehind(p Proposal) {
	m := au.population.index[p.Parent]
	if mate := au.population.index[p.Mate]; mate != nil && mate.Base != "" {
		m = mate
	}
	if m.Base != "" {
		au.Behind[m.Base]++
	}
}

// Finish ends a search whose caller knows that no more proposals or feedback will come.
func (ag *agenda) Finish() { ag.Ended = true }
