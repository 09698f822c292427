package hotspots

import (
	"slices"
	"strings"
	"testing"
)

// TestInlinedCountsForItsHost: a hash whose steps are inlined is one hot spot, and the first one. A
// function that another package inlines, and one that is called at times, keep their own.
func TestInlinedCountsForItsHost(t *testing.T) {
	const (
		hash  = "ex.com/svc/parse.Sum@/src/svc/parse/sum.go:5"
		below = " ex.com/svc/serve.Handle@/src/svc/serve/serve.go:9 main.main@/src/svc/main.go:4"
	)
	table, err := Rank([]*Profile{planned{Kind: CPU, Seconds: 10, Start: noon, Stacks: []string{
		"30 " + hash + below,
		"40 ex.com/svc/parse.mix@/src/svc/parse/line.go:50>" + hash + below,
		"30 ex.com/svc/parse.turn@/src/svc/parse/line.go:60>ex.com/svc/parse.mix@/src/svc/parse/line.go:51>" + hash + below,
		"50 ex.com/svc/parse.trim@/src/svc/parse/line.go:40>ex.com/svc/serve.Handle@/src/svc/serve/serve.go:9 main.main@/src/svc/main.go:4",
		"20 ex.com/svc/serve.audit@/src/svc/serve/serve.go:30>ex.com/svc/serve.Handle@/src/svc/serve/serve.go:9 main.main@/src/svc/main.go:4",
		"20 ex.com/svc/serve.audit@/src/svc/serve/serve.go:30" + below,
		"10" + below,
	}}.parse(t, "inlined.pprof")}, Options{Least: 0.005, Checkout: checkoutWith("parse/line.go", "mix", "turn")})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]float64{
		"parse.Sum": 0.5, "parse.trim": 0.25, "serve.audit": 0.2, "serve.Handle": 0.05,
	} {
		if got := find(t, table, svc+"/"+target).Net; got != want {
			t.Errorf("%s has %v of the service, want %v", target, got, want)
		}
	}
	for _, name := range []string{"mix", "turn"} {
		dropped, _, err := table.Why("parse." + name)
		if err != nil || len(dropped) != 1 || !strings.Contains(dropped[0].Reason, "inlines it into") ||
			dropped[0].CountsFor[0].What != svc+"/parse.Sum" {
			t.Errorf("%s: %+v, %v", name, dropped, err)
		}
	}
}

// checkoutWith returns the service's checkout with more functions in one of its files.
func checkoutWith(file string, names ...string) *Checkout {
	c := checkout()
	for i, name := range names {
		at := 50 + 10*i
		c.Files[file].Decls = append(c.Files[file].Decls, SourceFunc{name, at, at + 5, true, ""})
	}
	return c
}

// TestHeads: a function that does next to nothing itself is a head of what it calls, when it
// reaches clearly more than each; a wrapper of one function is not one, nor the wrapper of a head,
// whatever its name is, nor one that waits for others.
func TestHeads(t *testing.T) {
	const (
		outer = " ex.com/svc/serve.Handle@/src/svc/serve/serve.go:9 main.main@/src/svc/main.go:4"
		again = " ex.com/svc/parse.Again@/src/svc/parse/line.go:72" + outer
		all   = " ex.com/svc/parse.All@/src/svc/parse/line.go:52" + again
		trim  = " ex.com/svc/parse.Wrap@/src/svc/parse/line.go:62" + all
	)
	table, err := Rank([]*Profile{planned{Kind: CPU, Seconds: 10, Start: noon, Stacks: []string{
		"30 ex.com/svc/parse.trim@/src/svc/parse/line.go:40" + trim,
		"30 ex.com/svc/parse.Sum@/src/svc/parse/sum.go:5" + all,
		"40 ex.com/svc/store.Put@/src/svc/store/put.go:3" + all,
	}}.parse(t, "heads.pprof")}, Options{Least: 0.005, Checkout: checkoutWith("parse/line.go", "All", "Wrap", "Again")})
	if err != nil {
		t.Fatal(err)
	}
	if got := table.EntriesBelow(svc+"/serve.Handle", false); len(got) != 0 {
		t.Errorf("inside another package: %q", got)
	}
	for _, c := range []struct {
		across bool
		reach  float64
	}{{false, 0.6}, {true, 1}} {
		heads := table.Heads(c.across)
		if len(heads) != 1 || heads[0].Target != svc+"/parse.All" || heads[0].Reach != c.reach || heads[0].Cum != 1 {
			t.Errorf("across %v: %+v", c.across, heads)
		}
	}
	if got := table.EntriesBelow(svc+"/parse.Wrap", false); !slices.Equal(got, []string{svc + "/parse.trim"}) {
		t.Errorf("inside the wrapper: %q", got)
	}
	inside := table.EntriesBelow(svc+"/parse.All", false)
	if !slices.Equal(inside, []string{svc + "/parse.Sum", svc + "/parse.trim"}) {
		t.Errorf("inside the head: %q", inside)
	}
	entries := len(table.Hotspots.Hotspots)
	table.LeadWithHeads(true)
	if all := table.Hotspots.Hotspots; len(all) != entries+1 || all[0].Target != svc+"/parse.All" {
		t.Errorf("led by heads: %+v", all)
	}
}

// TestReach: a function reaches what it calls of its package and of the library, and nothing of
// other packages.
func TestReach(t *testing.T) {
	const (
		top   = " ex.com/svc/parse.Sum@/src/svc/parse/sum.go:5 ex.com/svc/serve.Handle@/src/svc/serve/serve.go:9 "
		outer = "main.main@/src/svc/main.go:4"
	)
	table, err := Rank([]*Profile{planned{Kind: CPU, Seconds: 10, Start: noon, Stacks: []string{
		"20" + top + outer,
		"30 ex.com/svc/parse.trim@/src/svc/parse/line.go:40" + top + outer,
		"10 runtime.memmove@/go/a.s:1 strings.Clone@/go/s.go:2 ex.com/svc/parse.trim@/src/svc/parse/line.go:41" + top + outer,
		"40 ex.com/svc/store.Put@/src/svc/store/put.go:3 ex.com/svc/parse.trim@/src/svc/parse/line.go:41" + top + outer,
	}}.parse(t, "reach.pprof")}, Options{Least: 0.005, Checkout: checkout()})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]float64{"parse.Sum": 0.6, "parse.trim": 0.4, "store.Put": 0.4} {
		if got := find(t, table, svc+"/"+target).Reach; got != want {
			t.Errorf("%s reaches %v of the service, want %v", target, got, want)
		}
	}
	if got := table.EntriesBelow(svc+"/parse.Sum", false); len(got) != 1 || got[0] != svc+"/parse.trim" {
		t.Errorf("inside: %q", got)
	}
	if got := table.EntriesBelow(svc+"/parse.Sum", true); len(got) != 2 {
		t.Errorf("inside across packages: %q", got)
	}
}
