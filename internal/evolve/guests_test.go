package evolve

import (
	"testing"

	"github.com/beagle-go/beagle"
)

// TestGuests checks that a candidate from outside costs budget, joins the population when it
// behaves, is built upon, and is booked on nobody else.
func TestGuests(t *testing.T) {
	_, s := search(5, Islands)
	seen := map[int]bool{}
	for i := range 3 {
		p, ok := s.Invite()
		if !ok || p.Parent != s.Root || p.Kind != Guest {
			t.Fatalf("%v %+v", ok, p)
		}
		seen[p.Island] = true
		id := beagle.HashOf("guest", i)
		c := beagle.Candidate{ID: id, Steps: []beagle.Step{{Mutator: ByAuthor, Site: "handed in", Param: id}}}
		v := beagle.Verdict{
			Candidate: id,
			Status:    beagle.Equal,
			Screen:    &beagle.Ratio{Point: 5, Low: 4.9, High: 5.1},
			Static:    beagle.StaticFacts{CodeHash: id},
		}
		if i == 2 {
			v.Status, v.Screen = beagle.Wrong, nil
		}
		before := s.Account(Rules)
		if err := s.Tell([]Feedback{{Proposal: p.ID, Candidate: c, Verdict: v}}); err != nil {
			t.Fatal(err)
		}
		if after := s.Account(Rules); after != before {
			t.Errorf("booked on the rules: %+v", after)
		}
	}
	if len(seen) != 3 {
		t.Errorf("islands %v do not take turns", seen)
	}
	if b := s.Account(Guests); b.Asked != 3 || b.Evaluated != 3 || b.Behaving != 2 {
		t.Errorf("%+v", b)
	}
	if s.Spent != 3 || s.Best().Kind != Guest {
		t.Errorf("%d spent, the best is a %s", s.Spent, s.Best().Kind)
	}
	if a := s.Arms[ByAuthor]; a != nil {
		t.Errorf("what was handed in counts as a rewrite: %+v", a)
	}
	again := reload(t, s)
	if again.Best().ID != s.Best().ID || again.Account(Guests) != s.Account(Guests) {
		t.Error("they are not part of the state")
	}
}

func TestGuestsKeepToTheBudget(t *testing.T) {
	w := landscapes["staircase"](1)
	s := New(Config{Seed: 1, Budget: 4})
	s.Add(w.original())
	for range 4 {
		if _, ok := s.Invite(); !ok {
			t.Fatal("there is room")
		}
	}
	if _, ok := s.Invite(); ok {
		t.Error("a fifth of four")
	}
	if got := s.Ask(3); len(got) != 0 {
		t.Errorf("%d proposals beside them", len(got))
	}
}
