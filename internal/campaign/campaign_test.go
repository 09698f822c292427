package campaign

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

func none(string, string) float64 { return 0 }

// TestSum strings small savings together: ten functions of 1 %, each twice as fast, save 5 %.
func TestSum(t *testing.T) {
	var won []Won
	for i := range 10 {
		won = append(won, Won{
			Target: string(rune('a' + i)),
			Cum:    0.01, Samples: 100_000,
			Ratio: beagle.Ratio{Point: 2, Low: 1.9, High: 2.1},
		})
	}
	all, each := Sum(won, none)
	if math.Abs(all.Share-0.05) > 0.0005 || all.Low < 0.047 || all.High > 0.053 || all.Low >= all.High {
		t.Errorf("%+v", all)
	}
	if s := each["c"]; math.Abs(s.Share-0.005) > 0.0002 {
		t.Errorf("%+v", s)
	}
	if again, _ := Sum(won, none); again != all {
		t.Error("the same campaign sums up to something else")
	}
}

// TestExpected combines two measurements of an improvement.
func TestExpected(t *testing.T) {
	quoted := beagle.Ratio{Point: 1.03, Low: 1.0, High: 1.07}
	first := beagle.Ratio{Point: 1.05, Low: 1.03, High: 1.07}
	of := func(measured, again *beagle.Ratio) beagle.Ratio {
		return expected(&beagle.CampaignTarget{Ratio: &quoted, Measured: measured, Again: again})
	}
	width := func(r beagle.Ratio) float64 { return math.Log(r.High / r.Low) }
	if r := of(&first, nil); r != quoted {
		t.Errorf("one measurement alone becomes %v", r)
	}
	if r := of(&first, &beagle.Ratio{}); r != quoted {
		t.Errorf("with one that says nothing, it becomes %v", r)
	}
	alike := of(&first, &beagle.Ratio{Point: 1.052, Low: 1.032, High: 1.072})
	if math.Abs(alike.Point-1.051) > 1e-3 || width(alike) > 0.75*width(first) {
		t.Errorf("two that agree should say more than one: %v", alike)
	}
	apart := of(&first, &beagle.Ratio{Point: 1.11, Low: 1.09, High: 1.13})
	if math.Abs(apart.Point-1.0796) > 1e-3 || apart.Low > first.Point || apart.High < 1.11 {
		t.Errorf("two that do not should meet in the middle, with both inside: %v", apart)
	}
	if low, high := math.Exp(2*math.Log(1.05)-math.Log(1.11)), 1.11*1.11/1.05; apart.Low > low || apart.High < high {
		t.Errorf("a third, as far from either as they are from each other, is no surprise: %v", apart)
	}
	coarse := of(&first, &beagle.Ratio{Point: 1.2, Low: 0.9, High: 1.6})
	if math.Abs(coarse.Point-1.05) > 0.005 {
		t.Errorf("one that is coarse should hardly count: %v", coarse)
	}
	if r := of(nil, &beagle.Ratio{Point: 1.03, Low: 1.0, High: 1.07}); math.Abs(r.Point-1.03) > 1e-3 {
		t.Errorf("without the first as it was measured, its quote counts: %v", r)
	}
}

// TestSumCarriesUncertainty checks that few samples, a wide measurement and an unlike benchmark
// each make the interval wider. An unlike benchmark moves the middle to neither side.
func TestSumCarriesUncertainty(t *testing.T) {
	width := func(samples float64, r beagle.Ratio, s *beagle.Similarity) (float64, float64) {
		all, _ := Sum([]Won{{Target: "a", Cum: 0.1, Samples: samples, Ratio: r, Similarity: s}}, none)
		return all.High - all.Low, all.Share
	}
	sure, full := width(1e6, beagle.Ratio{Point: 2, Low: 1.99, High: 2.01}, nil)
	few, _ := width(400, beagle.Ratio{Point: 2, Low: 1.99, High: 2.01}, nil)
	wide, _ := width(1e6, beagle.Ratio{Point: 2, Low: 1.5, High: 2.7}, nil)
	unlike, less := width(1e6, beagle.Ratio{Point: 2, Low: 1.99, High: 2.01},
		&beagle.Similarity{Estimate: 0.7, Low: 0.6, High: 0.8})
	if few < 5*sure || wide < 5*sure || unlike < 5*sure || math.Abs(less/full-1) > 0.01 {
		t.Errorf("%.5f %.5f %.5f %.5f; saves %.4f and %.4f", sure, few, wide, unlike, full, less)
	}
}

