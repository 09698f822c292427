package campaign

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/beagle-go/beagle"
)

// A Subtree is the time below a target in production, as a benchmark is compared with it.
type Subtree struct {
	Share     float64            `json:"share"`
	Known     float64            `json:"known,omitempty"` // samples that tell Share
	Samples   int64              `json:"samples"`
	Effective float64            `json:"effective"`
	Callees   map[string]float64 `json:"callees"`
	Lines     map[string]float64 `json:"lines"`
}

// A State is all that a campaign needs to go on in another process. It holds the parts of the
// profile that it uses, since a service cannot give the same profile twice.
type State struct {
	Campaign beagle.Campaign                     `json:"campaign"`
	Dir      string                              `json:"dir"`
	Table    beagle.Hotspots                     `json:"table"`
	Most     int                                 `json:"most"`            // targets to take up
	First    []string                            `json:"first,omitempty"` // hot spots that go before others
	Heads    bool                                `json:"heads,omitempty"` // see Inside
	Callers  map[string][]beagle.CostShare       `json:"callers"`         // who pays for a target without an entry
	Together map[string]map[string]float64       `json:"together"`        // shares in which both are on the stack
	Subtrees map[string]*Subtree                 `json:"subtrees"`
	Memory   map[string][]beagle.CampaignAttempt `json:"memory"` // earlier attempts, by target
	Round    int                                 `json:"round"`  // targets that were entered, each time

	// Inside are the hot spots that a search of another one reaches, by that one. With Heads the
	// outer one goes first, and those inside are taken up only when it ends without an improvement.
	Inside map[string][]string `json:"inside,omitempty"`
}

// Plan lists the targets of a campaign: the hot spots that save most, and callers of functions that
// an earlier campaign improved so far that they are no hot spots any more.
func (s *State) Plan() {
	for len(s.Campaign.Targets) < s.Most && s.addTarget() {
	}
	s.escalateFallen()
}

// Looked times the number of targets is how many hot spots a campaign looks at.
const Looked = 4

// Replace takes up the next hot spot in place of a target that cost nothing to give up.
func (s *State) Replace() {
	if len(s.Campaign.Targets) < Looked*s.Most {
		s.addTarget()
	}
}

// addTarget adds the hot spot that saves most of those that are no targets, if there is one.
func (s *State) addTarget() bool {
	spots := slices.DeleteFunc(slices.Clone(s.Table.Hotspots), func(h beagle.Hotspot) bool {
		return s.target(h.Target) != nil || s.reached(h)
	})
	if len(spots) == 0 {
		return false
	}
	h := slices.MinFunc(spots, func(a, b beagle.Hotspot) int {
		byReach := 0
		if s.Heads {
			byReach = cmp.Compare(b.Reach, a.Reach)
		}
		return cmp.Or(cmp.Compare(s.place(a), s.place(b)), byReach, cmp.Compare(b.SaveYear, a.SaveYear),
			cmp.Compare(b.Net, a.Net), cmp.Compare(a.Target, b.Target))
	})
	why := fmt.Sprintf("hot spot: %.2f %% of the service", 100*h.Net)
	if s.Heads && h.Reach > h.Net {
		why += fmt.Sprintf(", %.2f %% with what it calls and a search of it changes", 100*h.Reach)
	}
	s.Campaign.Targets = append(s.Campaign.Targets, beagle.CampaignTarget{
		Target: h.Target, Net: h.Net, Cum: h.Cum, State: beagle.CampaignWaiting, Why: why,
	})
	return true
}

// reached reports whether a target that is not given up has a hot spot inside.
func (s *State) reached(h beagle.Hotspot) bool {
	return s.Heads && slices.ContainsFunc(s.Campaign.Targets, func(t beagle.CampaignTarget) bool {
		return !t.InVain() && slices.Contains(s.Inside[t.Target], h.Target)
	})
}

// place returns the position of a hot spot among those that go before others.
func (s *State) place(h beagle.Hotspot) int {
	if at := slices.Index(s.First, h.Target); at >= 0 {
		return at
	}
	return len(s.First)
}

