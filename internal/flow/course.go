package flow

import (
	"fmt"
	"slices"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
)

// A Course is a search under way with the log of it. Its JSON form is all that
// a driver must keep to go on in another process.
type Course struct {
	Search *evolve.Search `json:"search"`
	Log    Log            `json:"log"`

	fates []string // of the last generation's replies, for the watcher
}

// NewCourse begins the search of a run that is prepared.
func NewCourse(s *Spec, ready *Prepared) *Course {
	c := &Course{Search: evolve.New(evolve.Config{
		Seed: s.Seed, Strategy: evolve.Strategy(s.Strategy), Budget: s.Candidates, Islands: s.Islands,
		Authors: s.Models.Authors(), NoRules: s.Models.NoRules, Calls: int(s.Models.Caps.Calls),
		Fastest: s.Fastest,
	})}
	c.Log.PrepareSeconds, c.Log.FirstSeconds = ready.Seconds, ready.First
	c.Search.Add(beagle.Candidate{ID: ready.RootID}, ready.Root, ready.Moves)
	return c
}

// Describe describes the search to a watcher.
func (s *Spec) Describe() string {
	return fmt.Sprintf("%d candidates, %s, seed %d", s.Candidates, s.Strategy, s.Seed)
}

// maxThin ends a search whose ideas are used up: this many generations in a row filled no quarter
// of their batch.
const maxThin = 3

// Done reports whether there is nothing left to try.
func (c *Course) Done() bool { return c.Search.Done() || c.Log.Thin >= maxThin }

// Late reports whether the time for searching is used up.
func (c *Course) Late(s *Spec) bool { return s.Time > 0 && c.Log.Seconds > s.Time.Seconds() }

// MaxRefills bounds how often a generation asks again to replace proposals that made nothing new.
const MaxRefills = 8

// A Draft is a generation in the making. Proposals that make nothing new are settled at once and
// replaced, since a build costs about the same for few candidates as for many.
type Draft struct {
	Proposals  []evolve.Proposal `json:"proposals,omitempty"` // behind Made, by index
	Made       []ProposalOutcome `json:"made,omitempty"`
	Known      []evolve.Feedback `json:"known,omitempty"`
	Asked      map[int]Asked     `json:"asked,omitempty"` // the models' outcomes, by proposal
	Evaluating time.Duration     `json:"judging,omitempty"`
	Guests     map[int]string    `json:"guests,omitempty"` // IDs of submissions, by proposal

	Visits   []Visit  `json:"visits,omitempty"`   // guests that are not received yet
	Visitors []string `json:"visitors,omitempty"` // IDs of all guests, those that were refused too
	Outside  int      `json:"written,omitempty"`  // of Made, what is not of the rules
	Full     int      `json:"full,omitempty"`     // how many are in Made when nothing is missing
}

// Take sorts the outcomes of proposals into the draft.
func (d *Draft) Take(c *Course, asked []evolve.Proposal, fresh []ProposalOutcome) {
	for i, m := range fresh {
		if m.Candidate == "" || c.Search.Seen[m.Candidate] || c.Search.Seen[m.Shape] || d.has(m) {
			d.Known = append(d.Known, feedbackOnNothing(m))
			continue
		}
		d.Proposals, d.Made = append(d.Proposals, asked[i]), append(d.Made, m)
	}
}

// has reports whether the draft has a candidate of this text or shape.
func (d *Draft) has(of ProposalOutcome) bool {
	return slices.ContainsFunc(d.Made, func(m ProposalOutcome) bool {
		return m.Candidate == of.Candidate || m.Shape != "" && m.Shape == of.Shape
	})
}

// feedbackOnNothing returns the feedback on a proposal that made nothing, or an existing candidate.
func feedbackOnNothing(m ProposalOutcome) evolve.Feedback {
	o := evolve.Feedback{Proposal: m.Proposal}
	if m.Candidate != "" {
		o.Candidate, o.Reading = beagle.Candidate{ID: m.Candidate, Steps: m.Steps}, m.Reading
		o.Verdict = beagle.Verdict{Candidate: m.Candidate, Status: beagle.Duplicate, Stage: "propose"}
	}
	return o
}

// Welcome links a proposal to the submission with this ID.
func (d *Draft) Welcome(proposal int, submission string) {
	if d.Guests == nil {
		d.Guests = map[int]string{}
	}
	d.Guests[proposal] = submission
}

