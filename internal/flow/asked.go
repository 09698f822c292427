package flow

import (
	"cmp"
	"maps"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/mutate/llm"
)

// An AskedSum is what a run has got from a model and for how much.
type AskedSum struct {
	Calls    int        `json:"calls"` // answers, repairs included
	Unheard  int        `json:"unheard,omitempty"`
	In       int        `json:"in"`
	Out      int        `json:"out"`
	Cost     llm.Micros `json:"micros"`
	Seconds  float64    `json:"seconds"`
	Made     int        `json:"made"`     // new candidates
	Repaired int        `json:"repaired"` // of them, in a second round
	Refused  int        `json:"refused"`  // answers without a candidate, or with one that was there
}

// TakeAsked sorts what a model wrote into the draft.
func (d *Draft) TakeAsked(c *Course, p evolve.Proposal, a Asked) {
	if d.Asked == nil {
		d.Asked = map[int]Asked{}
	}
	d.Asked[p.ID] = a
	d.Take(c, []evolve.Proposal{p}, []Proposed{a.Proposed})
}

// charge books on each outcome what it has cost: its calls, and its part of
// the time that judging the draft took.
func (d *Draft) charge(outcomes []evolve.Outcome) {
	part := 0.0
	if len(d.Made) > 0 {
		part = d.Judging.Seconds() / float64(len(d.Made))
	}
	for i := range outcomes {
		o := &outcomes[i]
		a, asked := d.Asked[o.Proposal]
		if asked {
			o.Dollars, o.Seconds = a.Cost.Dollars(), a.Seconds
			o.Unheard = a.Unheard != ""
			o.Shape = a.Shape
		}
		if i >= len(d.Known) {
			o.Seconds += part
		}
	}
}

// addAsked sums up what the models of a draft did.
func (l *Log) addAsked(d *Draft) {
	made := map[int]bool{}
	for _, m := range d.Made {
		made[m.Proposal] = true
	}
	l.Asked = maps.Clone(l.Asked) // who has a copy of the log keeps theirs
	if l.Asked == nil && len(d.Asked) > 0 {
		l.Asked = map[string]AskedSum{}
	}
	for _, id := range slices.Sorted(maps.Keys(d.Asked)) {
		a := d.Asked[id]
		s := l.Asked[a.Model]
		s.Calls, s.In, s.Out, s.Cost, s.Seconds = s.Calls+a.Calls, s.In+a.In, s.Out+a.Out, s.Cost+a.Cost, s.Seconds+a.Seconds
		switch {
		case a.Unheard != "":
			s.Unheard++
		case !made[id]:
			s.Refused++
		case a.Repaired:
			s.Repaired++
			fallthrough
		default:
			s.Made++
		}
		l.Asked[a.Model] = s
	}
}

// lostCalls is the part of a result's summary of models that only the journal of
// calls knows; nil when no model was asked.
func (x *session) lostCalls() (*beagle.ModelSummary, error) {
	m := &x.spec.Models
	if !m.On() || m.Replay != "" {
		return nil, nil
	}
	if err := x.openModels(); err != nil {
		return nil, err
	}
	l := x.models.calls.lostNow()
	return &beagle.ModelSummary{Lost: l.calls, AtMost: l.money.Dollars()}, nil
}

// modelSummary is what a result says of the models; nil when none was asked.
func (c *Course) modelSummary(s *Spec) *beagle.ModelSummary {
	if !s.Models.On() {
		return nil
	}
	m := &beagle.ModelSummary{Redacted: s.Redacted(), Replayed: s.Models.Replay != "", Closed: !c.Search.Open()}
	cost := llm.Micros(0)
	for _, name := range slices.Sorted(maps.Keys(c.Log.Asked)) {
		a := c.Log.Asked[name]
		m.Calls, m.Tokens, cost = m.Calls+a.Calls, m.Tokens+a.In+a.Out, cost+a.Cost
	}
	m.Dollars = cost.Dollars()
	names := []string{evolve.Rules}
	for _, a := range s.Models.Authors() {
		names = append(names, a.Name)
	}
	for _, name := range names {
		b := c.Search.Book(name)
		m.Authors = append(m.Authors, beagle.AuthorSum{
			Author: name, Asked: b.Asked, Unheard: b.Unheard, Useless: b.Useless, Candidates: b.Written,
			Behaving: b.Behaving, Earned: b.Earned, Dollars: b.Dollars, Seconds: b.Seconds,
		})
	}
	slices.SortStableFunc(m.Authors, func(a, b beagle.AuthorSum) int { return cmp.Compare(b.Earned, a.Earned) })
	return m
}
