package flow

import (
	"cmp"
	"fmt"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/inorder"
)

// TakeAsked sorts what a model wrote into the draft.
func (d *Draft) TakeAsked(c *Course, p evolve.Proposal, a Asked) {
	if d.Asked == nil {
		d.Asked = map[int]Asked{}
	}
	d.Asked[p.ID] = a
	d.Take(c, []evolve.Proposal{p}, []ProposalOutcome{a.ProposalOutcome})
}

// fates describes the fate of each reply in a draft in one line. It must run before the search
// learns of the replies.
func (d *Draft) fates(c *Course, feedback []evolve.Feedback) []string {
	var out []string
	for i := range feedback {
		a, asked := d.Asked[feedback[i].Proposal]
		if !asked || a.Spent {
			continue
		}
		c.Log.Replies++
		line := fmt.Sprintf("reply %d of %s: %s", c.Log.Replies, a.Model, fate(c, &a, &feedback[i]))
		if a.Note != "" {
			line += " [" + a.Note + "]"
		}
		out = append(out, line)
	}
	return out
}

// fate describes the fate of one reply.
func fate(c *Course, a *Asked, o *evolve.Feedback) string {
	v := &o.Verdict
	switch {
	case a.Unheard != "":
		return "none: " + a.Unheard
	case a.Refused != "":
		return "it makes no version: " + a.Refused
	case v.Status == beagle.Duplicate:
		return "it is a version that was there already"
	case !v.OK():
		return fmt.Sprintf("%s by %s: %s", v.Status, v.Stage, v.Reason)
	case v.Screen == nil:
		return "equal, and not measured"
	}
	says := "about " + v.Screen.Spelled()
	if best := c.Search.Best(); best != nil && best.Point > 0 {
		says += fmt.Sprintf(", the best so far about %.2fx", best.Point)
	}
	return says
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
			o.Unheard, o.Unsent = a.Unheard != "" && !a.Spent, a.Spent
			o.Shape = a.Shape
			o.Known = a.Known || i < len(d.Known) && a.Candidate != ""
		}
		if i >= len(d.Known) {
			o.Seconds += part
		}
	}
}

// Accounts returns the accounts of all authors, by name; nil when no model is asked.
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

// SumModels adds the search's knowledge of the models to the sums of the journal of calls. shut
// says that the search had stopped asking them before it ended.
func SumModels(s *Spec, m *beagle.ModelSummary, accounts map[string]evolve.Account, shut bool) {
	m.Redacted, m.Replayed, m.Closed = s.Redacted(), s.Models.Replay != "", shut
	m.Authors = append([]beagle.AuthorSum{{Author: evolve.Rules}}, m.Authors...)
	for i := range m.Authors {
		a := &m.Authors[i]
		b := accounts[a.Author]
		a.Asked, a.Unheard, a.Useless, a.Candidates, a.Behaving, a.Earned, a.Seconds = b.Asked, b.Unheard, b.Useless,
			b.Evaluated, b.Behaving, b.Earned, b.Seconds
	}
	inorder.By(m.Authors, func(a, b beagle.AuthorSum) int { return cmp.Compare(b.Earned, a.Earned) })
}
