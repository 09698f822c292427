package flow

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/internal/verify"
	"github.com/beagle-go/beagle/mutate"
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
		for _, c := range chosen.Finalists {
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
	if chosen, err := x.judge.sifted(t.Context(), f); err != nil || len(chosen.Finalists) > 0 {
		t.Errorf("%v of versions that gain nothing, %v", chosen, err)
	}
}

// TestFinalistsOfOneCode checks that one of the forms with the same machine code is measured in
// full, the shortest.
func TestFinalistsOfOneCode(t *testing.T) {
	e := &plantedSifting{speed: map[string]float64{"whole": 1.3, "whole-0": 1.3, "whole-1": 1.1}}
	x, id := siftedBy(t, e)
	for text, code := range map[string]string{"whole": "one", "whole-0": "one", "whole-1": "two"} {
		e := Evaluation{Candidate: id(text)}
		e.Verdict = beagle.Verdict{Status: beagle.Equal, Static: beagle.StaticFacts{CodeHash: code}}
		if err := x.works.putVerdict(e); err != nil {
			t.Fatal(err)
		}
	}
	l := evolve.Lead{ID: id("whole"), Steps: []beagle.Step{{Mutator: "a"}, {Mutator: "b"}}, Loose: 2}
	for i, text := range []string{"whole-0", "whole-1"} {
		l.Parts = append(l.Parts, evolve.Part{Finalist: evolve.Finalist{ID: id(text)}, Without: []int{i}})
	}
	l.Short.ID = l.ID
	chosen, err := x.judge.sifted(t.Context(), Field{Leads: []evolve.Lead{l}})
	if f := chosen.Finalists; err != nil || len(f) != 1 || f[0].ID != id("whole-0") {
		t.Errorf("finalists %+v, %v", f, err)
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
	if f := chosen.Finalists; err != nil || len(f) != 2 || f[0].ID != id("all but [1 3]") || f[1].ID != l.ID {
		t.Errorf("finalists %+v, %v", f, err)
	}
}

// A screenedField is evidence whose programs are screened, too.
type screenedField struct{ plantedField }

func (screenedField) assemble(context.Context, []beagle.Candidate) (candidateProgram, error) {
	return screenedProgram{}, nil
}

// A screenedProgram is of versions that all behave and are as fast as the original.
type screenedProgram struct{ goodProgram }

func (screenedProgram) static(int) beagle.StaticFacts { return beagle.StaticFacts{} }

func (screenedProgram) screen(_ context.Context, versions []int, _ time.Duration) ([]beagle.Ratio, error) {
	return slices.Repeat([]beagle.Ratio{{Point: 1, Low: 0.9, High: 1.1}}, len(versions)), nil
}

// TestMadeByTheJudge: where the lead's best form was not in the search, the judge makes it. The
// form is evaluated as in a search, and the result's log has it with its screening. So has a
// process that takes the judgement from the store.
func TestMadeByTheJudge(t *testing.T) {
	helper := func(name string) *mutate.Mutator {
		m := planted(name, func(string) {})
		m.Rewrite = func(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
			helper := p.Fresh(name)
			return []mutate.Edit{p.Insert(p.Func.Body.Lbrace+1, "\n_ = "+helper+"\n"),
				p.Insert(s.Node.End(), "\n\nfunc "+helper+"() {}\n")}, nil
		}
		return m
	}
	u := plantedUnit(t)
	e := screenedField{plantedField{&plantedSifting{speed: map[string]float64{}}, map[string]float64{}}}
	lab := &lab{ahead: func() {}, verify: &verify.Env{Unit: u, Dir: t.TempDir()}}
	mutators := []*mutate.Mutator{helper("gains"), helper("idle"), helper("lazy")}
	x := newSession("run", Defaults(), openStore(t), func(Event) {}, u, lab, mutators)
	x.lab.evidence = e
	x.inputs.hold(&beagle.Corpus{}, 0)
	if err := x.works.store.Save("run", "prepared", Prepared{RootID: x.works.root.ID}); err != nil {
		t.Fatal(err)
	}
	// The search made the lead, and its forms without one step. Only the first step gains.
	version := func(speed float64, names ...string) beagle.Candidate {
		c := x.works.root
		for _, name := range names {
			var err error
			step := beagle.Step{Mutator: name, Site: "f", Param: "1"}
			if c, err = x.rewriter.work.retrace(c, step); err != nil {
				t.Fatal(err)
			}
		}
		e.speed[c.Source], e.first[c.Source] = speed, speed
		return c
	}
	searched := func(speed float64, names ...string) evolve.Finalist {
		c := version(speed, names...)
		if err := x.works.putCandidates(c); err != nil {
			t.Fatal(err)
		}
		return evolve.Finalist{ID: c.ID, Steps: c.Steps}
	}
	whole := searched(1.3, "gains", "idle", "lazy")
	lead := evolve.Lead{ID: whole.ID, Steps: whole.Steps, Loose: 3, Short: whole, Parts: []evolve.Part{
		{Finalist: searched(1, "idle", "lazy"), Without: []int{0}},
		{Finalist: searched(1.3, "gains", "lazy"), Without: []int{1}},
		{Finalist: searched(1.3, "gains", "idle"), Without: []int{2}},
	}}
	want := version(1.3, "gains")
	for range 2 {
		j, err := x.judge.field(t.Context(), Field{Tried: 4, Leads: []evolve.Lead{lead}})
		if err != nil {
			t.Fatal(err)
		}
		if len(j.Made) != 1 || len(j.Made[0].Steps) != 1 || j.Made[0].Screen == nil ||
			j.Made[0].Status != beagle.Equal {
			t.Fatalf("the judge made %+v", j.Made)
		}
		if _, ok := x.works.verdict(want.ID); !ok || j.Made[0].Candidate != want.ID || j.Winner.ID != want.ID {
			t.Errorf("the judge made %s, with a verdict in the store %v, and %s won", j.Made[0].Candidate, ok,
				j.Winner.ID)
		}
		log := &Log{Attempts: []beagle.Attempt{{Candidate: whole.ID, Status: beagle.Equal}}}
		for range 2 { // a report may be repeated
			all := log.extend(j.Made)
			if len(all.Attempts) != 2 || all.Statuses()[beagle.Equal] != 2 || len(log.Attempts) != 1 {
				t.Errorf("the log has %+v", all.Attempts)
			}
		}
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
			list := []measuredFinalist{{cs[0], &long}, {cs[1], &short}}
			if orderFinalists(list, fastest); list[0].candidate.Source != cs[want].Source {
				t.Errorf("the shorter one at %v, fastest %v: the other one comes first", c.shorter, fastest)
			}
		}
	}
}