// TestSumIsAShare checks that nothing saves more than it costs, however unlike the benchmark is.
func TestSumIsAShare(t *testing.T) {
	for _, likeness := range []float64{0, 0.4, 0.7} {
		all, _ := Sum([]Won{{Target: "a", Cum: 0.8, Samples: 1e9,
			Ratio:      beagle.Ratio{Point: 10, Low: 9.9, High: 10.1},
			Similarity: &beagle.Similarity{Estimate: likeness, Low: likeness, High: likeness}}}, none)
		if all.High > 0.8001 || math.Abs(all.Share-0.72) > 0.003 {
			t.Errorf("%.1f alike: %+v", likeness, all)
		}
	}
}

// TestSumOfALoop: where a function is 80 % of the loop that was timed, a loop that takes a tenth
// less is a function that takes an eighth less.
func TestSumOfALoop(t *testing.T) {
	r := beagle.Ratio{Point: 1 / 0.9, Low: 1 / 0.9, High: 1 / 0.9}
	sum := func(p *beagle.BenchmarkPart) beagle.CampaignSaving {
		all, _ := Sum([]Won{{Target: "a", Cum: 0.4, Samples: 1e9, Ratio: r, Part: p}}, none)
		return all
	}
	sure := sum(&beagle.BenchmarkPart{Share: 0.8, Samples: 1e9})
	few := sum(&beagle.BenchmarkPart{Share: 0.8, Samples: 200})
	if math.Abs(sure.Share-0.05) > 0.0001 || few.High-few.Low < 10*(sure.High-sure.Low) {
		t.Errorf("%+v; of few samples %+v", sure, few)
	}
	// A loop cannot gain more than the function's part: the profile is off then, and all is saved.
	if all := sum(&beagle.BenchmarkPart{Share: 0.05, Samples: 1e9}); math.Abs(all.Share-0.4) > 0.0001 {
		t.Errorf("%+v", all)
	}
}

// TestNothingTwice checks that a caller does not save again what its callee saves.
func TestNothingTwice(t *testing.T) {
	r := beagle.Ratio{Point: 2, Low: 2, High: 2}
	won := []Won{{Target: "caller", Cum: 0.3, Samples: 1e9, Ratio: r},
		{Target: "callee", Cum: 0.2, Samples: 1e9, Ratio: r}}
	all, each := Sum(won, func(a, b string) float64 { return 0.2 })
	if math.Abs(all.Share-0.15) > 0.001 || math.Abs(each["caller"].Share-0.05) > 0.001 {
		t.Errorf("%+v %+v", all, each)
	}
	all, _ = Sum([]Won{{Target: "caller", Cum: 0.1, Samples: 1e9, Ratio: r},
		{Target: "callee", Cum: 0.1, Samples: 1e9, Ratio: beagle.Ratio{Point: 10, Low: 10, High: 10}}},
		func(a, b string) float64 { return 0.1 })
	if all.Share > 0.0901 {
		t.Errorf("more than the callee costs: %+v", all)
	}
}

// TestSumTakesEachUncertainty: a share that drifts from profile to profile makes the sum less
// certain, however many samples the profiles have.
func TestSumTakesEachUncertainty(t *testing.T) {
	width := func(effective, known float64) float64 {
		s := table()
		s.Subtrees = map[string]*Subtree{s.Table.Hotspots[0].Target: {Known: known}}
		s.Table.Effective = 1e6
		for i := range s.Table.Hotspots {
			s.Table.Hotspots[i].Effective = effective
		}
		s.Campaign.Targets = []beagle.CampaignTarget{{Target: s.Table.Hotspots[0].Target, Cum: 0.2,
			State: beagle.CampaignImproved, Ratio: &beagle.Ratio{Point: 2, Low: 1.99, High: 2.01}}}
		s.Tally()
		return s.Campaign.Saving.High - s.Campaign.Saving.Low
	}
	counted, drifting := width(0, 0), width(500, 0)
	if drifting < 5*counted {
		t.Errorf("the interval is %g wide with drift and %g without", drifting, counted)
	}
	// The saving is of the share with all callees. Its drift counts, and not that of the net share.
	if below := width(1e6, 500); math.Abs(below-drifting) > drifting/1000 {
		t.Errorf("the interval is %g wide with drift below the function, and %g with drift of its own", below, drifting)
	}
}

