package evolve

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

// A world is a simulated target: mutators with effects, some of which are
// worth a lot, but only together.
type world struct {
	name   string
	muts   []mut
	keys   []int                       // the mutators that matter
	worth  func(have []bool) float64   // speed-up by which keys a candidate has
	factor map[int]func(p int) float64 // of a key's parameter
	noise  float64                     // standard deviation of a measured logarithm
	rng    *rand.Rand                  // of the noise
	source map[string]map[int]int      // candidate ID -> mutator -> parameter
	steps  map[string][]beagle.Step
	calls  int

	worthOf map[string]float64 // of candidates that models wrote
}

type mut struct {
	name   string
	weight float64
	effect float64 // logarithm of its own speed-up
	fails  bool    // makes every candidate wrong
	params int
	needs  int // index of a mutator that must be there first; -1
	kills  int // index of a mutator that cannot follow; -1
}

// newWorld surrounds n keys by junk: most of it useless, some slow, some
// wrong, some in the way of others. Weights say next to nothing.
func newWorld(name string, seed uint64, keys int, worth func([]bool) float64) *world {
	r := rand.New(rand.NewPCG(seed, 99))
	n := 15 + r.IntN(26)
	w := &world{name: name, worth: worth, noise: 0.003, rng: rand.New(rand.NewPCG(seed, 7)),
		factor: map[int]func(int) float64{},
		source: map[string]map[int]int{}, steps: map[string][]beagle.Step{}}
	for i := range n {
		m := mut{name: fmt.Sprintf("rule-%02d", i), weight: 0.02 + 0.6*r.Float64(), params: 1 + r.IntN(6)/5*2,
			needs: -1, kills: -1}
		switch x := r.Float64(); {
		case x < 0.15:
			m.fails = true
		case x < 0.30:
			m.effect = -0.05 - 0.35*r.Float64()
		case x < 0.40:
			m.effect = 0.02 + 0.06*r.Float64()
		default:
			m.effect = 0.01 * r.NormFloat64()
		}
		if r.Float64() < 0.08 {
			m.kills = r.IntN(n)
		}
		w.muts = append(w.muts, m)
	}
	w.keys = r.Perm(n)[:keys]
	for _, k := range w.keys {
		w.muts[k] = mut{name: w.muts[k].name, weight: w.muts[k].weight, params: 1, needs: -1, kills: -1}
	}
	for i := range w.muts { // keys do not shut each other out
		if slices.Contains(w.keys, i) {
			w.muts[i].kills = -1
		}
	}
	return w
}

func count(have []bool) int {
	n := 0
	for _, h := range have {
		if h {
			n++
		}
	}
	return n
}

func staircase(have []bool) float64 {
	switch count(have) {
	case 4:
		return 3
	case 3:
		return 1.6
	case 2:
		return 1.25
	}
	if have[0] || have[1] {
		return 1.1
	}
	return 1
}

// The landscapes. In all of them everything together is worth three times,
// and single steps little or nothing.
var landscapes = map[string]func(seed uint64) *world{
	"staircase": func(seed uint64) *world { // two of the four show at once
		return newWorld("staircase", seed, 4, staircase)
	},
	"needle": func(seed uint64) *world { // nothing shows before all three are there
		return newWorld("needle", seed, 3, func(have []bool) float64 {
			if count(have) == 3 {
				return 3
			}
			return 1
		})
	},
	"trap": func(seed uint64) *world { // a step that gains half excludes two of the keys
		w := newWorld("trap", seed, 4, func(have []bool) float64 {
			if have[3] {
				return 1.5
			}
			return []float64{1, 1.05, 1.3, 3}[count(have[:3])]
		})
		w.muts[w.keys[3]].kills = w.keys[0]
		w.muts[w.keys[0]].kills = w.keys[3]
		w.muts[w.keys[1]].kills = w.keys[3]
		return w
	},
	"validator": func(seed uint64) *world { // the tag validator of the catalogue: index, table, then unrolling by four
		w := newWorld("validator", seed, 3, func(have []bool) float64 {
			v := 1.0
			switch {
			case have[0] && have[1]:
				v = 1.92
			case have[0]:
				v = 1.12
			case have[1]:
				v = 1.18
			}
			return v
		})
		w.muts[w.keys[2]].needs, w.muts[w.keys[2]].params = w.keys[0], 4
		w.factor[2] = func(p int) float64 { return []float64{1.2, 1.56, 1.4, 0.9}[p] }
		return w
	},
	"noisy": func(seed uint64) *world { // the staircase, measured badly
		w := newWorld("noisy", seed, 4, staircase)
		w.noise = 0.04
		return w
	},
}

func (w *world) original() (beagle.Candidate, beagle.Verdict, []beagle.Move) {
	set := map[int]int{}
	c := w.candidate(set, nil, nil)
	return c, beagle.Verdict{Status: beagle.Equal, Screen: &beagle.Ratio{Point: 1, Low: 1, High: 1}}, w.moves(set)
}

