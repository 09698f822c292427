package evolve

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/beagle-go/beagle"
)

// A writer is a simulated model: what it charges, how often it answers, and
// how often an answer is worth something.
type writer struct {
	dollars, seconds  float64
	answers, improves float64
	repeats           bool // always the same text
}

// answer returns the feedback on a proposal for a model in a world.
func (w *world) answer(p Proposal, by writer) Feedback {
	r := rand.New(rand.NewPCG(p.Seed, 3))
	o := Feedback{Proposal: p.ID, Dollars: by.dollars, Seconds: by.seconds}
	if r.Float64() >= by.answers {
		o.Unheard, o.Dollars = true, 0
		return o
	}
	text := fmt.Sprintf("written %d", p.Seed)
	if by.repeats {
		text = "written"
	}
	c := beagle.NewCandidate(text, []string{p.Parent}, nil)
	c.Steps = append(append([]beagle.Step{}, w.steps[p.Parent]...), beagle.Step{Mutator: ByAuthor, Param: c.ID})
	o.Candidate, o.Verdict = c, beagle.Verdict{Candidate: c.ID, Status: beagle.Wrong}
	w.source[c.ID], w.steps[c.ID] = w.source[p.Parent], c.Steps
	if r.Float64() < by.improves {
		gain := 1.02 + 0.1*r.Float64()
		if w.worthOf == nil {
			w.worthOf = map[string]float64{}
		}
		if w.worthOf[p.Parent] == 0 {
			w.worthOf[p.Parent] = 1
		}
		w.worthOf[c.ID] = w.worthOf[p.Parent] * gain
		o.Verdict = beagle.Verdict{
			Candidate: c.ID,
			Status:    beagle.Equal,
			Screen:    &beagle.Ratio{Point: w.worthOf[c.ID], Low: w.worthOf[c.ID], High: w.worthOf[c.ID]},
		}
		o.Moves = w.moves(w.source[p.Parent])
	}
	return o
}

// both searches with rules and models, batch by batch.
func both(w *world, s *Search, writers map[string]writer, reload func(*Search) *Search) *Search {
	s.Add(w.original())
	for rounds := 0; !s.Done() && rounds < 1000; rounds++ {
		var feedback []Feedback
		for _, p := range s.AskModels(3) {
			feedback = append(feedback, w.answer(p, writers[p.Author]))
		}
		s = reload(s)
		for _, p := range s.Ask(6) {
			feedback = append(feedback, w.evaluate(p))
		}
		if len(feedback) == 0 {
			s.Lend(4)
		}
		s.Tell(feedback)
	}
	return s
}

func same(s *Search) *Search { return s }

func commissioned(seed uint64, budget int, authors ...Author) (*world, *Search) {
	return landscapes["staircase"](seed), New(Config{Seed: seed, Budget: budget, Authors: authors})
}

// TestModelStateIsAllJSON checks that a search with models that is saved and loaded at every point
// goes the same way as one that never was.
func TestModelStateIsAllJSON(t *testing.T) {
	writers := map[string]writer{"a": {0.01, 5, 0.9, 0.4, false}, "b": {0.02, 9, 0.5, 0.2, false}}
	w, s := commissioned(3, 80, Author{Name: "a"}, Author{Name: "b"})
	w2, s2 := commissioned(3, 80, Author{Name: "a"}, Author{Name: "b"})
	s = both(w, s, writers, same)
	s2 = both(w2, s2, writers, func(s *Search) *Search { return reload(t, s) })
	if a, b := marshal(t, s), marshal(t, s2); a != b {
		t.Errorf("other final states: %.300s and %.300s", a, b)
	}
	if s.Spent != 80 || s.Account("a").Evaluated == 0 || s.Account(Rules).Evaluated == 0 {
		t.Errorf("spent %d; a %+v, rules %+v", s.Spent, s.Account("a"), s.Account(Rules))
	}
}

// TestMoneyGoesWhereItEarns checks that of two models that write equally well, the one that charges
// less is asked more; of two that charge the same, the better one.
func TestMoneyGoesWhereItEarns(t *testing.T) {
	count := func(writers map[string]writer) (good, bad int) {
		for seed := range uint64(10) {
			w, s := commissioned(seed, 120, Author{Name: "good"}, Author{Name: "bad"})
			s.Config.NoRules = true
			s = both(w, s, writers, same)
			good, bad = good+s.Account("good").Asked, bad+s.Account("bad").Asked
		}
		return good, bad
	}
	if good, bad := count(map[string]writer{
		"good": {0.002, 5, 1, 0.3, false},
		"bad":  {0.02, 5, 1, 0.3, false},
	}); good < 2*bad {
		t.Errorf("the cheap one was asked %d times, the dear one %d times", good, bad)
	}
	if good, bad := count(map[string]writer{
		"good": {0.01, 5, 1, 0.5, false},
		"bad":  {0.01, 5, 1, 0.02, false},
	}); good < 2*bad {
		t.Errorf("the good one was asked %d times, the bad one %d times", good, bad)
	}
}

