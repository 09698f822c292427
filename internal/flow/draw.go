package flow

import (
	"fmt"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/store"
)

// A Visit is a version that was handed in, and the proposal that stands for it
// in the search.
type Visit struct {
	Proposal   evolve.Proposal  `json:"proposal"`
	Submission store.Submission `json:"submission"`
}

// A Received is the outcome of a visit: a candidate, or the verdict that refuses it.
type Received struct {
	ProposalOutcome
	Refusal *beagle.Verdict `json:"refusal,omitempty"`
}

// Begin begins the draft of a generation. It invites guests as far as the budget covers them; the
// driver must receive them before anything else.
func (c *Course) Begin(guests []store.Submission) *Draft {
	d := new(Draft)
	for _, v := range guests {
		p, ok := c.Search.Invite()
		if !ok {
			break
		}
		d.Visits = append(d.Visits, Visit{p, v})
	}
	return d
}

// Admit takes the candidates of guests into the draft, and tells their submitters that the search
// has taken them.
func (c *Course) Admit(s *store.Store, run string, d *Draft, received []Received) error {
	if len(received) != len(d.Visits) {
		return fmt.Errorf("run %s: of %d versions that were handed in, %d were received", run, len(d.Visits),
			len(received))
	}
	for i, v := range d.Visits {
		fate := Fate{Candidate: received[i].Candidate}
		if refusal := received[i].Refusal; refusal != nil {
			fate.Verdict = *refusal
		} else {
			d.Welcome(v.Proposal.ID, v.Submission.ID)
		}
		if err := KeepFate(s, run, v.Submission.ID, fate); err != nil {
			return err
		}
		d.Visitors = append(d.Visitors, v.Submission.ID)
		d.Take(c, []evolve.Proposal{v.Proposal}, []ProposalOutcome{received[i].ProposalOutcome})
	}
	d.Visits = nil
	return nil
}

// Enter takes models' replies into the draft, and makes room for the given number of candidates of
// the rules.
func (c *Course) Enter(run string, d *Draft, asked []*Asked, rules int) error {
	for _, a := range asked {
		i := slices.IndexFunc(c.Search.Pending, func(p evolve.Proposal) bool { return p.ID == a.Proposal })
		if i < 0 {
			return fmt.Errorf("run %s: proposal %d, which was answered, is not pending", run, a.Proposal)
		}
		d.TakeAsked(c, c.Search.Pending[i], *a)
	}
	d.Outside = len(d.Made)
	d.Full = d.Outside + rules
	return nil
}

// A Lack says which proposals a draft needs next.
type Lack struct {
	Trims bool // proposals that leave out steps of the finalists
	Drawn bool // the number of proposals of the rules; with 0 the search learns that it need not propose
	Rules int
}

// Lacks returns what a draft needs in a round, from 0 on. A draft of trims is filled once; any
// other asks again to replace proposals that made nothing new.
func (d *Draft) Lacks(round int, trim bool) Lack {
	switch {
	case trim:
		return Lack{Trims: round == 0}
	case round >= MaxRefills:
		return Lack{}
	}
	return Lack{Drawn: true, Rules: d.Full - len(d.Made)}
}

// Ask returns the proposals that a draft lacks.
func (c *Course) Ask(lack Lack) []evolve.Proposal {
	switch {
	case lack.Trims:
		return c.Search.AskTrims()
	case lack.Drawn:
		return c.Search.Ask(lack.Rules)
	}
	return nil
}

// fill fills a draft with the candidates of the rules, which the caller makes.
func (c *Course) fill(d *Draft, trim bool, make func([]evolve.Proposal) ([]ProposalOutcome, error)) error {
	for round := 0; ; round++ {
		asked := c.Ask(d.Lacks(round, trim))
		if len(asked) == 0 {
			return nil
		}
		made, err := make(asked)
		if err != nil {
			return err
		}
		d.Take(c, asked, made)
	}
}

// Answer tells the submitters the verdicts on the guests of a draft.
func (d *Draft) Answer(s *store.Store, run string, evaluated []Evaluation) error {
	for proposal, submission := range d.Guests {
		fate, ok := d.Fate(proposal, evaluated)
		if !ok {
			continue
		}
		if err := KeepFate(s, run, submission, fate); err != nil {
			return err
		}
	}
	return nil
}

// Dismiss takes the guests of a draft out of the inbox.
func (d *Draft) Dismiss(s *store.Store, run string) error {
	for _, id := range d.Visitors {
		if err := s.RemoveSubmission(run, id); err != nil {
			return err
		}
	}
	return nil
}

// DismissedModels returns the models that the search no longer asks.
func (c *Course) DismissedModels(s *Spec) []string {
	var gone []string
	for _, m := range s.Models.Ask {
		asked := func(a evolve.Author) bool { return a.Model == m.Name && !c.Search.Account(a.Name).Dismissed }
		if !slices.ContainsFunc(c.Search.Config.Authors, asked) {
			gone = append(gone, m.Name)
		}
	}
	return gone
}
