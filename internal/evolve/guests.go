package evolve

// Guest is the kind of a proposal for a candidate that a person or an agent handed in during the
// search.
const Guest Kind = "guest"

// Guests is the author of all guests, with one account.
const Guests = "guests"

// Invite returns the proposal for a candidate from outside. It costs budget, and [Search.Tell]
// takes its feedback like any other. ok is false if no budget is left. A search that had ended for
// lack of ideas goes on. Islands take turns.
func (s *Search) Invite() (p Proposal, ok bool) {
	if !s.CanInvite() {
		return Proposal{}, false
	}
	s.agenda.Ended = false
	p = s.enroll(Proposal{
		Kind: Guest, Author: Guests, Parent: s.population.Root,
		Island: s.authors.account(Guests).Asked % s.Config.Islands,
	})
	s.authors.account(Guests).Asked++
	return p, true
}

// CanInvite reports whether there is budget for another candidate.
func (s *Search) CanInvite() bool { return s.Config.Budget > s.agenda.Spent+len(s.agenda.Pending) }

// fromOutside reports whether an author other than the rules makes the candidate.
func (p *Proposal) fromOutside() bool { return p.Kind == Model || p.Kind == Guest }
