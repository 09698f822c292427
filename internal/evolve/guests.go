package evolve

// Guest is the kind of a proposal for a candidate that a person or an agent handed in during the
// search.
const Guest Kind = "guest"

// Guests is the author of all guests, with one account.
const Guests = "guests"

// Invite returns the proposal for a candidate from outside, which is told of
// like all others and costs budget like them. ok is false when none is left. A
// search that had nothing left to try goes on with it. Islands take turns.
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

// fromOutside reports whether a proposal's candidate is not of the rules' making.
func (p *Proposal) fromOutside() bool { return p.Kind == Model || p.Kind == Guest }
