package flow

import (
	"cmp"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
)

// TakeAsked sorts what a model wrote into the draft.
func (d *Draft) TakeAsked(c *Course, p evolve.Proposal, a Asked) {
	if d.Asked == nil {
		d.Asked = map[int]Asked{}
	}
	d.Asked[p.ID] = a
	d.Take(c, []evolve.Proposal{p}, []Proposed{a.Proposed})
}

// charge notes in each feedback what the proposal has cost: its calls, and its part of
// the time that evaluating the draft took.
func (d *Draft) charge(feedback []evolve.Feedback) {
	part := 0.0
	if len(d.Made) > 0 {
		part = d.Evaluating.Seconds() / float64(len(d.Made))
	}
	for i := range feedback {
		o := &feedback[i]
		a, asked := d.Asked[o.Proposal]
		if asked {
			o.Dollars, o.Seconds = a.Cost.Dollars(), a.Seconds
			o.Unheard = a.Unheard != ""
			o.Shape = a.Shape
			o.Known = a.Known || i < len(d.Known) && a.Candidate != ""
		}
		if i >= len(d.Known) {
			o.Seconds += part
		}
	}
}

// Accounts are the accounts of all authors, by name; nil when no model is asked.
func (c *Course) Accounts(s *Spec) map[string]evolve.Account {
	if !s.Models.On() {
		return nil
	}
	out := map[string]evolve.Account{evolve.Rules: c.Search.Account(evolve.Rules)}
	for _, a := range s.Models.Authors() {
		out[a.Name] = c.Search.Account(a.Name)
	}
	return out
}

// SumModels adds what the search knows of the models to what the journal of calls
// does. shut says that they were not asked any more when it ended.
func SumModels(s *Spec, m *beagle.ModelSummary, accounts map[string]evolve.Account, shut bool) {
	m.Redacted, m.Replayed, m.Closed = s.Redacted(), s.Models.Replay != "", shut
	m.Authors = append([]beagle.AuthorSum{{Author: evolve.Rules}}, m.Authors...)
	for i := range m.Authors {
		a := &m.Authors[i]
		b := accounts[a.Author]
		a.Asked, a.Unheard, a.Useless, a.Candidates, a.Behaving, a.Earned, a.Seconds = b.Asked, b.Unheard, b.Useless,
			b.Evaluated, b.Behaving, b.Earned, b.Seconds
	}
	slices.SortStableFunc(m.Authors, func(a, b beagle.AuthorSum) int { return cmp.Compare(b.Earned, a.Earned) })
}
