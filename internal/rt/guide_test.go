package rt

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// lower is a version as a traced build has it; plant is a condition under which
// it is wrong.
func lower(plant func(s string) bool) func(*textArgs, *textResults) {
	return func(a *textArgs, r *textResults) {
		var b strings.Builder
		for _, c := range a.A0 {
			switch {
			case TraceInt(0, TraceGe, c, 'A') && TraceInt(1, TraceLe, c, 'Z'):
				b.WriteRune(c + 32)
			case TraceInt(2, TraceEq, c, ' ') || TraceInt(3, TraceEq, c, '\t'):
				b.WriteByte('_')
			default:
				b.WriteRune(c)
			}
		}
		if r.R0 = b.String(); plant(a.A0) {
			r.R0 = "?"
		}
	}
}

func guidedBy(t testing.TB, q *GuideRequest, fs ...func(*textArgs, *textResults)) *GuideReply {
	t.Helper()
	h := &Harness[textArgs, textResults]{}
	for _, f := range fs {
		h.Variants = append(h.Variants, version(f))
	}
	q.Variant, q.Sites = 1, 10
	q.Ints = []int64{'A', 'Z', ' ', '\t'}
	if q.Budget == 0 {
		q.Budget = int64(time.Minute)
	}
	out, err := h.guided(q)
	trace.sites = nil // other tests are not traced
	if err != nil {
		t.Fatal(err)
	}
	return out.(*GuideReply)
}

func never(string) bool { return false }

// TestGuide plants differences that hang on what the versions compare. The
// constants are known to the comparisons alone.
func TestGuide(t *testing.T) {
	for name, plant := range map[string]func(s string) bool{
		"magic": func(s string) bool {
			return TraceBranch(4, len(s) > 9) && TraceInt(5, TraceEq, s[2], '%') && TraceInt(6, TraceEq, s[5], '{') &&
				TraceInt(7, TraceEq, s[9], 0xfe)
		},
		"length": func(s string) bool { return TraceInt(5, TraceEq, len(s), 1717) },
		"text": func(s string) bool {
			return TraceS1(5, strings.HasSuffix, s, "-unlikely") && TraceInt(6, TraceEq, len(s), 31)
		},
		"switch": func(s string) bool {
			switch TraceSwitchText(5, s, "first", "second-choice") {
			case "second-choice":
				return true
			}
			return false
		},
		"index": func(s string) bool {
			return len(s) > 0 && TraceIndex(5, 256, s[0]) == 0xd7 && TraceInt(6, TraceGt, len(s), 50)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := guidedBy(t, &GuideRequest{}, lower(never), lower(plant))
			if r.Diff == nil || r.Diff.Kind != "result" {
				t.Fatalf("missed: %+v", r)
			}
		})
	}
}

// TestGuideSaturates: equal versions end the search by themselves, twice in the same way, and the
// reply lists what cannot be reached.
func TestGuideSaturates(t *testing.T) {
	dead := func(s string) bool { return TraceInt(8, TraceLt, len(s), 0) }
	one := guidedBy(t, &GuideRequest{Exhaust: Exhaust{Seed: 3}}, lower(never), lower(dead))
	two := guidedBy(t, &GuideRequest{Exhaust: Exhaust{Seed: 3}}, lower(never), lower(dead))
	if !one.Saturated || one.Diff != nil || one.Inputs < idleInputs {
		t.Errorf("%+v", one)
	}
	if one.Inputs != two.Inputs || one.Kept != two.Kept || one.Last != two.Last {
		t.Errorf("the same seed takes two ways: %+v, %+v", one, two)
	}
	if want := [][]int{{4, 5, 6, 7, 8, 9}, {4, 5, 6, 7, 9}}; !reflect.DeepEqual(one.Unreached, want) {
		t.Errorf("unreached %v, want %v", one.Unreached, want)
	}
	short := guidedBy(t, &GuideRequest{Exhaust: Exhaust{Budget: 1}}, lower(never), lower(dead))
	if short.Saturated {
		t.Errorf("saturated without time: %+v", short)
	}
}