// TestSilentModels checks that models that do not answer are given up, and the rules use the whole
// budget.
func TestSilentModels(t *testing.T) {
	w, s := commissioned(1, 60, Author{Name: "gone"})
	s = both(w, s, map[string]writer{"gone": {0, 30, 0, 0, false}}, same)
	if s.Open() || s.Spent < 55 || s.Account("gone").Asked > 2*silent {
		t.Errorf("open %v, spent %d, asked %d times", s.Open(), s.Spent, s.Account("gone").Asked)
	}
}

// TestRepeatingModel checks that a model that always says the same costs one evaluation, and is
// given up.
func TestRepeatingModel(t *testing.T) {
	w, s := commissioned(1, 100, Author{Name: "parrot"})
	s.Config.NoRules = true
	s = both(w, s, map[string]writer{"parrot": {0.01, 1, 1, 1, true}}, same)
	if s.Spent != 1 || !s.Done() || s.Account("parrot").Asked > useless+5 {
		t.Errorf("spent %d, done %v, asked %d times", s.Spent, s.Done(), s.Account("parrot").Asked)
	}
}

// TestShare checks that rules never wait for models, but leave them their share, until it is lent
// or the models are closed.
func TestShare(t *testing.T) {
	w, s := commissioned(2, 60, Author{Name: "slow"})
	s.Add(w.original())
	s.AskModels(4)
	rules := func() int {
		n := s.Spent
		for {
			var feedback []Feedback
			for _, p := range s.Ask(12) {
				feedback = append(feedback, w.evaluate(p))
			}
			if len(feedback) == 0 {
				return s.Spent - n
			}
			s.Tell(feedback)
		}
	}
	if n := rules(); n != 30 {
		t.Errorf("with models at work the rules took %d of 60, want 30", n)
	}
	s.Lend(6)
	if n := rules(); n != 6 {
		t.Errorf("of 6 that were lent they took %d", n)
	}
	s.Close()
	if n := rules(); n < 10 || n > 20 {
		t.Errorf("of the 20 that are left without models they took %d", n)
	}
	if got := s.AskModels(4); got != nil {
		t.Errorf("closed, and yet %d proposals", len(got))
	}
}

// TestRulesOnTopOfModels checks that rules go on from what a model wrote, and prune no more than
// their own steps.
func TestRulesOnTopOfModels(t *testing.T) {
	w, s := commissioned(4, 150, Author{Name: "a"})
	s = both(w, s, map[string]writer{"a": {0.01, 5, 1, 0.5, false}}, same)
	on := 0
	for _, m := range s.Members {
		if m.Base != "" && len(m.stepsAfterBase()) > 0 {
			on++
			if b := s.index[m.Base]; b == nil || loosen(m.Steps) != len(b.Steps) {
				t.Errorf("%v stands on %v", m.Steps, b)
			}
		}
		if m.Kind == Model && m.Base != m.ID {
			t.Errorf("what a model wrote has the base %q", m.Base)
		}
	}
	if on == 0 {
		t.Error("no rule was taken on top of what a model wrote")
	}
}

// TestPrivate checks that what may not be shown is no model's parent, mate or example, however fast
// it is; rules go on building on it.
func TestPrivate(t *testing.T) {
	for _, strategy := range Strategies {
		w := landscapes["staircase"](3)
		s := New(Config{Seed: 3, Budget: 60, Strategy: strategy, Authors: []Author{{Name: "m", Model: "m"}}})
		s.Add(w.original())
		private := map[string]bool{}
		built := 0
		for range 12 {
			var feedback []Feedback
			for _, p := range s.Ask(4) {
				o := w.evaluate(p)
				// The step that pays most at first puts something in that is nobody's business.
				if _, o.Private = w.source[o.Candidate.ID][w.keys[0]]; o.Private {
					private[o.Candidate.ID] = true
				}
				if private[p.Parent] {
					built++
				}
				feedback = append(feedback, o)
			}
			for _, p := range s.AskModels(1) {
				for _, id := range append([]string{p.Parent, p.Mate}, p.Examples...) {
					if private[id] {
						t.Errorf("%s: a model is shown %s", strategy, id)
					}
				}
				feedback = append(feedback, Feedback{Proposal: p.ID})
			}
			if err := s.Tell(feedback); err != nil {
				t.Fatal(err)
			}
		}
		if len(private) == 0 || strategy == Islands && built == 0 {
			t.Errorf("%s: %d private, %d built on them: the test shows nothing", strategy, len(private), built)
		}
	}
}