// table returns a planted ranking: three hot spots, of which b calls a.
func table() *State {
	s := &State{
		Campaign: beagle.Campaign{Least: 0.005, ID: "now"}, Most: 2,
		Table: beagle.Hotspots{Effective: 5000, Cores: 40, Unit: "cores", Hotspots: []beagle.Hotspot{
			{Target: "m.a", Net: 0.02, Cum: 0.02}, {Target: "m.b", Net: 0.01, Cum: 0.05}, {Target: "m.c", Net: 0.015, Cum: 0.02},
		}},
		Callers: map[string][]beagle.CostShare{"m.a": {{What: "m.b", Share: 0.02}}},
	}
	return s
}

// TestEscalation brings a below the least share: its caller b is next, before c, although b was not
// among the targets.
func TestEscalation(t *testing.T) {
	s := table()
	s.Plan()
	if n := s.Next(); n == nil || n.Target != "m.a" || len(s.Campaign.Targets) != 2 {
		t.Fatalf("%+v", s.Campaign.Targets)
	}
	won := s.Next()
	won.State, won.Ratio = beagle.CampaignImproved, &beagle.Ratio{Point: 8, Low: 7, High: 9}
	why := s.Escalate("m.a")
	if !strings.Contains(why, "falls from 2.00 % to about 0.25 %") || !strings.Contains(why, "m.b is next") {
		t.Error(why)
	}
	n := s.Next()
	if n == nil || n.Target != "m.b" || !strings.Contains(n.Why, "escalated") || s.Left() != 2 {
		t.Fatalf("%+v", s.Campaign.Targets)
	}
	n.State, n.Ratio = beagle.CampaignImproved, &beagle.Ratio{Point: 1.1, Low: 1.05, High: 1.2}
	if why := s.Escalate("m.b"); why != "" {
		t.Errorf("0.9 %% is worth a change: %s", why)
	}
	s.Tally()
	if s.Campaign.Saving.Share <= 0 || s.Campaign.Saving.Cores <= 0 || s.Campaign.Targets[0].Saving == nil {
		t.Errorf("%+v", s.Campaign)
	}
}

// TestInstead gives up targets without a search: the next hot spots take their places, up to a
// multiple of the number of targets.
func TestInstead(t *testing.T) {
	s := table()
	s.Most = 1
	s.Plan()
	for range 9 {
		if n := s.Next(); n != nil {
			n.State = beagle.CampaignNothing
		}
		s.Replace()
	}
	var names []string
	for _, c := range s.Campaign.Targets {
		names = append(names, c.Target)
	}
	if got := strings.Join(names, " "); got != "m.a m.c m.b" || s.Next() != nil {
		t.Errorf("%s, next %+v", got, s.Next())
	}
}

// TestFirst takes up what was named before what saves more.
func TestFirst(t *testing.T) {
	s := table()
	s.First = []string{"m.gone", "m.b"}
	s.Plan()
	if got := s.Campaign.Targets; len(got) != 2 || got[0].Target != "m.b" || got[1].Target != "m.a" {
		t.Errorf("%+v", got)
	}
}