// TestGuideStop: a search that is run again shows the input of a number.
func TestGuideStop(t *testing.T) {
	r := guidedBy(t, &GuideRequest{Stop: 4000}, lower(never), lower(never))
	if r.Shown == nil || len(r.Shown.Args) == 0 {
		t.Errorf("%+v", r)
	}
}

// TestGuideSlow: inputs that the original is too slow for are no evidence, and the search goes on
// without them.
func TestGuideSlow(t *testing.T) {
	slow := func(a *textArgs, r *textResults) {
		if TraceInt(5, TraceGt, len(a.A0), 400) {
			for start := ProcessCPU(); ProcessCPU()-start < 7*time.Millisecond; {
			}
		}
	}
	r := guidedBy(t, &GuideRequest{}, slow, slow)
	if r.Diff != nil || !r.Saturated || r.Millis > 20_000 {
		t.Errorf("%+v", r)
	}
}

// TestGuideMutants: mutants are other inputs than the one that they come from,
// and leave it as it is, for every kind of value.
func TestGuideMutants(t *testing.T) {
	a := &everything{}
	g := newGuide(&GuideRequest{}, newDomain(&Exhaust{}, ""), reflect.TypeFor[everything]().PkgPath(), nil)
	g.clone = func(p any) any { return Clone(p.(*everything)) }
	g.keep(a)
	before, err := Snapshot(nil, a)
	if err != nil {
		t.Fatal(err)
	}
	changed := map[string]bool{}
	for range 20_000 {
		p := g.mutant(g.kept[g.rng.IntN(len(g.kept))])
		s, err := Snapshot(nil, p)
		if err != nil {
			t.Fatal(err)
		}
		if !changed[string(s)] && len(g.kept) < 50 {
			g.keep(p)
		}
		changed[string(s)] = true
	}
	after, _ := Snapshot(nil, a)
	if string(before) != string(after) {
		t.Error("the input itself was changed")
	}
	if len(changed) < 5000 {
		t.Errorf("20000 mutants are %d different inputs", len(changed))
	}
}

// TestTraceKeepsResults: what is traced comes out as it went in.
func TestTraceKeepsResults(t *testing.T) {
	startTrace(8)
	defer func() { trace.sites = nil }()
	beginRun(true)
	values := []int8{math.MinInt8, -1, 0, 1, math.MaxInt8}
	for _, x := range values {
		for _, y := range values {
			got := []bool{TraceInt(0, TraceEq, x, y), TraceInt(0, TraceNe, x, y), TraceInt(0, TraceLt, x, y),
				TraceInt(0, TraceLe, x, y), TraceInt(0, TraceGt, x, y), TraceInt(0, TraceGe, x, y)}
			if want := []bool{x == y, x != y, x < y, x <= y, x > y, x >= y}; !reflect.DeepEqual(got, want) {
				t.Errorf("%d, %d: %v, want %v", x, y, got, want)
			}
			if TraceSwitch(1, x, y) != x || TraceIndex(2, 0, x) != x || TraceNarrow(3, 5, x) != x {
				t.Errorf("%d comes out changed", x)
			}
		}
	}
	if nan := math.NaN(); TraceFloat(4, TraceEq, nan, nan) || !TraceFloat(4, TraceNe, nan, nan) ||
		TraceFloat(4, TraceGe, nan, 0) {
		t.Error("NaN is compared otherwise")
	}
	if !TraceText(5, TraceLt, "a", "b") || TraceInt(99, TraceLt, 2, 1) {
		t.Error("texts, or a site out of range")
	}
	if n := testing.AllocsPerRun(100, func() {
		beginRun(true)
		TraceInt(0, TraceEq, 1, 2)
		TraceText(5, TraceEq, "x", "yy")
		endRun()
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkGuide(b *testing.B) {
	for range b.N {
		r := guidedBy(b, &GuideRequest{}, lower(never), lower(never))
		b.ReportMetric(float64(r.Inputs), "inputs")
		b.ReportMetric(float64(r.Kept), "kept")
	}
}