// Candidates returns the candidates to evaluate.
func (d *Draft) Candidates() []string {
	ids := make([]string, len(d.Made))
	for i, m := range d.Made {
		ids[i] = m.Candidate
	}
	return ids
}

// Shares returns the candidates of each island, by island; some may have none.
func (d *Draft) Shares(islands int) [][]string {
	out := make([][]string, islands)
	for i, m := range d.Made {
		at := d.Proposals[i].Island
		out[at] = append(out[at], m.Candidate)
	}
	return out
}

// Tell takes the verdicts on a draft into the search and the log.
func (c *Course) Tell(s *Spec, d *Draft, evaluated *EvaluatedBatch, took time.Duration) error {
	fresh, err := d.feedback(evaluated.Candidates)
	if err != nil {
		return err
	}
	feedback := slices.Concat(d.Known, fresh)
	trims := len(feedback) > 0 && c.Search.IsTrim(feedback[0].Proposal)
	if s.Models.On() && !trims { // no author is charged for trims
		d.charge(feedback)
	}
	c.fates = d.fates(c, feedback)
	if err := c.Search.Tell(feedback); err != nil {
		return err
	}
	c.noteThin(s, d)
	island := map[string]int{}
	for i, m := range d.Made {
		island[m.Candidate] = d.Proposals[i].Island
	}
	c.Log.Add(evaluated.Candidates, island, evaluated.Cost, took)
	return nil
}

// noteThin counts the generations in a row that filled no quarter of their batch.
func (c *Course) noteThin(s *Spec, d *Draft) {
	if c.Log.Thin++; len(d.Made) > s.Batch/4 || c.Search.Open() {
		c.Log.Thin = 0
	}
}

// feedback joins the candidates of a draft with their evaluations.
func (d *Draft) feedback(evaluated []Evaluation) ([]evolve.Feedback, error) {
	by := make(map[string]*Evaluation, len(evaluated))
	for i := range evaluated {
		by[evaluated[i].Candidate] = &evaluated[i]
	}
	out := make([]evolve.Feedback, len(d.Made))
	for i, m := range d.Made {
		e := by[m.Candidate]
		if e == nil {
			return nil, fmt.Errorf("candidate %s of the generation was not evaluated", m.Candidate)
		}
		out[i] = evolve.Feedback{
			Proposal: m.Proposal, Candidate: beagle.Candidate{ID: m.Candidate, Steps: m.Steps},
			Verdict: e.Verdict, Moves: e.Moves, Private: m.Private, Twin: e.Verdict.Twin, Reading: m.Reading,
		}
	}
	return out, nil
}

// Event returns the news of a generation for a watcher. It reports each reply once.
func (c *Course) Event(s *Spec) *EvaluatedEvent {
	fates := c.fates
	c.fates = nil
	return &EvaluatedEvent{
		Replies:    fates,
		Candidates: c.Search.Spent, Budget: s.Candidates, Generation: c.Log.Generations,
		Elapsed: time.Duration(c.Log.Seconds * float64(time.Second)), Islands: c.Search.IslandBests(),
		Statuses: c.Log.Statuses(), Best: c.Log.Best(),
	}
}

// Field returns the finalists of the search.
func (c *Course) Field() Field {
	return Field{Finalists: c.Search.Finalists(), Leads: c.Search.Leads(), Tried: c.Search.Spent}
}

// Sum fills in the search's part of a result.
func (c *Course) Sum(s *Spec, r *beagle.Result, judging float64) {
	r.Candidates = c.Search.Spent
	r.Search = beagle.SearchSummary{
		Strategy: s.Strategy, Seed: s.Seed, Islands: c.Search.Config.Islands, Budget: s.Candidates,
		Generations: c.Log.Generations, Stopped: c.stopReason(s),
	}
	if r.Models != nil {
		SumModels(s, r.Models, c.Accounts(s), !c.Search.Open())
	}
	r.WallSeconds = c.Log.PrepareSeconds + c.Log.Seconds + judging
}

// stopReason returns the reason why the search ended.
func (c *Course) stopReason(s *Spec) string {
	switch {
	case c.Search.Spent >= s.Candidates:
		return "budget"
	case c.Late(s):
		return "time"
	case !c.Done():
		return "asked to"
	}
	return "nothing left to try"
}
