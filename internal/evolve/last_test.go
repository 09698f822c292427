package evolve

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

// A trimmed is a search whose members gain by the names of their steps: a "g"
// step is worth a tenth, an "n" step nothing, and a "w" step is wrong without the
// "g0" step before it.
type trimmed struct {
	*Search
	codes map[string]string // machine code of a set of steps -> the first candidate with it
}

func newTrimmed(t *testing.T, finds ...string) *trimmed {
	t.Helper()
	x := &trimmed{New(Config{Seed: 1, Strategy: Greedy, Budget: 10}), map[string]string{}}
	x.Add(beagle.Candidate{ID: "root"}, beagle.Verdict{Status: beagle.Equal}, nil)
	for _, find := range finds {
		c, v := x.judged(strings.Fields(find))
		x.Add(c, v, nil)
	}
	return x
}

// judged returns the verdict on a stack of steps. "n" steps leave no machine code.
func (x *trimmed) judged(names []string) (beagle.Candidate, beagle.Verdict) {
	c := beagle.Candidate{ID: "c " + strings.Join(names, " ")}
	gain, code := 0.0, ""
	for _, n := range names {
		c.Steps = append(c.Steps, beagle.Step{Mutator: n, Param: n})
		if n[0] != 'n' {
			gain, code = gain+0.1, code+n
		}
	}
	ratio := math.Exp(gain)
	v := beagle.Verdict{
		Candidate: c.ID,
		Status:    beagle.Equal,
		Screen:    &beagle.Ratio{Point: ratio, Low: ratio, High: ratio},
	}
	first := x.codes[code]
	switch {
	case slices.Contains(names, "w") && !slices.Contains(names, "g0"):
		v.Status = beagle.Wrong
	case first != "" && first != c.ID:
		v.Status, v.Twin = beagle.Duplicate, first
	default:
		x.codes[code] = c.ID
	}
	return c, v
}

// run takes the last generations, and returns what each asked for.
func (x *trimmed) run(t *testing.T) (asked [][]string) {
	t.Helper()
	for {
		ps := x.AskTrims()
		if len(ps) == 0 {
			return asked
		}
		names, out := x.answer(ps)
		if err := x.Tell(out); err != nil {
			t.Fatal(err)
		}
		asked = append(asked, names)
	}
}

// answer makes and judges what proposals ask for, and returns the steps of each.
func (x *trimmed) answer(ps []Proposal) (asked []string, out []Feedback) {
	for _, p := range ps {
		var steps []string
		for _, w := range p.Then {
			steps = append(steps, w.Mutator)
		}
		c, v := x.judged(steps)
		asked = append(asked, strings.Join(steps, " "))
		out = append(out, Feedback{Proposal: p.ID, Candidate: c, Verdict: v, Twin: v.Twin})
	}
	return asked, out
}

func (x *trimmed) finalists() []string {
	var out []string
	for _, f := range x.Finalists() {
		out = append(out, strings.TrimPrefix(f.ID, "c "))
	}
	return out
}

// TestTrims: what ships has no step that buys nothing, whether its loss changes the machine code or
// not; the search was told it like all else; and the best stays in the field as it was found.
func TestTrims(t *testing.T) {
	x := newTrimmed(t, "g0 n0 g1 n1")
	asked := x.run(t)
	want := [][]string{
		{"n0 g1 n1", "g0 g1 n1", "g0 n0 n1", "g0 n0 g1"},
		{"g0 g1", "g1"}, // n0 and n1 are the least useful, and then g0
	}
	if fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	if got := x.finalists(); !slices.Equal(got, []string{"g0 g1", "g0 n0 g1 n1"}) {
		t.Errorf("finalists %q", got)
	}
	if x.Spent != 0 || len(x.Pending) != 0 {
		t.Errorf("%d of the budget spent, %d proposals pending", x.Spent, len(x.Pending))
	}
}