func (w *world) candidate(set map[int]int, parents []string, steps []beagle.Step) beagle.Candidate {
	var b strings.Builder
	for _, m := range slices.Sorted(maps.Keys(set)) {
		fmt.Fprintf(&b, "%d=%d ", m, set[m])
	}
	c := beagle.NewCandidate(b.String(), parents, steps)
	if _, known := w.source[c.ID]; !known {
		w.source[c.ID], w.steps[c.ID] = set, steps
	}
	return c
}

func (w *world) available(set map[int]int, m int) bool {
	if _, has := set[m]; has {
		return false
	}
	if n := w.muts[m].needs; n >= 0 {
		if _, has := set[n]; !has {
			return false
		}
	}
	for have := range set {
		if w.muts[have].kills == m {
			return false
		}
	}
	return true
}

func (w *world) moves(set map[int]int) []beagle.Move {
	var out []beagle.Move
	for i, m := range w.muts {
		if !w.available(set, i) {
			continue
		}
		for p := range m.params {
			out = append(out, beagle.Move{Mutator: m.name, Param: p, Weight: m.weight})
		}
	}
	return out
}

// ratio returns the true speed-up.
func (w *world) ratio(set map[int]int) float64 {
	v := 0.0
	for _, m := range slices.Sorted(maps.Keys(set)) { // a sum of floats depends on its order
		v += w.muts[m].effect
	}
	have := make([]bool, len(w.keys))
	f := 1.0
	for i, k := range w.keys {
		if p, has := set[k]; has {
			have[i] = true
			if w.factor[i] != nil {
				f *= w.factor[i](p)
			}
		}
	}
	return math.Exp(v) * w.worth(have) * f
}

func (w *world) wrong(set map[int]int) bool {
	for m := range set {
		if w.muts[m].fails {
			return true
		}
	}
	return false
}

// evaluate does what the activities of a run would do.
func (w *world) evaluate(p Proposal) Feedback {
	o := Feedback{Proposal: p.ID}
	set, steps := maps.Clone(w.source[p.Parent]), slices.Clone(w.steps[p.Parent])
	take := func(name string, param int) {
		m := slices.IndexFunc(w.muts, func(m mut) bool { return m.name == name })
		if w.available(set, m) {
			set[m] = param
			steps = append(steps, beagle.Step{Mutator: name, Site: "the loop", Param: fmt.Sprint(param)})
		}
	}
	if p.Move != nil {
		take(p.Move.Mutator, p.Move.Param)
	}
	r := rand.New(rand.NewPCG(p.Seed, 0))
	for _, wish := range p.Then {
		m := w.muts[slices.IndexFunc(w.muts, func(m mut) bool { return m.name == wish.Mutator })]
		param := r.IntN(m.params)
		if wish.Param != "" {
			fmt.Sscan(wish.Param, &param)
		}
		for range 20 { // until it is one that the wish does not exclude
			if !slices.Contains(wish.Not, fmt.Sprint(param)) {
				break
			}
			param = r.IntN(m.params)
		}
		take(wish.Mutator, param)
	}
	if len(steps) == 0 {
		return o
	}
	seen := len(w.source)
	o.Candidate = w.candidate(set, []string{p.Parent}, steps)
	if len(w.source) == seen {
		o.Verdict.Status = beagle.Duplicate
		return o
	}
	w.calls++
	if w.wrong(set) {
		o.Verdict.Status = beagle.Wrong
		return o
	}
	point := w.ratio(set) * math.Exp(w.noise*w.rng.NormFloat64())
	o.Verdict.Status = beagle.Equal
	o.Verdict.Screen = &beagle.Ratio{Point: point, Low: point * (1 - 0.5*w.noise), High: point * (1 + 0.5*w.noise)}
	o.Moves = w.moves(set)
	return o
}

// run searches the world and returns the search and the true ratio of its
// best.
func (w *world) run(s *Search, batch int) (best float64) {
	s.Add(w.original())
	for !s.Done() {
		if err := w.generation(s, batch); err != nil {
			panic(err)
		}
	}
	return w.ratio(w.source[s.Best().ID])
}

// trim carries out the last generations of a search.
func (w *world) trim(t *testing.T, s *Search) {
	t.Helper()
	for ps := s.AskTrims(); len(ps) > 0; ps = s.AskTrims() {
		var out []Feedback
		for _, p := range ps {
			out = append(out, w.evaluate(p))
		}
		if err := s.Tell(out); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) generation(s *Search, batch int) error {
	var feedback []Feedback
	for _, p := range s.Ask(batch) {
		feedback = append(feedback, w.evaluate(p))
	}
	return s.Tell(feedback)
}
