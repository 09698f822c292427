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

// TestLeads: the finals lead with the forms that behave, and the next best members that took other
// ways follow.
func TestLeads(t *testing.T) {
	x := newTrimmed(t, "g0", "g1 g2 g3", "g1 g2 g3 n0", "n2", "g4 g5", "g6", "g7", "g8 g9 w")
	x.run(t)
	var got []string
	for _, l := range x.Leads() {
		got = append(got, fmt.Sprint(strings.TrimPrefix(l.ID, "c "), " ", len(l.Compared())))
	}
	if want := []string{"g1 g2 g3 3", "g4 g5 2", "g0 0", "g6 0", "g7 0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRank: what gains nothing over several layouts is left out; what nobody trimmed comes first
// only if it is surely faster.
func TestRank(t *testing.T) {
	ratio := func(point float64) beagle.Ratio {
		return beagle.Ratio{Point: point, Low: 0.95 * point, High: 1.05 * point}
	}
	trimmed := func(id string) Lead { return Lead{ID: id, Parts: []Part{{Without: []int{0}}}} }
	leads := []Lead{trimmed("a"), trimmed("b"), {ID: "c"}, {ID: "d"}}
	for _, c := range []struct {
		points []float64
		want   []int
	}{
		{[]float64{1.44, 1.2, 1.1, 1.05}, []int{0, 1, 2}},
		{[]float64{0.88, 1.2, 1.1, 1.05}, []int{1, 2, 3}},
		{[]float64{1.2, 1.1, 1.22, 1}, []int{0, 2, 1}},
		{[]float64{1.2, 1.1, 1.4, 1}, []int{2, 0, 1}},
		{[]float64{0.9, 0.9, 0.8, 0.9}, nil},
	} {
		var ratios []beagle.Ratio
		for _, p := range c.points {
			ratios = append(ratios, ratio(p))
		}
		if got := Rank(leads, ratios); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.points, got, c.want)
		}
	}
}

// TestOfWhatNothingIsKnown: a lead that could not be timed comes last, and a step stays if the form
// without it could not be timed.
func TestOfWhatNothingIsKnown(t *testing.T) {
	unknown := beagle.Ratio{Point: 1, High: math.MaxFloat64}
	slow := beagle.Ratio{Point: 1.02, Low: 0.99, High: 1.05}
	leads := []Lead{{ID: "a", Parts: []Part{{Without: []int{0}}}}, {ID: "b"}}
	if got := Rank(leads, []beagle.Ratio{unknown, slow}); !slices.Equal(got, []int{1, 0}) {
		t.Errorf("%v leads", got)
	}
	lead := Lead{Steps: []beagle.Step{{Mutator: "a"}, {Mutator: "b"}}, Loose: 2,
		Parts: []Part{{Without: []int{0}}, {Without: []int{1}}}}
	unshown, useless := lead.Spare([]beagle.Ratio{unknown, slow}, unknown)
	if !slices.Equal(unshown, []int{1}) || !slices.Equal(useless, []int{1}) {
		t.Errorf("steps %v are not shown to gain, %v look useless", unshown, useless)
	}
}

// TestBundles: the forms without a rewrite's steps at all places are asked for, and compared first.
func TestBundles(t *testing.T) {
	x := newTrimmed(t)
	c, v := x.judged([]string{"g0", "g1", "g0", "n0", "g1", "g0"})
	x.Add(c, v, nil)
	asked := x.run(t)
	for _, want := range []string{"g1 n0 g1", "g0 g0 n0 g0"} {
		if !slices.Contains(asked[0], want) {
			t.Errorf("%q is not among %q", want, asked[0])
		}
	}
	var got [][]int
	l := x.Leads()[0]
	for _, p := range l.Compared() {
		got = append(got, p.Without)
	}
	if want := "[[0 2 5] [1 4] [0] [1] [2] [3] [4] [5]]"; fmt.Sprint(got) != want {
		t.Errorf("compared without %v, want %v", got, want)
	}
}

// TestNearest checks that a form that leaves out a wanted step is not a near one.
func TestNearest(t *testing.T) {
	l := Lead{Parts: []Part{{Without: []int{0}}, {Without: []int{0, 2}}, {Without: []int{0, 1, 2}}}}
	for _, c := range []struct {
		cut   []int
		want  []int
		exact bool
	}{
		{[]int{0, 2}, []int{0, 2}, true}, {[]int{0, 2, 3}, []int{0, 2}, false}, {[]int{1}, nil, false}, {nil, nil, false},
	} {
		p, exact := l.Nearest(c.cut)
		if exact != c.exact || (p == nil) != (c.want == nil) || p != nil && !slices.Equal(p.Without, c.want) {
			t.Errorf("%v: %+v, exact %v", c.cut, p, exact)
		}
	}
}