// planted returns a search whose best member takes three steps: one that doubles the speed, one
// whose gain is not shown, and one that makes it 3 % faster with forty lines more.
func planted(t *testing.T, fastest bool) *Search {
	t.Helper()
	s := New(Config{Seed: 1, Strategy: Greedy, Budget: 10, Fastest: fastest})
	s.Add(beagle.Candidate{ID: "root"}, beagle.Verdict{Status: beagle.Equal}, nil)
	made := func(names []string) Feedback {
		point, reading := 1.0, 20
		o := Feedback{Candidate: beagle.Candidate{ID: strings.Join(names, " ")}}
		for _, n := range names {
			o.Candidate.Steps = append(o.Candidate.Steps, beagle.Step{Mutator: n})
			switch n {
			case "doubles":
				point, reading = 2*point, reading+10
			case "noise":
				point, reading = 0.99*point, reading+5
			case "little":
				point, reading = 1.03*point, reading+40
			}
		}
		o.Verdict = beagle.Verdict{Status: beagle.Equal,
			Screen: &beagle.Ratio{Point: point, Low: 0.96 * point, High: 1.04 * point}}
		o.Reading = reading
		return o
	}
	p := s.enroll(Proposal{Kind: Step, Parent: "root"})
	whole := made([]string{"doubles", "noise", "little"})
	whole.Proposal = p.ID
	if err := s.Tell([]Feedback{whole}); err != nil {
		t.Fatal(err)
	}
	for {
		var out []Feedback
		for _, p := range s.AskTrims() {
			var names []string
			for _, w := range p.Then {
				names = append(names, w.Mutator)
			}
			o := made(names)
			o.Proposal = p.ID
			out = append(out, o)
		}
		if len(out) == 0 {
			return s
		}
		if err := s.Tell(out); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheSimplestWithin5Percent checks that the first finalist lacks the step whose gain
// is not shown and the one whose gain is not worth its lines, and that a user who asks
// for the fastest gets no slower one.
func TestTheSimplestWithin5Percent(t *testing.T) {
	s := planted(t, false)
	if got := s.Finalists(); got[0].ID != "doubles" || got[len(got)-1].ID != "doubles noise little" {
		t.Errorf("finalists %+v", got)
	}
	s = planted(t, true)
	if got := s.Finalists(); got[0].ID != "doubles little" {
		t.Errorf("of the fastest: %+v", got)
	}
}

// TestTrimsKeep: steps that others need, and steps that pay, stay.
func TestTrimsKeep(t *testing.T) {
	x := newTrimmed(t, "g0 w")
	x.run(t)
	if got := x.finalists(); !slices.Equal(got, []string{"g0 w"}) {
		t.Errorf("finalists %q", got)
	}
}

// TestPickFinalists: those that only add to a better one, or gain nothing, are
// not measured in full.
func TestPickFinalists(t *testing.T) {
	x := newTrimmed(t, "g0", "g1 g2 g3", "g1 g2 g3 n0", "n2", "g4 g5", "g6", "g7")
	x.run(t)
	if got := x.finalists(); !slices.Equal(got, []string{"g1 g2 g3", "g4 g5", "g0"}) {
		t.Errorf("finalists %q", got)
	}
}

// TestPickFinalistsInNoise checks that a version that adds to a finalist is one too when the quick
// measurement leaves open that it is much faster.
func TestPickFinalistsInNoise(t *testing.T) {
	for _, c := range []struct {
		high float64
		want []string
	}{{1.35, []string{"g0"}}, {1.6, []string{"g0", "g0 g1"}}} {
		x := newTrimmed(t)
		for find, r := range map[string]beagle.Ratio{
			"g0": {Point: 1.1, Low: 0.95, High: 1.3}, "g0 g1": {Point: 1.25, Low: 0.9, High: c.high},
		} {
			candidate, v := x.judged(strings.Fields(find))
			v.Screen = &r
			x.Add(candidate, v, nil)
		}
		x.run(t)
		if got := x.finalists(); !slices.Equal(got, c.want) {
			t.Errorf("upper end %v: finalists %q, want %q", c.high, got, c.want)
		}
	}
}

// TestAsGoodAs: nothing slower than the best is asked to be faster than it, and the limit has no
// step where the gain ends.
func TestAsGoodAs(t *testing.T) {
	for _, c := range []struct {
		best    float64
		fastest bool
		want    float64
	}{
		{0, false, 0}, {0.9, false, 0.9}, {1, false, 1}, {1.08, false, 1.0594}, {2, false, 1.9}, {0.9, true, 0.8955},
	} {
		if got := AsGoodAs(c.best, c.fastest); math.Abs(got-c.want) > 1e-4 {
			t.Errorf("the best at %v, fastest %v: %v, want %v", c.best, c.fastest, got, c.want)
		}
	}
	x := newTrimmed(t)
	slow, simpler := &Member{Point: 0.9}, &Member{Point: 0.95}
	if x.mayBeat(slow, simpler) {
		t.Error("a version that is slower than a simpler one may beat it")
	}
}

// TestTrimsGoOn: a search that is stopped between its last generations goes on with
// them.
func TestTrimsGoOn(t *testing.T) {
	straight, stopped := newTrimmed(t, "g0 n0 g1 n1"), newTrimmed(t, "g0 n0 g1 n1")
	want := straight.run(t)
	var got [][]string
	for range 3 {
		stopped.Search = reload(t, stopped.Search)
		before := len(stopped.Trims)
		ps := stopped.AskTrims()
		names, out := stopped.answer(ps)
		if len(ps) != len(stopped.Trims)-before {
			t.Fatalf("%d proposals, %d trims", len(ps), len(stopped.Trims)-before)
		}
		if len(ps) == 0 {
			break
		}
		got = append(got, names)
		stopped.Search = reload(t, stopped.Search)
		if err := stopped.Tell(out); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || fmt.Sprint(stopped.finalists()) != fmt.Sprint(straight.finalists()) {
		t.Errorf("asked for %q and kept %q; want %q and %q", got, stopped.finalists(), want, straight.finalists())
	}
}

// TestTrimsOfOneText: two proposals make the same text, and the feedback calls one of them a
// duplicate. Both stand for the member with the text, or with its machine code, in either order.
func TestTrimsOfOneText(t *testing.T) {
	const member = "c g0 g1"
	good := Feedback{Verdict: beagle.Verdict{Status: beagle.Equal}}
	wrong := Feedback{Verdict: beagle.Verdict{Status: beagle.Wrong}}
	again := Feedback{Verdict: beagle.Verdict{Status: beagle.Duplicate}}
	twin := Feedback{Verdict: beagle.Verdict{Status: beagle.Duplicate}, Twin: member}
	for _, c := range []struct {
		joint, other Feedback
		want         string
	}{
		{good, again, "x"}, {again, good, "x"}, {twin, again, member}, {again, twin, member}, {wrong, again, ""},
	} {
		x := newTrimmed(t, "g0 g1")
		told := []Feedback{c.joint, c.other}
		for i, of := range []string{x.Root, member} {
			p := x.enroll(Proposal{Parent: x.Root, Kind: Cross})
			x.trims.Trims = append(x.trims.Trims, Trim{Of: of, Proposal: p.ID})
			told[i].Proposal, told[i].Candidate = p.ID, beagle.Candidate{ID: "x"}
		}
		if err := x.Tell(told); err != nil {
			t.Fatal(err)
		}
		if joint, other := x.trims.joint(), x.trims.Trims[1].As; joint != c.want || other != c.want {
			t.Errorf("feedback %v on the joint version, %v on the other: they are %q and %q, want %q",
				c.joint.Verdict.Status, c.other.Verdict.Status, joint, other, c.want)
		}
	}
}
