package campaign

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/beagle-go/beagle"
)

// A Subtree is the time below a target in production, as a benchmark is compared with it.
type Subtree struct {
	Share     float64            `json:"share"`
	Samples   int64              `json:"samples"`
	Effective float64            `json:"effective"`
	Callees   map[string]float64 `json:"callees"`
	Lines     map[string]float64 `json:"lines"`
}

// A State is all that a campaign needs to go on in another process. The profile is in it as far as
// it is needed, since a service cannot be asked for the same profile twice.
type State struct {
	Campaign beagle.Campaign                     `json:"campaign"`
	Dir      string                              `json:"dir"`
	Table    beagle.Hotspots                     `json:"table"`
	Most     int                                 `json:"most"`     // targets to take up
	Callers  map[string][]beagle.CostShare       `json:"callers"`  // who pays for a target without an entry
	Together map[string]map[string]float64       `json:"together"` // shares in which both are on the stack
	Subtrees map[string]*Subtree                 `json:"subtrees"`
	Memory   map[string][]beagle.CampaignAttempt `json:"memory"` // earlier attempts, by target
}

// Plan lists the targets of a campaign: the hot spots that save most, and callers of functions that
// an earlier campaign improved so far that they are no hot spots any more.
func (s *State) Plan() {
	for len(s.Campaign.Targets) < s.Most && s.another() {
	}
	s.fallen()
}

// Looked times the number of targets is how many hot spots a campaign looks at.
const Looked = 4

// Instead takes up the next hot spot in place of a target that cost nothing to give up.
func (s *State) Instead() {
	if len(s.Campaign.Targets) < Looked*s.Most {
		s.another()
	}
}

// another adds the hot spot that saves most of those that are no targets, if there is one.
func (s *State) another() bool {
	spots := slices.DeleteFunc(slices.Clone(s.Table.Hotspots), func(h beagle.Hotspot) bool {
		return s.target(h.Target) != nil
	})
	if len(spots) == 0 {
		return false
	}
	h := slices.MinFunc(spots, func(a, b beagle.Hotspot) int {
		return cmp.Or(cmp.Compare(b.SaveYear, a.SaveYear), cmp.Compare(b.Net, a.Net), cmp.Compare(a.Target, b.Target))
	})
	s.Campaign.Targets = append(s.Campaign.Targets, beagle.CampaignTarget{
		Target: h.Target, Net: h.Net, Cum: h.Cum, State: beagle.CampaignWaiting,
		Why: fmt.Sprintf("hot spot: %.2f %% of the service", 100*h.Net),
	})
	return true
}

// fallen finds functions that an earlier campaign improved, and that have no entry now. It says
// which caller pays for them.
func (s *State) fallen() {
	for _, d := range s.Table.Dropped {
		before := lastImproved(s.Memory[d.Target])
		if d.Target == "" || before == nil || len(d.CountsFor) == 0 || before.Net <= d.Net {
			continue
		}
		caller := d.CountsFor[0].What
		s.promote(caller, fmt.Sprintf("escalated: its callee %s fell from %.2f %% to %.2f %% of the service since "+
			"campaign %s, below the least of %.2f %%, and counts for it now", d.Target, 100*before.Net, 100*d.Net,
			before.Campaign, 100*s.Campaign.Least))
	}
}

func lastImproved(list []beagle.CampaignAttempt) *beagle.CampaignAttempt {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].State == beagle.CampaignImproved {
			return &list[i]
		}
	}
	return nil
}

// Next is the target that is to be taken up; nil when all are done.
func (s *State) Next() *beagle.CampaignTarget {
	for i := range s.Campaign.Targets {
		if t := &s.Campaign.Targets[i]; t.State == beagle.CampaignWaiting || t.State == beagle.CampaignRunning {
			return t
		}
	}
	return nil
}

// Left is the number of targets that are not done.
func (s *State) Left() (n int) {
	for _, t := range s.Campaign.Targets {
		if t.State == beagle.CampaignWaiting || t.State == beagle.CampaignRunning {
			n++
		}
	}
	return n
}

