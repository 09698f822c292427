package evolve

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/beagle-go/beagle"
)

const seeds = 40

// rate returns how many of the seeds find what is worth three times, to a tenth, within sixty
// candidates.
func rate(name string, st Strategy) (found int) {
	for seed := range uint64(seeds) {
		w := landscapes[name](seed)
		s := New(Config{Seed: seed, Strategy: st, Budget: 60})
		if w.run(s, 8+int(seed%9)) >= 2.7 {
			found++
		}
	}
	return found
}

// TestIslandsEarnTheirKeep shows the reason for this package: combinations that the simple
// strategies miss.
func TestIslandsEarnTheirKeep(t *testing.T) {
	atLeast := map[string]int{"staircase": 32, "needle": 30, "trap": 24, "validator": 22, "noisy": 32}
	for _, name := range slices.Sorted(maps.Keys(landscapes)) {
		islands, random, greedy := rate(name, Islands), rate(name, BestOfN), rate(name, Greedy)
		t.Logf("%-10s of %d seeds: islands %d, best of n %d, greedy %d", name, seeds, islands, random, greedy)
		if islands < atLeast[name] || islands < 10+max(random, greedy) {
			t.Errorf("%s: islands found %d of %d; want %d, and 10 more than the others", name, islands, seeds,
				atLeast[name])
		}
	}
}

