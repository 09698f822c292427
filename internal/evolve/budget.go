package evolve

import (
	"math"
	"slices"
)

// Lend lets the rules have n candidates of the models' share, because the models keep the
// evaluator waiting. Candidates that are reserved for calls are never lent.
func (s *Search) Lend(n int) { s.Lent += n }

// CanLend reports whether the rules would have more room after [Search.Lend].
func (s *Search) CanLend() bool {
	return s.Open() && !s.Config.NoRules && !s.dry() && s.Room() < s.free()
}

// leastShare and mostShare are the least and the most of the budget that is kept for models.
const leastShare, mostShare = 0.3, 0.8

// share returns the part of the budget that is kept for the models, by the recent worth of a
// dollar spent on either; half as long as that is unknown. The models need no more than their
// calls can fill.
func (s *Search) share() float64 {
	switch {
	case !s.Open():
		return 0
	case s.Config.NoRules:
		return 1
	}
	models := 0.0
	for _, a := range s.Config.Authors {
		if b := s.account(a.Name); !b.Dismissed {
			models = max(models, b.worth())
		}
	}
	share := evenShare
	if rules := s.account(Rules).worth(); s.account(Rules).Evaluated > 0 && s.answered() {
		share = min(mostShare, max(leastShare, models/(models+rules)))
	}
	if s.Config.Calls > 0 {
		share = min(share, float64(s.Config.Calls)/float64(s.Config.Budget))
	}
	return share
}

func (s *Search) answered() bool {
	return slices.ContainsFunc(s.Config.Authors, func(a Author) bool { return s.account(a.Name).RecentCalls > 0 })
}

// reserved returns how many candidates are never lent to the rules: one for each call that is
// left, within the models' largest share. If the number of calls is unknown, it is the models'
// smallest share.
func (s *Search) reserved() int {
	if !s.Open() {
		return 0
	}
	asked, evaluated, pending := 0, 0, 0
	for _, a := range s.Config.Authors {
		b := s.account(a.Name)
		asked, evaluated = asked+b.Asked, evaluated+b.Evaluated
	}
	for _, p := range s.Pending {
		if p.Kind == Model {
			pending++
		}
	}
	part := func(share float64) int {
		return max(0, int(share*float64(s.Config.Budget))-evaluated-pending)
	}
	if s.Config.Calls > 0 {
		return min(max(0, s.Config.Calls-asked), part(mostShare))
	}
	return part(leastShare)
}

// free is the budget that is neither spent, nor pending, nor reserved for models.
func (s *Search) free() int {
	return max(0, s.Config.Budget-s.Spent-len(s.Pending)-s.reserved())
}

// Room returns how many proposals the rules may make now.
func (s *Search) Room() int {
	switch {
	case s.Config.NoRules || s.dry():
		return 0
	case !s.Open():
		return s.Config.Budget - s.Spent - len(s.Pending)
	}
	pending := 0
	for _, p := range s.Pending {
		if !p.fromOutside() {
			pending++
		}
	}
	mine := int(math.Ceil((1-s.share())*float64(s.Config.Budget))) + s.Lent
	return max(0, min(s.free(), mine-s.account(Rules).Evaluated-pending))
}

// CanCommission reports whether AskModels has something to give.
func (s *Search) CanCommission() bool {
	return s.Open() && !s.Ended && s.Config.Budget > s.Spent+len(s.Pending)
}

// maxBehind bounds the candidates that the rules make of one reply while models write. Without
// it, many small steps on one reply leave no room for the next.
const maxBehind = 6

// crowded reports whether the rules have made enough of the reply that a member
// stands on.
func (s *Search) crowded(m *Member) bool {
	return m.Base != "" && s.Open() && s.Behind[m.Base] >= maxBehind
}

// noteBehind counts what the rules propose behind a reply.
func (s *Search) noteBehind(p Proposal) {
	m := s.index[p.Parent]
	if mate := s.index[p.Mate]; mate != nil && mate.Base != "" {
		m = mate
	}
	if m.Base != "" {
		s.Behind[m.Base]++
	}
}

// Finish ends a search whose caller knows that no more proposals or feedback will come.
func (s *Search) Finish() { s.Ended = true }
