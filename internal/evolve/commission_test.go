package evolve

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/beagle-go/beagle"
)

// TestRefillsAreOneGeneration checks that a generation counts once, however often it was
// filled, and that each island gets its turn in rounds of one.
func TestRefillsAreOneGeneration(t *testing.T) {
	w := landscapes["staircase"](1)
	s := New(Config{Seed: 1, Budget: 80, Islands: 4})
	s.Add(w.original())
	islands := map[int]int{}
	for generation := 1; generation <= 4; generation++ {
		var feedback []Feedback
		for range 6 {
			for _, p := range s.Ask(1) {
				if islands[p.Island]++; p.Generation != generation {
					t.Errorf("generation %d, want %d", p.Generation, generation)
				}
				feedback = append(feedback, w.evaluate(p))
			}
		}
		if err := s.Tell(feedback); err != nil {
			t.Fatal(err)
		}
	}
	if s.Generation != 4 {
		t.Errorf("%d generations of four that were told", s.Generation)
	}
	if want := map[int]int{0: 6, 1: 6, 2: 6, 3: 6}; fmt.Sprint(islands) != fmt.Sprint(want) {
		t.Errorf("islands had %v proposals, want %v", islands, want)
	}
}

// TestCallsAreReserved checks that a slow model makes all the calls that it was promised:
// the rules never have the candidates that are kept for them, however often they are lent
// some.
func TestCallsAreReserved(t *testing.T) {
	for _, calls := range []int{4, 10, 0} {
		w, s := commissioned(2, 40, Author{Name: "slow"})
		s.Config.Calls = calls
		s.Add(w.original())
		made := 0
		for slow := 0; !s.Done() && slow < 400; slow++ {
			var feedback []Feedback
			for _, p := range s.Ask(8) {
				feedback = append(feedback, w.evaluate(p))
			}
			if len(feedback) == 0 {
				s.Lend(8)
			}
			if slow%20 == 19 && (calls == 0 || made < calls) { // a reply comes once in twenty generations
				for _, p := range s.AskModels(1) {
					made++
					feedback = append(feedback, w.answer(p, writer{0.01, 60, 1, 0.5, false}))
				}
				if made == calls {
					s.Close()
				}
			}
			s.Tell(feedback)
		}
		want := calls
		if calls == 0 {
			want = 40 * 3 / 10
		}
		if made < want {
			t.Errorf("of %d calls %d were made; the rules evaluated %d of 40", want, made, s.Account(Rules).Evaluated)
		}
		if s.Spent < 38 {
			t.Errorf("%d calls: only %d of 40 candidates were evaluated", calls, s.Spent)
		}
	}
}

// TestParentsAreFast checks that models improve nothing that is less than half as fast as
// the best, and that what they combine has two algorithms.
func TestParentsAreFast(t *testing.T) {
	w, s := commissioned(5, 200, Author{Name: "a"})
	s.Add(w.original())
	asked, mates := 0, 0
	for range 40 {
		var feedback []Feedback
		for _, p := range s.AskModels(2) {
			asked++
			m := s.index[p.Parent]
			if m.Score < s.Best().Score-halfAsFast {
				t.Errorf("a parent at %.2fx beside the best at %.2fx", math.Exp(m.Score), math.Exp(s.Best().Score))
			}
			if p.Mate != "" {
				mates++
				if akin(m, s.index[p.Mate]) {
					t.Errorf("to combine: %v and %v", m.Steps, s.index[p.Mate].Steps)
				}
			}
			o := w.answer(p, writer{0.01, 1, 1, 0.4, false})
			if r := o.Verdict.Screen; r != nil && asked%5 == 0 { // a leap, as models make them
				w.worthOf[o.Candidate.ID] *= 2.2
				v := w.worthOf[o.Candidate.ID]
				*r = beagle.Ratio{Point: v, Low: v, High: v}
			}
			feedback = append(feedback, o)
		}
		for _, p := range s.Ask(2) {
			feedback = append(feedback, w.evaluate(p))
		}
		s.Tell(feedback)
	}
	if asked < 40 || mates == 0 || s.Best().Score < 2*halfAsFast {
		t.Errorf("%d asked, %d mates, best %.1fx: the test shows nothing", asked, mates, math.Exp(s.Best().Score))
	}
}

// told returns a model's candidate on a parent, with a score; 0 is a wrong one.
func told(p Proposal, name string, parent *Member, ratio float64) Feedback {
	c := beagle.Candidate{ID: name, Parents: []string{p.Parent}}
	c.Steps = append(slices.Clone(parent.Steps), beagle.Step{Mutator: ByAuthor, Param: name})
	o := Feedback{Proposal: p.ID, Candidate: c, Dollars: 0.01}
	o.Verdict = beagle.Verdict{Candidate: name, Status: beagle.Wrong}
	if ratio > 0 {
		o.Verdict.Status = beagle.Equal
		o.Verdict.Screen = &beagle.Ratio{Point: ratio, Low: ratio, High: ratio}
	}
	return o
}