func search(seed uint64, st Strategy) (*world, *Search) {
	w := landscapes["staircase"](seed)
	s := New(Config{Seed: seed, Strategy: st, Budget: 60})
	s.Add(w.original())
	return w, s
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func reload(t *testing.T, s *Search) *Search {
	t.Helper()
	var again Search
	if err := json.Unmarshal([]byte(marshal(t, s)), &again); err != nil {
		t.Fatal(err)
	}
	return &again
}

// TestStateIsAllJSON checks that a search that is saved and loaded at every point goes the same way
// as one that never was.
func TestStateIsAllJSON(t *testing.T) {
	for _, st := range Strategies {
		w, s := search(3, st)
		w2, s2 := search(3, st)
		for !s.Done() {
			s2 = reload(t, s2)
			ps, ps2 := s.Ask(10), s2.Ask(10)
			if !reflect.DeepEqual(ps, ps2) {
				t.Fatalf("%s: after %d candidates other proposals:\n%v\n%v", st, s.Spent, ps, ps2)
			}
			s2 = reload(t, s2)
			for i := range ps {
				o, o2 := w.evaluate(ps[i]), w2.evaluate(ps2[i])
				if i < 3 { // tell some alone
					s.Tell([]Feedback{o})
					s2.Tell([]Feedback{o2})
					s2 = reload(t, s2)
					continue
				}
				s.Tell([]Feedback{o})
				s2.Tell([]Feedback{o2})
			}
		}
		if a, b := marshal(t, s), marshal(t, s2); a != b || !s2.Done() {
			i := 0
			for i < min(len(a), len(b)) && a[i] == b[i] {
				i++
			}
			t.Errorf("%s: other final states: %.200s and %.200s", st, a[i:], b[i:])
		}
	}
}

// TestForkGoesTheSameWay replaces a search by its fork at every point. The search that was forked
// stays as it was, whatever its fork does.
func TestForkGoesTheSameWay(t *testing.T) {
	for _, st := range Strategies {
		w, s := search(3, st)
		w2, fork := search(3, st)
		for !s.Done() {
			before := marshal(t, s)
			lone := s.Fork()
			for _, p := range lone.Ask(10) {
				lone.Tell([]Feedback{w2.evaluate(p)})
			}
			if marshal(t, s) != before {
				t.Fatalf("%s: after %d candidates the fork changed the search", st, s.Spent)
			}
			fork = fork.Fork()
			ps, ps2 := s.Ask(10), fork.Ask(10)
			if !reflect.DeepEqual(ps, ps2) {
				t.Fatalf("%s: after %d candidates other proposals:\n%v\n%v", st, s.Spent, ps, ps2)
			}
			fork = fork.Fork()
			for _, p := range ps {
				o := w.evaluate(p)
				s.Tell([]Feedback{o})
				fork.Tell([]Feedback{o})
			}
		}
		if marshal(t, s) != marshal(t, fork) {
			t.Errorf("%s: other final states", st)
		}
	}
}

func TestOrderOfOutcomesDoesNotMatter(t *testing.T) {
	_, a := search(5, Islands)
	w, b := search(5, Islands)
	for !a.Done() {
		ps := a.Ask(8)
		b.Ask(8)
		var feedback []Feedback
		for _, p := range ps {
			feedback = append(feedback, w.evaluate(p))
		}
		a.Tell(feedback)
		slices.Reverse(feedback)
		b.Tell(feedback)
	}
	if marshal(t, a) != marshal(t, b) {
		t.Error("other states")
	}
}

func TestSeedsDiffer(t *testing.T) {
	_, a := search(1, Islands)
	b := New(Config{Seed: 2})
	w := landscapes["staircase"](1)
	b.Add(w.original())
	if reflect.DeepEqual(a.Ask(8), b.Ask(8)) {
		t.Error("two seeds, one trajectory")
	}
}

func TestBudget(t *testing.T) {
	for _, st := range Strategies {
		w, s := search(7, st)
		for !s.Done() {
			if err := w.generation(s, 16); err != nil {
				t.Fatal(err)
			}
		}
		if s.Spent > 60 || w.calls != s.Spent {
			t.Errorf("%s: spent %d of 60, evaluated %d", st, s.Spent, w.calls)
		}
		if got := s.Ask(4); len(got) != 0 {
			t.Errorf("%s: proposals after the end: %v", st, got)
		}
	}
}

func TestPendingCountsAgainstTheBudget(t *testing.T) {
	_, s := search(7, Islands)
	s.Config.Budget = 10
	if n := len(s.Ask(7)) + len(s.Ask(7)) + len(s.Ask(7)); n != 10 || s.Done() {
		t.Errorf("%d asked and none told: done %v", n, s.Done())
	}
}

func TestDuplicatesCostNothingAndEnd(t *testing.T) {
	_, s := search(1, Islands)
	rounds := 0
	for ; !s.Done(); rounds++ {
		var feedback []Feedback
		for _, p := range s.Ask(10) {
			o := Feedback{Proposal: p.ID, Candidate: beagle.Candidate{ID: s.Root}, Verdict: beagle.Verdict{
				Status: beagle.Equal,
			}}
			if p.ID%2 == 0 {
				o = Feedback{Proposal: p.ID} // it fitted nowhere
			}
			feedback = append(feedback, o)
		}
		s.Tell(feedback)
	}
	if s.Spent != 0 || rounds > 20 || len(s.Members) != 1 {
		t.Errorf("spent %d in %d rounds, %d members", s.Spent, rounds, len(s.Members))
	}
}

func TestNothingWorks(t *testing.T) {
	for _, st := range Strategies {
		w, s := search(1, st)
		for i := range w.muts {
			w.muts[i].fails = true
		}
		for !s.Done() {
			w.generation(s, 10)
		}
		if s.Best().ID != s.Root || s.Spent == 0 {
			t.Errorf("%s: best %v after %d", st, s.Best(), s.Spent)
		}
	}
}

func TestNoMoves(t *testing.T) {
	s := New(Config{})
	s.Add(beagle.NewCandidate("package p", nil, nil), beagle.Verdict{Status: beagle.Equal}, nil)
	if got := s.Ask(8); len(got) != 0 || !s.Done() {
		t.Errorf("%v, done %v", got, s.Done())
	}
}

// TestNoImprovementKeepsTheOriginal checks that what is no faster is not taken for better because
// it is another.
func TestNoImprovementKeepsTheOriginal(t *testing.T) {
	w, s := search(9, Islands)
	w.worth = func([]bool) float64 { return 1 }
	for i := range w.muts {
		w.muts[i].effect = 0
	}
	for !s.Done() {
		w.generation(s, 10)
	}
	if s.Best().ID != s.Root {
		t.Errorf("best is %v", s.Best().Steps)
	}
}

func TestTellRefusesStrangers(t *testing.T) {
	w, s := search(1, Islands)
	o := w.evaluate(s.Ask(1)[0])
	if err := s.Tell([]Feedback{o}); err != nil {
		t.Fatal(err)
	}
	if s.Tell([]Feedback{o}) == nil || s.Tell([]Feedback{{Proposal: 99}}) == nil {
		t.Error("an outcome of no pending proposal was taken")
	}
}

// TestStacksAreAsDeepAsTheyPay checks that where most moves break the candidate, stacking them
// would prove nothing.
func TestStacksAreAsDeepAsTheyPay(t *testing.T) {
	depth := func(breaks int) float64 {
		w, s := search(4, Islands)
		for i := range w.muts {
			w.muts[i].fails = i%10 < breaks
		}
		w.generation(s, 10)
		n, moves := 0, 0
		for _, p := range s.Ask(10) {
			n, moves = n+1, moves+1+len(p.Then)
		}
		return float64(moves) / float64(n)
	}
	if safe, risky := depth(0), depth(8); risky > 2 || safe < risky+0.5 {
		t.Errorf("moves a proposal: %.1f where all behave, %.1f where most do not", safe, risky)
	}
}

func TestArchiveKeepsSteppingStones(t *testing.T) {
	index := map[string]*Member{}
	a := archive{}
	for _, m := range []*Member{
		{ID: "fast", Score: 1, Cell: cell(beagle.Candidate{Steps: []beagle.Step{{Mutator: "x"}}}, &beagle.Verdict{})},
		{ID: "slow, of its kind", Score: 0, Cell: cell(beagle.Candidate{Steps: []beagle.Step{{Mutator: "y"}}}, &beagle.Verdict{})},
		{ID: "slow, without checks", Score: 0, Cell: cell(beagle.Candidate{Steps: []beagle.Step{{Mutator: "x"}}}, &beagle.Verdict{Static: beagle.StaticFacts{BoundsChecks: 3}})},
		{ID: "slow, of the same kind", Score: 0.5, Cell: cell(beagle.Candidate{Steps: []beagle.Step{{Mutator: "x", Param: "4"}}}, &beagle.Verdict{})},
	} {
		index[m.ID] = m
		a.place(m, index)
	}
	if got := slices.Sorted(maps.Values(a)); !slices.Equal(got,
		[]string{"fast", "slow, of its kind", "slow, without checks"}) {
		t.Error(got)
	}
}

// TestRegressionTellsStepsApart checks that a slow stack condemns the step that made it slow, not
// the one that came along.
func TestRegressionTellsStepsApart(t *testing.T) {
	arms := map[string]*arm{"good": {}, "bad": {}, "along": {}}
	steps := func(names ...string) (out []beagle.Step) {
		for _, n := range names {
			out = append(out, beagle.Step{Mutator: n})
		}
		return out
	}
	all := newSums()
	for _, m := range []*Member{
		{}, {Score: -0.3, Steps: steps("bad", "along")}, {Score: -0.1, Steps: steps("bad", "good")},
		{Score: 0.2, Steps: steps("good", "along")}, {Score: 0.2, Steps: steps("good")},
		{Score: -7, Point: 1.02, High: 1100, Steps: steps("good", "along")}, // a measurement that tells nothing
	} {
		all.add(m)
	}
	m := regress(all, arms)
	gain := func(n string) float64 { return m.mean[m.index[n]] }
	if gain("bad") > -0.2 || gain("good") < 0.12 || gain("along") < -0.06 || gain("along") > 0.06 {
		t.Errorf("bad %.2f, good %.2f, along %.2f", gain("bad"), gain("good"), gain("along"))
	}
}