// escalateFallen finds functions that an earlier campaign improved, and that have no entry now. It
// says which caller pays for them.
func (s *State) escalateFallen() {
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

// Next returns the target that is to be taken up; nil when all are done.
func (s *State) Next() *beagle.CampaignTarget {
	for i := range s.Campaign.Targets {
		if t := &s.Campaign.Targets[i]; t.State == beagle.CampaignWaiting || t.State == beagle.CampaignRunning {
			return t
		}
	}
	return nil
}

// Left returns the number of targets that are not done.
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
	net := s.searched(t)
	left := net / expected(t).Point
	if left >= s.Campaign.Least {
		return ""
	}
	fell := fmt.Sprintf("%s falls from %.2f %% to about %.2f %% of the service, below the least of %.2f %%",
		target, 100*net, 100*left, 100*s.Campaign.Least)
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

// searched returns the share of the service that the search of a target may change: of a head that
// is all that it reaches.
func (s *State) searched(t *beagle.CampaignTarget) float64 {
	if h := s.hotspot(t.Target); s.Heads && h != nil {
		return max(t.Net, h.Reach)
	}
	return t.Net
}

// hotspot returns the entry of a target, or nil.
func (s *State) hotspot(target string) *beagle.Hotspot {
	i := slices.IndexFunc(s.Table.Hotspots, func(h beagle.Hotspot) bool { return h.Target == target })
	if i < 0 {
		return nil
	}
	return &s.Table.Hotspots[i]
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
		h := s.hotspot(target)
		if h == nil {
			return
		}
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

// Target returns a target of the campaign by its name, or nil.
func (s *State) Target(name string) *beagle.CampaignTarget { return s.target(name) }

// Enter takes the outcome of a target into the campaign, and sums up. It returns the target that is
// next because of it, or "".
func (s *State) Enter(t beagle.CampaignTarget, spent beagle.CampaignCost, searched bool) string {
	s.Round++
	at := s.target(t.Target)
	if at == nil {
		return ""
	}
	t.Spent.ProcessorSeconds = at.Spent.ProcessorSeconds + spent.ProcessorSeconds
	t.Spent.Dollars = at.Spent.Dollars + spent.Dollars
	*at = t
	if t.State == beagle.CampaignWaiting {
		s.putLast(t.Target)
	}
	s.Campaign.Spent.ProcessorSeconds += spent.ProcessorSeconds
	s.Campaign.Spent.Dollars += spent.Dollars
	free := !searched && (t.State == beagle.CampaignNothing || t.State == beagle.CampaignRefused)
	if free || s.Heads && t.InVain() {
		s.Replace()
	}
	why := s.Escalate(t.Target)
	s.Tally()
	return why
}

// Unused returns the processor time that may still be used, in seconds.
func (s *State) Unused() float64 {
	if s.Campaign.Budget.ProcessorSeconds == 0 {
		return math.Inf(1)
	}
	return s.Campaign.Budget.ProcessorSeconds - s.Campaign.Spent.ProcessorSeconds
}

// leastBudget is the processor time, in seconds, below which a search gets nowhere.
const leastBudget = 20

// NextBudget returns the processor time in seconds that the next target may use while others wait:
// half of the rest, or its part if that is more. So no slow search takes all.
func (s *State) NextBudget() float64 {
	part := max(0.5, 1/float64(max(1, s.Left())))
	return min(s.Unused(), max(leastBudget, part*s.Unused()))
}

// putLast has all others that wait go before a target.
func (s *State) putLast(target string) {
	list := s.Campaign.Targets
	at := slices.IndexFunc(list, func(t beagle.CampaignTarget) bool { return t.Target == target })
	t := list[at]
	s.Campaign.Targets = append(slices.Delete(list, at, at+1), t)
}

// Stand settles how the campaign goes on: it returns the target that is next, "" when it is done or
// its budget is spent.
func (s *State) Stand() string {
	t := s.Next()
	switch {
	case t == nil:
		if s.Campaign.State != "spent" {
			s.Campaign.State = "done"
		}
	case s.Unused() <= 0:
		for ; t != nil; t = s.Next() {
			t.State, t.Reason = beagle.CampaignUnspent, "the budget of processor time is spent"
		}
		s.Campaign.State = "spent"
	default:
		s.Campaign.State = "running"
		return t.Target
	}
	return ""
}

// Retry takes up targets that a budget ended, which may be larger now.
func (s *State) Retry() {
	s.Campaign.State = "running"
	for i := range s.Campaign.Targets {
		if t := &s.Campaign.Targets[i]; t.State == beagle.CampaignUnspent {
			t.State = beagle.CampaignWaiting
			if t.Run != "" {
				t.State = beagle.CampaignRunning
			}
		}
	}
}

// FindRepeated returns the earlier attempt that makes another one needless: of the same text and
// inputs, with as many candidates, by the same rewrites and models, with the same toolchain and the
// same code around the target, without an improvement.
func (s *State) FindRepeated(now beagle.CampaignAttempt) *beagle.CampaignAttempt {
	return s.findFailed(now, func(a *beagle.CampaignAttempt) bool {
		return a.By == now.By && a.Go == now.Go && a.Around == now.Around
	})
}

// Outdated returns why an attempt that failed is made again although its target and inputs are the
// same; "" when there was none.
func (s *State) Outdated(now beagle.CampaignAttempt) string {
	a := s.findFailed(now, func(*beagle.CampaignAttempt) bool { return true })
	switch {
	case a == nil:
		return ""
	case a.By != now.By:
		return fmt.Sprintf("campaign %s tried it with other rewrites or models, or another version of Beagle",
			a.Campaign)
	case a.Go != now.Go:
		return fmt.Sprintf("campaign %s tried it with %s, and this is %s", a.Campaign, cmp.Or(a.Go, "another Go"),
			now.Go)
	case a.Around != now.Around:
		return fmt.Sprintf("campaign %s tried it before the code that it is built with changed", a.Campaign)
	}
	return ""
}

// findFailed returns the last attempt of the same text and inputs, with as many candidates, that
// failed.
func (s *State) findFailed(
	now beagle.CampaignAttempt, also func(*beagle.CampaignAttempt) bool,
) *beagle.CampaignAttempt {
	list := s.Memory[now.Target]
	for i := len(list) - 1; i >= 0; i-- {
		a := &list[i]
		if a.TargetID != now.TargetID || a.Inputs != now.Inputs || a.Candidates < now.Candidates || !also(a) {
			continue
		}
		switch a.State {
		case beagle.CampaignNothing, beagle.CampaignRefused, beagle.CampaignTests:
			return a
		}
	}
	return nil
}

// Tally sums up the savings, and notes what the interval lacks.
func (s *State) Tally() {
	s.notes()
	var won []Won
	for _, t := range s.Campaign.Targets {
		if t.State == beagle.CampaignImproved && t.Ratio != nil {
			won = append(won, Won{t.Target, t.Cum, s.samples(t.Target), expected(&t), t.Similarity, t.Part})
		}
	}
	all, each := Sum(won, func(a, b string) float64 { return s.Together[a][b] })
	s.Campaign.Saving = s.priceSaving(all)
	for i := range s.Campaign.Targets {
		if saving, ok := each[s.Campaign.Targets[i].Target]; ok {
			saving = s.priceSaving(saving)
			s.Campaign.Targets[i].Saving = &saving
		}
	}
}

// samples returns the number of samples that tell a target's share with all callees. It may drift
// more than the net share, or less.
func (s *State) samples(target string) float64 {
	if below := s.Subtrees[target]; below != nil && below.Known > 0 { // an older Beagle noted none
		return below.Known
	}
	for _, h := range s.Table.Hotspots {
		if h.Target == target && h.Effective > 0 {
			return h.Effective
		}
	}
	return s.Table.Effective
}

// notes lists what the campaign's sum leaves out.
func (s *State) notes() {
	s.Campaign.Notes = nil
	compared, improved := 0, 0
	for _, t := range s.Campaign.Targets {
		if t.State == beagle.CampaignImproved {
			improved++
			if t.Similarity != nil {
				compared++
			}
		}
	}
	if improved > compared {
		s.Campaign.Notes = append(s.Campaign.Notes,
			fmt.Sprintf("the inputs of %d of %d improvements were not compared "+
				"with production: the interval lacks that part", improved-compared, improved))
	}
	if s.Campaign.Score != "" && improved > 0 {
		s.Campaign.Notes = append(s.Campaign.Notes, "versions were ranked by "+s.Campaign.Score+": the sum holds the "+
			"time that they save, and no memory. Where your benchmarks were timed, it is a part of theirs")
	}
	if s.Table.Autoscaling.Follows == "unknown" && improved > 0 {
		s.Campaign.Notes = append(s.Campaign.Notes, s.Table.Autoscaling.Reason)
	}
}

// priceSaving puts cores and money to a share.
func (s *State) priceSaving(saving beagle.CampaignSaving) beagle.CampaignSaving {
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

// year returns the cost of the whole service in a year, as far as a saving becomes fewer machines.
func (s *State) year() float64 {
	for _, h := range s.Table.Hotspots {
		if h.Net > 0 && h.CostYear > 0 && s.Table.Price != nil {
			return h.CostYear / h.Net * s.Table.Autoscaling.Fraction
		}
	}
	return 0
}

func round2(v float64) float64 { return float64(int64(v*100+0.5)) / 100 }