// TestTalks checks that a wrong reply is answered with what is wrong with it, that a good
// one is taken further, and that a conversation ends after a few turns.
func TestTalks(t *testing.T) {
	w, s := commissioned(6, 60, Author{Name: "a"})
	s.Config.NoRules = true
	s.Add(w.original())
	next := func(ratio float64) Proposal {
		t.Helper()
		p := s.AskModels(1)[0]
		if err := s.Tell([]Feedback{told(p, fmt.Sprintf("c%d", p.ID), s.index[p.Parent], ratio)}); err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := next(0)
	second := next(2)
	if fmt.Sprint(second.Talk) != fmt.Sprint([]int{first.ID}) || second.Fell != fmt.Sprintf("c%d", first.ID) ||
		second.Parent != first.Parent {
		t.Errorf("after a wrong reply: %+v", second)
	}
	lengths := map[int]int{}
	for ratio := 2.1; ratio < 8; ratio += 0.2 {
		p := next(ratio)
		if lengths[len(p.Talk)]++; len(p.Talk) > 0 && p.Fell != "" {
			t.Errorf("a good reply is said to have fallen: %+v", p)
		}
	}
	if lengths[0] == 0 || lengths[1] == 0 || lengths[2] == 0 || len(lengths) > maxTurns {
		t.Errorf("conversations of these lengths: %v", lengths)
	}
}

// TestAloneHoldsNoTalks checks that an author that answers each question anew gets no conversation.
func TestAloneHoldsNoTalks(t *testing.T) {
	w, s := commissioned(6, 60, Author{Name: "a", Alone: true})
	s.Add(w.original())
	for i := range 8 {
		p := s.AskModels(1)[0]
		if len(p.Talk) > 0 {
			t.Fatalf("a conversation: %+v", p)
		}
		s.Tell([]Feedback{told(p, fmt.Sprintf("c%d", i), s.index[p.Parent], float64(i%2))})
	}
}

// TestEarningsGoToWhoGained checks that an author earns what its own step gains, where
// another had come some of the way by other steps, and that many steps of one kind on one
// parent earn no more than the best of them.
func TestEarningsGoToWhoGained(t *testing.T) {
	w, s := commissioned(7, 60, Author{Name: "a"})
	s.Add(w.original())
	rules := func(name, parent string, ratio float64) {
		t.Helper()
		p := s.enroll(Proposal{Kind: Step, Parent: parent})
		o := told(p, name, s.index[parent], ratio)
		o.Candidate.Steps = append(slices.Clone(s.index[parent].Steps), beagle.Step{Mutator: "m", Param: name})
		if err := s.Tell([]Feedback{o}); err != nil {
			t.Fatal(err)
		}
	}
	rules("r", s.Root, 6.5)
	for i := range 9 { // the same gain again and again
		rules(fmt.Sprintf("r%d", i), s.Root, 6.4)
	}
	ask := s.enroll(Proposal{Kind: Model, Author: "a", Parent: s.Root})
	if err := s.Tell([]Feedback{told(ask, "reply", s.index[s.Root], 20)}); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Account("a").Earned, math.Log(20); math.Abs(got-want) > 1e-9 {
		t.Errorf("the model earned %.3f with a version of its own at 20x, want %.3f", got, want)
	}
	if got, want := s.Account(Rules).Earned, math.Log(6.5); math.Abs(got-want) > 1e-9 {
		t.Errorf("the rules earned %.3f with ten versions at 6.5x, want %.3f", got, want)
	}
}

// TestUnsentIsNotUnheard checks that a call for which there was no money counts neither as
// asked nor as unheard, and gives no model up.
func TestUnsentIsNotUnheard(t *testing.T) {
	w, s := commissioned(9, 60, Author{Name: "a", Model: "a"})
	s.Add(w.original())
	for range silent + 2 {
		p := s.AskModels(1)[0]
		if err := s.Tell([]Feedback{{Proposal: p.ID, Unsent: true}}); err != nil {
			t.Fatal(err)
		}
	}
	if a := s.Account("a"); a.Asked != 0 || a.Unheard != 0 || a.Useless != 0 || !s.Open() {
		t.Errorf("open %v, %+v", s.Open(), a)
	}
}

// TestFewStepsBehindAReply checks that the rules do not fill the budget with steps that build on
// one reply while models write.
func TestFewStepsBehindAReply(t *testing.T) {
	w, s := commissioned(8, 120, Author{Name: "a"})
	s.Add(w.original())
	p := s.AskModels(1)[0]
	o := w.answer(p, writer{0.01, 1, 1, 1, false})
	*o.Verdict.Screen = beagle.Ratio{Point: 9, Low: 9, High: 9}
	s.Tell([]Feedback{o})
	for range 10 {
		var feedback []Feedback
		for _, p := range s.Ask(4) {
			feedback = append(feedback, w.evaluate(p))
		}
		s.Tell(feedback)
	}
	behind := 0
	for _, m := range s.Members {
		if m.Base == o.Candidate.ID && m.ID != m.Base {
			behind++
		}
	}
	if behind == 0 || behind > maxBehind || s.Behind[o.Candidate.ID] > maxBehind {
		t.Errorf("%d members behind the reply, %d proposed, want 1 to %d", behind, s.Behind[o.Candidate.ID], maxBehind)
	}
}
