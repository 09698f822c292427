package evolve

import (
	"math"
	"testing"

	"github.com/beagle-go/beagle"
)

// faces is a landscape with two classes of inputs. The first key makes ASCII
// much faster and all else slower, the second mends that, the third gains a
// little for everybody.
func faces(seed uint64) *world {
	return newWorld("faces", seed, 3, func(have []bool) float64 {
		v := 1.0
		if have[0] {
			v *= 1.6
		}
		if have[2] {
			v *= 1.15
		}
		return v
	})
}

// others returns the true ratio on what is not ASCII.
func (w *world) others(set map[int]int) float64 {
	_, shortcut := set[w.keys[0]]
	_, mended := set[w.keys[1]]
	r := w.ratio(set)
	if shortcut {
		r /= 1.6
		if !mended {
			r *= 0.7
		}
	}
	return r
}

// search runs the landscape, with or without word of the classes.
func (w *world) search(seed uint64, told bool) *Search {
	s := New(Config{Seed: seed, Budget: 60})
	s.Add(w.original())
	for !s.Done() {
		var feedback []Feedback
		for _, p := range s.Ask(6) {
			o := w.evaluate(p)
			if v := &o.Verdict; told && v.OK() && v.Screen != nil {
				r := w.others(w.source[o.Candidate.ID]) * math.Exp(w.noise*w.rng.NormFloat64())
				v.InputClasses = []beagle.InputClassRatio{
					{Name: "s: non-ASCII", Share: 0.2, Ratio: beagle.Ratio{Point: r, Low: 0.99 * r, High: 1.01 * r}},
				}
			}
			feedback = append(feedback, o)
		}
		if err := s.Tell(feedback); err != nil {
			panic(err)
		}
	}
	return s
}

// TestClassesInTheSearch checks that a gain on ASCII does not hide a loss on the rest while the
// search goes on: the best never pays, and the shortcut still is a stepping stone to its mended
// form.
func TestClassesInTheSearch(t *testing.T) {
	const seeds = 40
	hidden, mended := 0, 0
	for seed := range uint64(seeds) {
		w := faces(seed)
		if blind := w.search(seed, false); w.others(w.source[blind.Best().ID]) < surelySlower {
			hidden++
		}
		w = faces(seed)
		s := w.search(seed, true)
		set := w.source[s.Best().ID]
		if r := w.others(set); r < 0.96 {
			t.Errorf("seed %d: the best is %.2f times as fast on what is not ASCII", seed, r)
		}
		if _, has := set[w.keys[0]]; has {
			mended++
		}
	}
	t.Logf("without word of the classes the best pays in %d of %d searches; with it the shortcut is found and mended "+
		"in %d", hidden, seeds, mended)
	if hidden == 0 || mended == 0 {
		t.Error("the landscape shows nothing")
	}
}

// TestPaying checks that a candidate that pays on a class is dominated by one that does not and
// keeps a cell, and that noise accuses nobody.
func TestPaying(t *testing.T) {
	ratio := func(r float64) beagle.Ratio { return beagle.Ratio{Point: r, Low: r - 0.01, High: r + 0.01} }
	verdict := func(all, class float64) *beagle.Verdict {
		screen := ratio(all)
		return &beagle.Verdict{
			Status:       beagle.Equal,
			Screen:       &screen,
			InputClasses: []beagle.InputClassRatio{{Name: "s: non-ASCII", Ratio: ratio(class)}},
		}
	}
	c := beagle.Candidate{}
	paying, fair, noisy := verdict(2, 0.8), verdict(1.1, 1), verdict(1.5, 0.965)
	if score(paying) >= 0 || score(paying) >= score(fair) || score(noisy) != math.Log(1.49) {
		t.Errorf("scores %g, %g, %g", score(paying), score(fair), score(noisy))
	}
	if cell(c, paying) == cell(c, fair) || cell(c, fair) != cell(c, noisy) {
		t.Errorf("cells %q, %q, %q", cell(c, paying), cell(c, fair), cell(c, noisy))
	}
	slow := verdict(0.5, 0.9)
	if score(slow) != math.Log(0.49) {
		t.Errorf("a class pays for nothing: %g", score(slow))
	}
}
