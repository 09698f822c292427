package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

func TestVersionName(t *testing.T) {
	names := []string{"Sum", "weigh", "Add"}
	for name, want := range map[string]string{
		"ex.com/p.Sum":            "ex.com/p.Sum__b2",
		"ex.com/p.Sum.func1":      "ex.com/p.Sum__b2.func1",
		"ex.com/p.Sum[...]":       "ex.com/p.Sum__b2[...]",
		"ex.com/p.(*Buf).Add":     "ex.com/p.(*Buf).Add__b2",
		"ex.com/p.Buf.Add":        "ex.com/p.Buf.Add__b2",
		"ex.com/p.(*Buf).Add.f.1": "ex.com/p.(*Buf).Add__b2.f.1",
		"ex.com/p.Summary":        "ex.com/p.Summary",
		"ex.com/p/q.Sum":          "ex.com/p/q.Sum",
		"runtime.mallocgc":        "runtime.mallocgc",
	} {
		if got := versionName(name, "ex.com/p", names, 2); got != want {
			t.Errorf("versionName(%s) = %s, want %s", name, got, want)
		}
	}
}

func TestSpread(t *testing.T) {
	edges, err := parseEdges([]byte(pgoHeader + "p.main\np.Sum__b0\n3 10\np.main\np.Sum\n3 30\na\nb\n1 20\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := string(spread(edges, "p", []string{"Sum"}, []int{0, 1}))
	want := pgoHeader + "p.main\np.Sum\n3 40\np.main\np.Sum__b0\n3 40\np.main\np.Sum__b1\n3 40\na\nb\n1 20\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, bad := range []string{"", "GO PREPROFILE V9\n", pgoHeader + "a\nb\n", pgoHeader + "a\nb\nc d\n"} {
		if _, err := parseEdges([]byte(bad)); err == nil {
			t.Errorf("parseEdges(%q) went through", bad)
		}
	}
}

// TestPGO shows the profile's work: a helper over the budget of the inliner is
// inlined into every version where the call is hot.
func TestPGO(t *testing.T) {
	helper := "\nfunc weigh(x int) int {\n" + strings.Repeat("\tx = x*3 ^ x>>7 + x%1000\n", 12) + "\treturn x\n}\n"
	f := load(t, "./sum.Sum", map[string]string{
		"sum/sum.go": strings.Replace(sumFile, "\nfunc weigh(x int) int { return x*3 + 1 }\n", helper, 1),
	})
	path := filepath.Join(t.TempDir(), "cpu.pprof")
	if err := os.WriteFile(path, hotCall(t, "ex.com/hx/sum.Sum", "ex.com/hx/sum.weigh", 3), 0o644); err != nil {
		t.Fatal(err)
	}
	candidate := f.edit(t, "t := 0", "t := n &^ n")
	cold := f.build(t, Link{}, candidate)
	hot := f.build(t, Link{PGO: path}, candidate)
	for i := range 2 {
		if c, h := cold.Static[i], hot.Static[i]; c.CodeHash == h.CodeHash || h.InlineCost < c.InlineCost+50 {
			t.Errorf("version %d: nothing was inlined:\n%+v\n%+v", i, c, h)
		}
	}
	if reply, exit := f.replay(t, hot, 1, records(t, sumArgs{[]int{1, 2, 3}, 2})); exit != nil || reply.Diff != nil {
		t.Errorf("%+v %v", reply, exit)
	}
}

// TestPGOGoBuild: the go command takes profiles in another form than the
// compiler, and the target's package alone may have one.
func TestPGOGoBuild(t *testing.T) {
	helper := "\nfunc weigh(x int) int {\n" + strings.Repeat("\tx = x*3 ^ x>>7 + x%1000\n", 12) + "\treturn x\n}\n"
	f := load(t, "./sum.Sum", map[string]string{
		"sum/sum.go":   strings.Replace(sumFile, "\nfunc weigh(x int) int { return x*3 + 1 }\n", helper, 1),
		"sum/embed.go": "package sum\n\nimport _ \"embed\"\n\n//go:embed data.txt\nvar Data string\n",
		"sum/data.txt": "data",
		"default.pgo":  string(hotCall(t, "ex.com/hx/sum.Sum", "ex.com/hx/sum.weigh", 3)),
	})
	candidate := f.edit(t, "t := 0", "t := n &^ n")
	cold := f.build(t, Link{}, candidate)
	path := filepath.Join(f.u.Target.Dir, "default.pgo")
	for _, link := range []Link{{PGO: path}, {PGO: path, PGOLocal: true}} {
		hot := f.build(t, link, candidate)
		for i := range 2 {
			if c, h := cold.Static[i], hot.Static[i]; c.CodeHash == h.CodeHash || h.InlineCost < c.InlineCost+50 {
				t.Errorf("version %d, %+v: nothing was inlined:\n%+v\n%+v", i, link, c, h)
			}
		}
	}
}

// hotCall returns a CPU profile in which one call takes all the time. The offset of the call is
// counted from the caller's first line.
func hotCall(t *testing.T, caller, callee string, offset int64) []byte {
	t.Helper()
	fns := []*profile.Function{{ID: 1, Name: caller, SystemName: caller, StartLine: 10},
		{ID: 2, Name: callee, SystemName: callee, StartLine: 30}}
	m := &profile.Mapping{ID: 1}
	locs := []*profile.Location{
		{ID: 1, Mapping: m, Line: []profile.Line{{Function: fns[0], Line: 10 + offset}}},
		{ID: 2, Mapping: m, Line: []profile.Line{{Function: fns[1], Line: 31}}},
	}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1,
		Mapping: []*profile.Mapping{m}, Function: fns, Location: locs,
		Sample: []*profile.Sample{{Location: []*profile.Location{locs[1], locs[0]}, Value: []int64{1000, 1000000}}},
	}
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := p.Write(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return text
}
