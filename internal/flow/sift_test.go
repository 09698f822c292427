package flow

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/store"
)

// A plantedSifting is evidence that says how fast versions are, by their source, within 1 %.
type plantedSifting struct {
	evidence
	speed map[string]float64
	asked [][]string // the sources of each sifting
}

func (e *plantedSifting) sift(
	_ context.Context, cs []beagle.Candidate, pairs [][2]int, _ int,
) (*bench.Sifting, error) {
	ratio := func(point float64) beagle.Ratio {
		return beagle.Ratio{Point: point, Low: 0.99 * point, High: point / 0.99}
	}
	out := &bench.Sifting{}
	var asked []string
	for _, c := range cs {
		asked = append(asked, c.Source)
		out.Ratios = append(out.Ratios, ratio(e.speed[c.Source]))
	}
	for _, p := range pairs {
		out.Over = append(out.Over, ratio(e.speed[cs[p[0]].Source]/e.speed[cs[p[1]].Source]))
	}
	e.asked = append(e.asked, asked)
	return out, nil
}

// siftedBy returns a session with this evidence, and a function that stores a version and returns
// its ID.
func siftedBy(t *testing.T, e evidence) (x *session, id func(text string) string) {
	t.Helper()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	u := &source.Unit{Target: beagle.Target{Dir: dir, PkgDir: dir, Source: "root"}, Copies: new(source.Copies)}
	x = newSession("run", Defaults(), s, nil, u, &lab{}, nil)
	x.lab.evidence = e
	return x, func(text string) string {
		c := beagle.NewCandidate(text, nil, nil)
		if err := x.works.putCandidates(c); err != nil {
			t.Fatal(err)
		}
		return c.ID
	}
}

// TestSifted: what one layout called the best is measured in full only if several layouts agree.
// The best goes there without the steps whose gain is not shown, as the search preferred it, and as
// it was found. A resumed run does not sift again.
func TestSifted(t *testing.T) {
	e := &plantedSifting{speed: map[string]float64{
		"lucky": 0.88, "best": 1.3, "best-0": 1.3, "best-1": 1.1, "best-2": 1.31, "best-0,2": 1.31, "other": 1.2,
	}}
	x, id := siftedBy(t, e)
	part := func(text string, without ...int) evolve.Part {
		return evolve.Part{Finalist: evolve.Finalist{ID: id(text)}, Without: without}
	}
	lead := func(text string, parts ...evolve.Part) evolve.Lead {
		return evolve.Lead{ID: id(text), Steps: []beagle.Step{{Mutator: "a"}, {Mutator: "b"}, {Mutator: "c"}},
			Loose: 3, Short: evolve.Finalist{ID: id(text)}, Parts: parts}
	}
	best := lead("best", part("best-0", 0), part("best-1", 1), part("best-2", 2), part("best-0,2", 0, 2))
	best.Short = evolve.Finalist{ID: id("best-0")}
	f := Field{Finalists: []evolve.Finalist{{ID: id("lucky")}}, Leads: []evolve.Lead{
		lead("lucky"), lead("other"), best,
	}}
	want := []string{id("best-0,2"), id("best-0"), id("best"), id("other")}
	for range 2 {
		chosen, err := x.judge.sifted(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range chosen {
			got = append(got, c.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("finalists %q, want %q", got, want)
		}
	}
	if len(e.asked) != 2 || len(e.asked[0]) != 3 || len(e.asked[1]) != 4 {
		t.Errorf("siftings of %q", e.asked)
	}
	e.speed = map[string]float64{"lucky": 0.88, "best": 0.9, "other": 0.97}
	f.Tried = 1 // the same leads, measured anew
	f.Leads = f.Leads[:2]
	if chosen, err := x.judge.sifted(t.Context(), f); err != nil || len(chosen) > 0 {
		t.Errorf("%v of versions that gain nothing, %v", chosen, err)
	}
}

// TestSiftedTogether: steps of one rewrite, of which none alone is shown to gain, stay if they gain
// together. Those of a rewrite that gains nothing anywhere go.
func TestSiftedTogether(t *testing.T) {
	e := &plantedSifting{speed: map[string]float64{"all": 1.3}}
	x, id := siftedBy(t, e)
	l := evolve.Lead{ID: id("all"), Loose: 5,
		Steps: []beagle.Step{{Mutator: "a"}, {Mutator: "idle"}, {Mutator: "a"}, {Mutator: "idle"}, {Mutator: "a"}}}
	l.Short.ID = l.ID
	for _, p := range []struct {
		without []int
		slower  float64
	}{
		{[]int{0, 2, 4}, 0.97}, {[]int{1, 3}, 1}, {[]int{0}, 0.991}, {[]int{1}, 1}, {[]int{2}, 0.991}, {[]int{3}, 1},
		{[]int{4}, 0.991},
	} {
		text := fmt.Sprint("all but ", p.without)
		e.speed[text] = 1.3 * p.slower
		l.Parts = append(l.Parts, evolve.Part{Finalist: evolve.Finalist{ID: id(text)}, Without: p.without})
	}
	chosen, err := x.judge.sifted(t.Context(), Field{Leads: []evolve.Lead{l}})
	if err != nil || len(chosen) != 2 || chosen[0].ID != id("all but [1 3]") || chosen[1].ID != l.ID {
		t.Errorf("finalists %+v, %v", chosen, err)
	}
}

// TestPreferenceInTheSameLayouts: of two versions whose intervals overlap, the shorter one comes
// first unless the layouts that they share show that the other one is faster.
func TestPreferenceInTheSameLayouts(t *testing.T) {
	measured := func(gain, low float64) beagle.Measurement {
		m := beagle.Measurement{Faster: true, Corrected: beagle.Ratio{Point: gain, Low: low, High: 2*gain - low}}
		for i := range 12 {
			r := gain * math.Exp(0.05*math.Sin(float64(i))+0.003*math.Cos(float64(7*i)*gain))
			at := beagle.Layout{Seed: uint64(i), Ratio: beagle.Ratio{Point: r, Low: r, High: r}}
			m.Layouts = append(m.Layouts, at)
		}
		return m
	}
	long := "package p\n\nfunc F() {\n\tprintln(1)\n\tprintln(2)\n\tprintln(3)\n}\n"
	cs := []beagle.Candidate{{Source: long}, {Source: "package p\n\nfunc F() { println(1) }\n"}}
	for _, c := range []struct {
		shorter float64
		want    int
	}{{1.3, 1}, {1.28, 1}, {1.23, 0}} {
		long, short := measured(1.3, 1.28), measured(c.shorter, 1.1)
		for fastest, want := range map[bool]int{false: c.want, true: 0} {
			list := []finalist{{cs[0], &long}, {cs[1], &short}}
			if orderFinalists(list, fastest); list[0].candidate.Source != cs[want].Source {
				t.Errorf("the shorter one at %v, fastest %v: the other one comes first", c.shorter, fastest)
			}
		}
	}
}