// TestMemoryOfOthers checks that what other rewrites, models or toolchains tried, or what was tried
// with other code around the target, is tried again, with the reason.
func TestMemoryOfOthers(t *testing.T) {
	s := table()
	s.Memory = map[string][]beagle.CampaignAttempt{"m.c": {{Target: "m.c", TargetID: "1", Candidates: 60,
		Campaign: "first", By: "old", Go: "go1.25", Around: "1", State: beagle.CampaignNothing}}}
	for _, row := range []struct {
		by, goVersion, around, why string
		known                      bool
	}{
		{"old", "go1.25", "1", "", true},
		{"new", "go1.25", "1", "campaign first tried it with other rewrites or models, or another version of Beagle", false},
		{"old", "go1.26", "1", "campaign first tried it with go1.25, and this is go1.26", false},
		{"old", "go1.25", "2", "campaign first tried it before the code that it is built with changed", false},
	} {
		now := beagle.CampaignAttempt{Target: "m.c", TargetID: "1", Candidates: 60, By: row.by, Go: row.goVersion,
			Around: row.around}
		if known, why := s.FindRepeated(now) != nil, s.Outdated(now); known != row.known || why != row.why {
			t.Errorf("%s, %s, %s: known %v, %q", row.by, row.goVersion, row.around, known, why)
		}
		now.TargetID = "2"
		if s.FindRepeated(now) != nil || s.Outdated(now) != "" {
			t.Errorf("%s, %s: another text was tried", row.by, row.goVersion)
		}
	}
}

// TestEnter checks that a target's outcome is taken in with its cost, that the budget ends the
// campaign, and that a larger one takes it up again.
func TestEnter(t *testing.T) {
	s := table()
	s.Plan()
	s.Campaign.Budget.ProcessorSeconds = 100
	if next := s.Stand(); next != "m.a" || s.Campaign.State != "running" {
		t.Fatalf("%s, %s", next, s.Campaign.State)
	}
	done := *s.Target("m.a")
	done.State = beagle.CampaignNothing
	s.Enter(done, beagle.CampaignCost{ProcessorSeconds: 60, Dollars: 1}, true)
	if at := s.Target("m.a"); at.State != beagle.CampaignNothing || at.Spent.ProcessorSeconds != 60 ||
		s.Campaign.Spent.Dollars != 1 || s.Round != 1 || len(s.Campaign.Targets) != 2 {
		t.Errorf("%+v", s.Campaign)
	}
	half := *s.Target(s.Stand())
	half.State, half.Run = beagle.CampaignUnspent, "run"
	s.Enter(half, beagle.CampaignCost{ProcessorSeconds: 50}, false)
	s.Campaign.Targets = append(s.Campaign.Targets, beagle.CampaignTarget{Target: "m.d", State: beagle.CampaignWaiting})
	if next := s.Stand(); next != "" || s.Campaign.State != "spent" || s.Target("m.d").State != beagle.CampaignUnspent {
		t.Errorf("%q: %+v", next, s.Campaign)
	}
	s.Campaign.Budget.ProcessorSeconds = 200
	s.Retry()
	if next := s.Stand(); next != half.Target || s.Target(next).State != beagle.CampaignRunning ||
		s.Target("m.d").State != beagle.CampaignWaiting {
		t.Errorf("%q: %+v", next, s.Campaign)
	}
}

// TestMemory checks what is not tried again, and which callers old improvements lead to.
func TestMemory(t *testing.T) {
	s := table()
	s.Memory = map[string][]beagle.CampaignAttempt{
		"m.c":   {{Target: "m.c", TargetID: "1", Candidates: 60, State: beagle.CampaignNothing, Reason: "nothing faster"}},
		"m.old": {{Target: "m.old", Net: 0.03, State: beagle.CampaignImproved, Campaign: "first"}},
	}
	s.Table.Dropped = []beagle.DroppedFunction{
		{Target: "m.old", Net: 0.001, CountsFor: []beagle.CostShare{{What: "m.b"}}},
	}
	s.Plan()
	if n := s.Next(); n.Target != "m.b" || !strings.Contains(n.Why, "m.old fell from 3.00 % to 0.10 %") {
		t.Errorf("%+v", n)
	}
	now := beagle.CampaignAttempt{Target: "m.c", TargetID: "1", Candidates: 60}
	if a := s.FindRepeated(now); a == nil || a.Reason != "nothing faster" {
		t.Errorf("%+v", a)
	}
	for _, other := range []beagle.CampaignAttempt{
		{Target: "m.c", TargetID: "2", Candidates: 60}, {Target: "m.c", TargetID: "1", Candidates: 200},
		{Target: "m.c", TargetID: "1", Candidates: 60, Inputs: "file"}, {Target: "m.x", TargetID: "1"},
	} {
		if a := s.FindRepeated(other); a != nil {
			t.Errorf("%+v is not known: %+v", other, a)
		}
	}
}