// layoutLuck is what one link layout does to the time of a version, as a standard deviation.
const layoutLuck = 0.04

// overLayouts returns a measurement of one version against another over six layouts.
func overLayouts(r *rand.Rand, truth float64) beagle.Ratio {
	const layouts, t = 6, 2.571 // Student's, for 95 %
	logs, mean, square := make([]float64, layouts), 0.0, 0.0
	for i := range logs {
		logs[i] = math.Log(truth) + layoutLuck*r.NormFloat64()
		mean += logs[i] / layouts
	}
	for _, x := range logs {
		square += (x - mean) * (x - mean)
	}
	half := t * math.Sqrt(square/(layouts-1)/layouts)
	return beagle.Ratio{Point: math.Exp(mean), Low: math.Exp(mean - half), High: math.Exp(mean + half)}
}

// TestSpareOnLandscapes searches the landscapes with screenings in one layout each, whose luck is
// that of real code, and trims the best version by layouts. Steps that gain nothing go, and what
// gains a twentieth or more stays but by chance.
func TestSpareOnLandscapes(t *testing.T) {
	before, after, lost, kept := 0, 0, 0, 0
	for name, make := range landscapes {
		for seed := range uint64(8) {
			w := make(seed)
			w.noise = layoutLuck
			s := New(Config{Seed: seed, Strategy: Islands, Budget: 150})
			w.run(s, 8)
			w.trim(t, s)
			leads := s.Leads()
			if len(leads) == 0 || len(leads[0].Compared()) == 0 {
				continue
			}
			l, r := leads[0], rand.New(rand.NewPCG(seed, 5))
			whole := w.ratio(w.source[l.ID])
			var gains []beagle.Ratio
			truths := map[int]float64{}
			for _, p := range l.Compared() {
				truths[p.Without[0]] = w.ratio(w.source[p.ID]) / whole
				gains = append(gains, overLayouts(r, truths[p.Without[0]]))
			}
			unshown, _ := l.Spare(gains, overLayouts(r, whole))
			for step, truth := range truths {
				switch gone := slices.Contains(unshown, step); {
				case truth >= 1:
					before++
					if !gone {
						after++
					}
				case truth < 1/1.1:
					kept++
					if gone {
						lost++
						t.Logf("%s, seed %d: a step that gains %.2fx is lost", name, seed, 1/truth)
					}
				}
			}
			if n := len(l.Less(slices.Collect(maps.Keys(truths)))); n != len(l.Steps)-len(truths) {
				t.Errorf("%d steps without %d of %d", n, len(truths), len(l.Steps))
			}
		}
	}
	said := fmt.Sprintf("%d steps gain nothing, of which %d stay; %d gain a tenth and more, of which %d go", before,
		after, kept, lost)
	if t.Log(said); before < 20 || after > before/6 || lost > kept/6 {
		t.Error(said)
	}
}

// TestSpareBundles trims a version whose steps one rewrite took at several places, by layouts with
// the luck of real code. What the places gain together stays, though each gains too little to show,
// and places that gain nothing go nearly as often as by themselves.
func TestSpareBundles(t *testing.T) {
	for _, c := range []struct {
		name  string
		gains []float64 // of the places
		other float64   // of another rewrite's step; 0 for none
		// bounds on the share of the bundle's gain that stays, and of its steps without a gain
		kept, needless float64
	}{
		{"little at each of three", []float64{0.025, 0.025, 0.025}, 0.1, 0.75, 0},
		{"little at each of four, and nothing else", []float64{0.02, 0.02, 0.02, 0.02}, 0, 0.7, 0},
		{"much at one of three", []float64{0.1, 0, 0}, 0.1, 0.95, 0.2},
		{"little at two of four", []float64{0.04, 0.04, 0, 0}, 0.1, 0.8, 0.4},
		{"nothing at three", []float64{0, 0, 0}, 0.1, 0, 0.1},
	} {
		kept, needless := sparedBundle(c.gains, c.other, true)
		before, needlessBefore := sparedBundle(c.gains, c.other, false)
		said := fmt.Sprintf("%s: %.2f of the gain stays and %.2f of the idle steps; by single steps %.2f and %.2f",
			c.name, kept, needless, before, needlessBefore)
		if t.Log(said); kept < c.kept || needless > c.needless {
			t.Error(said)
		}
	}
}

