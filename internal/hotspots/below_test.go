package hotspots

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/similarity"
)

// TestBelow checks whose time counts below a function: closures, recursion, runtime and collector.
func TestBelow(t *testing.T) {
	p := planned{Kind: CPU, Seconds: 10, Start: noon, Starts: map[string]int64{svc + "/p.Walk": 3}, Stacks: []string{
		"10 " + svc + "/p.Walk@/src/svc/p/p.go:5 main.main@/src/svc/main.go:9",
		"20 " + svc + "/p.Walk@/src/svc/p/p.go:6 " + svc + "/p.Walk@/src/svc/p/p.go:7 main.main@/src/svc/main.go:9",
		"5 runtime.memmove@/go/memmove.s:1 runtime.growslice@/go/slice.go:2 " + svc + "/p.Walk@/src/svc/p/p.go:6 " +
			svc + "/p.Other@/src/svc/p/p.go:30",
		"5 runtime.scanobject@/go/m.go:1 runtime.gcAssistAlloc@/go/m.go:1 runtime.mallocgc@/go/m.go:2 " +
			svc + "/p.Walk@/src/svc/p/p.go:6",
		"7 strings.ToUpper@/go/strings.go:2 " + svc + "/p.Walk.func1@/src/svc/p/p.go:8 sort.Slice@/go/s.go:1 " +
			svc + "/p.Walk@/src/svc/p/p.go:7",
		"3 " + svc + "/p.Other@/src/svc/p/p.go:30",
	}}
	c := &Checkout{Module: svc, Files: map[string]*SourceFile{
		"p/p.go": {Path: "p/p.go", Decls: []SourceFunc{{"Walk", 3, 10, true, ""}, {"Other", 29, 31, true, ""}}},
	}}
	table, err := Rank([]*Profile{p.parse(t, "a")}, Options{Checkout: c})
	if err != nil {
		t.Fatal(err)
	}
	s, err := table.Subtree("p.Walk")
	if err != nil {
		t.Fatal(err)
	}
	wantCallees := map[string]float64{SelfCallee: 30, "runtime.growslice": 5, Collector: 5, "strings.ToUpper": 7}
	for name, n := range wantCallees {
		if got := s.Callees[name] / s.Callees[SelfCallee] * 30; math.Abs(got-n) > 1e-6 {
			t.Errorf("%s: %g, want %g", name, got, n)
		}
	}
	if got := slices.Sorted(maps.Keys(s.Lines)); !slices.Equal(got, []string{"p/p.go:5", "p/p.go:6", "p/p.go:7"}) {
		t.Errorf("lines %v", got)
	}
	if s.Samples != 47 || math.Abs(s.Effective-47) > 1e-6 || math.Abs(s.Share-0.94) > 1e-9 ||
		s.Target != svc+"/p.Walk" {
		t.Errorf("%+v", s)
	}
	if len(s.Callers) != 1 || s.Callers[0].Target != svc+"/p.Other" || math.Abs(s.Callers[0].Share-5.0/47) > 1e-4 {
		t.Errorf("callers %v", s.Callers)
	}
	if _, err := table.Subtree("p.None"); err == nil || !strings.Contains(err.Error(), "in none of the profiles") {
		t.Errorf("a function that is not there: %v", err)
	}
	c.Files["p/p.go"].Decls[0].Start = 4
	table, err = Rank([]*Profile{p.parse(t, "a")}, Options{Checkout: c})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Subtree("p.Walk"); err == nil || !strings.Contains(err.Error(), "another build") {
		t.Errorf("another build: %v", err)
	}
}

// TestHalvesByChance: each sample is in one half. Samples of unequal weight count as fewer.
func TestHalvesByChance(t *testing.T) {
	plan := func(group string, seconds float64) *Profile {
		p := planned{Kind: CPU, Seconds: seconds, Start: noon, Stacks: []string{
			"300 strings.Index@/go/x.go:1 " + svc + "/p.Walk@/src/svc/p/p.go:5",
			"100 " + svc + "/p.Walk@/src/svc/p/p.go:6",
		}}.parse(t, group)
		p.Group = group
		return p
	}
	table, err := Rank([]*Profile{plan("a", 10), plan("b", 1000)}, Options{Checkout: &Checkout{Module: svc}})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := table.Subtree(svc + "/p.Walk")
	if err != nil {
		t.Fatal(err)
	}
	if whole.Samples != 800 || whole.Effective > 450 {
		t.Errorf("%d samples, half of which weigh a hundredth of the others, count as %g", whole.Samples,
			whole.Effective)
	}
	halves, err := table.Halves(svc + "/p.Walk")
	if err != nil {
		t.Fatal(err)
	}
	if n := halves[0].Samples; n+halves[1].Samples != 800 || n < 340 || n > 460 {
		t.Errorf("%d and %d samples", n, halves[1].Samples)
	}
	for name, v := range whole.Callees {
		if got := halves[0].Callees[name] + halves[1].Callees[name]; math.Abs(got-v) > 1e-9 {
			t.Errorf("%s: %g in the halves, %g in all", name, got, v)
		}
	}
}

// TestHalvesAreAlike splits a planted profile in two, and compares the subtrees.
func TestHalvesAreAlike(t *testing.T) {
	half := func(k int) *Subtree {
		p := planned{Kind: CPU, Seconds: 10, Start: noon}
		for i, leaf := range []string{"strings.Index", "strconv.Atoi", "bytes.Equal", "utf8.DecodeRune"} {
			n := 500*(i+1) + 7*k*(i-2)
			p.Stacks = append(p.Stacks,
				strings.TrimSpace(strconv.Itoa(n)+" "+leaf+"@/go/x.go:1 "+svc+"/p.Walk@/src/svc/p/p.go:"+
					strconv.Itoa(5+i)))
		}
		table, err := Rank([]*Profile{p.parse(t, "a")}, Options{Checkout: &Checkout{Module: svc}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := table.Subtree("p.Walk")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := half(-1), half(1)
	got := similarity.Compare(similarity.Shape{Parts: a.Callees, Samples: a.Effective},
		similarity.Shape{Parts: b.Callees, Samples: b.Effective})
	if got.Estimate < 0.98 || got.High < 0.98 {
		t.Errorf("%+v", got)
	}
}