// Escalate asks whether an improved target is still worth a change. When it fell below the least
// share, the caller that pays for most of it is next. It returns the reason, "" when nothing
// changes.
func (s *State) Escalate(target string) string {
	t := s.target(target)
	if t == nil || t.State != beagle.CampaignImproved || t.Ratio == nil || t.Ratio.Point <= 0 {
		return ""
	}
	left := t.Net / t.Ratio.Point
	if left >= s.Campaign.Least {
		return ""
	}
	fell := fmt.Sprintf("%s falls from %.2f %% to about %.2f %% of the service, below the least of %.2f %%",
		target, 100*t.Net, 100*left, 100*s.Campaign.Least)
	if len(s.Callers[target]) == 0 {
		t.Next = fell + "; no caller of it is a hot spot"
		return t.Next
	}
	caller := s.Callers[target][0].What
	if at := s.target(caller); at != nil && at.State != beagle.CampaignWaiting {
		t.Next = fell + "; its caller " + caller + " was taken up already"
		return t.Next
	}
	s.promote(caller, "escalated: its callee "+fell)
	t.Next = fell + ": its caller " + caller + " is next"
	return t.Next
}

// promote puts a target in front of those that wait, also beyond the number of targets.
func (s *State) promote(target, why string) {
	list := s.Campaign.Targets
	at := slices.IndexFunc(list, func(t beagle.CampaignTarget) bool { return t.Target == target })
	var t beagle.CampaignTarget
	switch {
	case at >= 0 && list[at].State != beagle.CampaignWaiting:
		return
	case at >= 0:
		t = list[at]
		list = slices.Delete(list, at, at+1)
	default:
		i := slices.IndexFunc(s.Table.Hotspots, func(h beagle.Hotspot) bool { return h.Target == target })
		if i < 0 {
			return
		}
		h := s.Table.Hotspots[i]
		t = beagle.CampaignTarget{Target: target, Net: h.Net, Cum: h.Cum, State: beagle.CampaignWaiting}
	}
	t.Why = why
	front := slices.IndexFunc(list, func(t beagle.CampaignTarget) bool { return t.State == beagle.CampaignWaiting })
	if front < 0 {
		front = len(list)
	}
	s.Campaign.Targets = slices.Insert(list, front, t)
}

func (s *State) target(name string) *beagle.CampaignTarget {
	for i := range s.Campaign.Targets {
		if s.Campaign.Targets[i].Target == name {
			return &s.Campaign.Targets[i]
		}
	}
	return nil
}

// Known is the earlier attempt that makes another one needless: of the same text and inputs, with
// as many candidates, without an improvement.
func (s *State) Known(now beagle.CampaignAttempt) *beagle.CampaignAttempt {
	list := s.Memory[now.Target]
	for i := len(list) - 1; i >= 0; i-- {
		a := &list[i]
		if a.TargetID != now.TargetID || a.Inputs != now.Inputs || a.Candidates < now.Candidates {
			continue
		}
		switch a.State {
		case beagle.CampaignNothing, beagle.CampaignRefused, beagle.CampaignTests:
			return a
		}
	}
	return nil
}

// Tally sums up what the improvements save.
func (s *State) Tally() {
	var won []Won
	for _, t := range s.Campaign.Targets {
		if t.State == beagle.CampaignImproved && t.Ratio != nil {
			won = append(won, Won{t.Target, t.Cum, *t.Ratio, t.Similarity})
		}
	}
	all, each := Sum(won, s.Table.Effective, func(a, b string) float64 { return s.Together[a][b] })
	s.Campaign.Saving = s.worth(all)
	for i := range s.Campaign.Targets {
		if saving, ok := each[s.Campaign.Targets[i].Target]; ok {
			saving = s.worth(saving)
			s.Campaign.Targets[i].Saving = &saving
		}
	}
}

// worth puts cores and money to a share.
func (s *State) worth(saving beagle.CampaignSaving) beagle.CampaignSaving {
	t := &s.Table
	if t.Unit == "cores" || t.Cores > 0 {
		saving.Cores = tidy(saving.Share * t.Cores)
	}
	year := s.year()
	if year == 0 {
		return saving
	}
	saving.Year, saving.YearLow, saving.YearHigh = round2(saving.Share*year), round2(saving.Low*year),
		round2(saving.High*year)
	saving.Currency = t.Price.Currency
	return saving
}

// year is what the whole service costs a year, as far as a saving becomes fewer machines.
func (s *State) year() float64 {
	for _, h := range s.Table.Hotspots {
		if h.Net > 0 && h.CostYear > 0 && s.Table.Price != nil {
			return h.CostYear / h.Net * s.Table.Autoscaling.Fraction
		}
	}
	return 0
}

func round2(v float64) float64 { return float64(int64(v*100+0.5)) / 100 }