// TestHeads takes an outer function up before those that a search of it reaches, and those only
// when the outer one ended without an improvement.
func TestHeads(t *testing.T) {
	planned := func() *State {
		s := table()
		s.Heads, s.Most = true, 2
		s.Table.Hotspots[1].Reach = 0.05 // b, which calls a
		s.Inside = map[string][]string{"m.b": {"m.a"}}
		s.Plan()
		return s
	}
	s := planned()
	if n := s.Next(); n == nil || n.Target != "m.b" || !strings.Contains(n.Why, "5.00 % with what it calls and") {
		t.Fatalf("%+v", s.Campaign.Targets)
	}
	if s.Campaign.Targets[1].Target != "m.c" {
		t.Errorf("what is inside is planned beside it: %+v", s.Campaign.Targets)
	}
	improved := *s.Next()
	improved.State, improved.Ratio = beagle.CampaignImproved, &beagle.Ratio{Point: 1.1, Low: 1.05, High: 1.2}
	s.Enter(improved, beagle.CampaignCost{}, true)
	if s.Target("m.a") != nil {
		t.Error("what an improved function calls is taken up again")
	}
	s = planned()
	vain := *s.Next()
	vain.State = beagle.CampaignNothing
	s.Enter(vain, beagle.CampaignCost{}, true)
	if s.Target("m.a") == nil {
		t.Error("what is inside is not taken up after a search in vain")
	}
}

// TestHeadsFallNowhere: of a head all counts that its search may change, so that an improvement
// does not make its caller next.
func TestHeadsFallNowhere(t *testing.T) {
	s := table()
	s.Heads, s.Most = true, 1
	s.Table.Hotspots = append(s.Table.Hotspots, beagle.Hotspot{Target: "m.head", Cum: 0.2, Reach: 0.15})
	s.Callers["m.head"] = []beagle.CostShare{{What: "m.a", Share: 0.2}}
	s.Plan()
	head := *s.Next()
	head.State, head.Ratio = beagle.CampaignImproved, &beagle.Ratio{Point: 1.1, Low: 1.05, High: 1.2}
	if why := s.Enter(head, beagle.CampaignCost{}, true); head.Target != "m.head" || why != "" {
		t.Errorf("%s: %s", head.Target, why)
	}
}

// TestTurns: a target that used up its turn goes after those that wait, and goes on with what they
// leave, until all is spent.
func TestTurns(t *testing.T) {
	s := &State{Most: 3, Table: beagle.Hotspots{Hotspots: []beagle.Hotspot{{Target: "m.a", Net: 0.3},
		{Target: "m.b", Net: 0.2}, {Target: "m.c", Net: 0.1}}}}
	s.Campaign.Budget.ProcessorSeconds = 400
	s.Plan()
	var order []string
	var budgets []float64
	for next := s.Stand(); next != ""; next = s.Stand() {
		budget := s.NextBudget()
		order, budgets = append(order, next), append(budgets, budget)
		at := *s.Target(next)
		at.State, at.Run = beagle.CampaignWaiting, "run"
		spent := budget
		if next == "m.b" { // the only one that ends by itself
			at.State, spent = beagle.CampaignNothing, 10
		}
		s.Enter(at, beagle.CampaignCost{ProcessorSeconds: spent}, true)
		if len(order) > 20 {
			t.Fatal("no end")
		}
	}
	if want := []string{"m.a", "m.b", "m.c", "m.a", "m.c", "m.a"}; !slices.Equal(order[:6], want) ||
		!slices.Equal(budgets[:4], []float64{200, 100, 95, 47.5}) {
		t.Errorf("%v %v", order, budgets)
	}
	if s.Campaign.State != "spent" || s.Campaign.Spent.ProcessorSeconds != 400 {
		t.Errorf("%+v", s.Campaign)
	}
}