// sparedBundle trims a version many times, with its bundle or by single steps alone. It returns the
// share of the bundle's gain that stays, and that of its steps without a gain.
func sparedBundle(gains []float64, other float64, together bool) (kept, needless float64) {
	const runs = 400
	sum, none := 0.0, 0.0
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 3))
		l, total := bundled(gains, other, together)
		var found []beagle.Ratio
		for _, p := range l.Compared() {
			lost := 0.0
			for _, step := range p.Without {
				lost += slices.Concat(gains, []float64{other})[step]
			}
			found = append(found, overLayouts(r, math.Exp(-lost)))
		}
		var whole beagle.Ratio
		if together {
			whole = overLayouts(r, math.Exp(total))
		}
		unshown, _ := l.Spare(found, whole)
		for i, g := range gains {
			sum += g
			if g == 0 {
				none++
			}
			if !slices.Contains(unshown, i) {
				kept += g
				if g == 0 {
					needless++
				}
			}
		}
	}
	return kept / max(sum, 1e-9), needless / max(none, 1)
}

// bundled returns a lead with a rewrite at several places and perhaps a step of another one, and
// its whole gain.
func bundled(gains []float64, other float64, together bool) (l Lead, total float64) {
	var all []int
	for i, g := range gains {
		l.Steps = append(l.Steps, beagle.Step{Mutator: "everywhere"})
		l.Parts = append(l.Parts, Part{Without: []int{i}})
		total, all = total+g, append(all, i)
	}
	if other > 0 {
		l.Steps = append(l.Steps, beagle.Step{Mutator: "once"})
		l.Parts = append(l.Parts, Part{Without: []int{len(gains)}})
		if together {
			l.Parts = append(l.Parts, Part{Without: all})
		}
	}
	l.Loose = len(l.Steps)
	return l, total + other
}

// TestJoint: where six steps gain 3 % each and a layout's luck is worth 4 %, the best of 144
// versions leads by luck and lacks a part of the gains. The joint version, which averages over all
// of them, has more.
func TestJoint(t *testing.T) {
	const searches = 8
	small := func(have []bool) float64 { return math.Pow(1.03, float64(count(have))) }
	var first, joint float64
	for seed := range uint64(searches) {
		w := newWorld("small gains", seed, 6, small)
		w.noise = layoutLuck
		s := New(Config{Seed: seed, Strategy: Islands, Budget: 144})
		w.run(s, 12)
		spent := s.Spent
		w.trim(t, s)
		leads := s.Leads()
		at := slices.IndexFunc(leads, func(l Lead) bool { return l.ID == s.trims.joint() })
		if at < 0 || s.Spent != spent {
			t.Fatalf("seed %d: no joint version among %d leads, or it cost budget", seed, len(leads))
		}
		first += math.Log(w.ratio(w.source[leads[0].ID])) / searches
		joint += math.Log(w.ratio(w.source[leads[at].ID])) / searches
	}
	said := fmt.Sprintf("the first lead gains %.3f, the joint version %.3f", first, joint)
	if t.Log(said); joint < first+0.02 {
		t.Error(said)
	}
}

// TestJoined: the steps of the joint version keep an order in which each finds its place. Steps
// that make versions slower, and steps on a model's text, are not among them.
func TestJoined(t *testing.T) {
	x := newTrimmed(t, "g0 g1", "g0", "g0 g2")
	add := func(ratio float64, names ...string) {
		c := beagle.Candidate{ID: fmt.Sprint(names)}
		for _, name := range names {
			x.merits.arm(name) // the regression knows the mutators of moves only
			c.Steps = append(c.Steps, beagle.Step{Mutator: name, Param: "one"})
		}
		screen := &beagle.Ratio{Point: ratio, Low: ratio, High: ratio}
		x.Add(c, beagle.Verdict{Status: beagle.Equal, Screen: screen}, nil)
	}
	add(1.3, "g0", "slow", "g1", "g2")
	add(0.8, "slow")
	add(3, ByAuthor, "g3")
	var got []string
	for _, st := range x.joinedSteps() {
		got = append(got, st.Mutator)
	}
	if want := []string{"g0", "g1", "g2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
