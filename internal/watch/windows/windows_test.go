package windows

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/hotspots/sketch"
	"github.com/beagle-go/beagle/internal/ledger"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/internal/watch"
)

var began = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// taken makes a profile of a program whose function F has some of 1,000 samples.
func taken(t *testing.T, at time.Time, f int) *hotspots.Profile {
	t.Helper()
	s := sketch.Sketch{Kind: "cpu", Seconds: 10, Start: at, Build: "b1", Stacks: []string{
		fmt.Sprintf("%d m/p.F@/p/f.go:3 m/p.G@/p/g.go:3 m/p.F@/p/f.go:4", f),
		fmt.Sprintf("%d m/p.G@/p/g.go:3", 1000-f)}}
	p, err := s.Profile()
	if err != nil {
		t.Fatal(err)
	}
	out, err := hotspots.From("p.pprof", p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var hours = Options{Service: "s", Length: time.Hour, Go: "go1.26", Checkout: &hotspots.Checkout{Own: []string{"m"}}}

func open(t *testing.T, home string) *Archive {
	t.Helper()
	s, err := store.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Open(s, "s", time.Hour, watch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestRows: a function that recurs counts once, and its caller is another one.
func TestRows(t *testing.T) {
	a := open(t, t.TempDir())
	if _, err := a.Take([]*hotspots.Profile{taken(t, began, 300), taken(t, began.Add(time.Minute), 100)},
		hours); err != nil {
		t.Fatal(err)
	}
	// Until their hour is over, the profiles wait.
	j, err := a.Judge(began.Add(2*time.Minute), hours)
	if err != nil || j.Windows != 0 || !j.Open.Equal(began.Add(time.Hour)) {
		t.Fatalf("%+v, %v", j, err)
	}
	if j, err = a.Judge(began.Add(2*time.Hour), hours); err != nil || !j.Open.IsZero() {
		t.Fatalf("%+v, %v", j, err)
	}
	w := a.Watch.Windows
	if len(w) != 1 || w[0].Samples != 2000 || !w[0].Start.Equal(began) || w[0].Cores != 1 || len(w[0].Rows) != 2 {
		t.Fatalf("%+v", w)
	}
	if f := w[0].Rows[0]; f.Function != "m/p.F" || f.Flat != 400 || f.Cumulative != 400 || f.Caller != "m/p.G" {
		t.Errorf("%+v", f)
	}
}

// TestResume: a watch that is opened anew for every profile, and whose last writes are cut or
// repeated as a crash leaves them, has the same windows as one that never ended.
func TestResume(t *testing.T) {
	home := t.TempDir()
	for i := range 30 {
		a := open(t, home)
		at := began.Add(time.Duration(i) * 30 * time.Minute)
		if _, err := a.Take([]*hotspots.Profile{taken(t, at, 200)}, hours); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(a.path("state.json"))
		if _, err := a.Judge(at, hours); err != nil {
			t.Fatal(err)
		}
		if i == 15 && err == nil { // the windows were written, the state was not
			if err := os.WriteFile(a.path("state.json"), before, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	a := open(t, home)
	j, err := a.Judge(began.Add(15*time.Hour), hours)
	if err != nil || len(j.Refused) > 0 {
		t.Fatal(j, err)
	}
	if n, err := a.Count(); n != 15 || err != nil {
		t.Errorf("%d windows kept, want 15: %v", n, err)
	}
	for i, w := range a.Watch.Windows {
		if want := began.Add(time.Duration(i) * time.Hour); !w.Start.Equal(want) || w.Samples == 0 {
			t.Errorf("window %d starts at %s with %d samples", i, w.Start, w.Samples)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "watch", "s", "windows-2026-01.jsonl"), []byte("no JSON\n{}\n"),
		0o666); err != nil {
		t.Fatal(err)
	}
	s, _ := store.Open(home)
	if _, err := Open(s, "s", time.Hour, watch.Config{}); err == nil || !strings.Contains(err.Error(),
		"windows-2026-01.jsonl:1") {
		t.Errorf("a broken file: %v", err)
	}
}

// TestTargetsOfLedger: what a win left of its function is read from the windows after it shipped.
func TestTargetsOfLedger(t *testing.T) {
	home := t.TempDir()
	a := open(t, home)
	fill := func(a *Archive, from, n, f int) []watch.Finding {
		for i := range n {
			if _, err := a.Take([]*hotspots.Profile{taken(t, began.Add(time.Duration(from+i)*time.Hour), f)},
				hours); err != nil {
				t.Fatal(err)
			}
		}
		j, err := a.Judge(began.Add(time.Duration(from+n)*time.Hour), hours)
		if err != nil {
			t.Fatal(err)
		}
		return j.Findings
	}
	changes := []ledger.Change{{ID: "x", Service: "s", Function: "m/p.F", Shipped: "2026-01-04"},
		{ID: "y", Service: "other", Function: "m/p.G", Shipped: "2026-01-04"}}
	a.Targets(changes, "s", 0.001)
	if len(a.Watch.Targets) != 0 {
		t.Errorf("targets before there are windows: %+v", a.Watch.Targets)
	}
	fill(a, 0, 8, 100)
	a = open(t, home)
	a.Targets(changes, "s", 0.001)
	if len(a.Watch.Targets) != 1 || a.Watch.Targets[0].Won != 0.1 || a.Watch.Targets[0].Go != "go1.26" {
		t.Fatalf("%+v", a.Watch.Targets)
	}
	gone := false
	for _, f := range fill(a, 8, 8, 300) {
		gone = gone || f.Kind == watch.WinGone
	}
	if !gone {
		t.Error("a win that is gone was not found")
	}
}

// TestOutlooks shows a forecast where there is a trend or a season, and none of noise.
func TestOutlooks(t *testing.T) {
	make := func(cores func(i int) float64) (out []watch.Window) {
		for i := range 120 {
			out = append(out, watch.Window{Start: began.Add(time.Duration(i) * time.Hour), Samples: 1000,
				Cores: cores(i),
				Rows:  []watch.Row{{Function: "m/p.F", Flat: 500}}})
		}
		return out
	}
	ahead := Horizon{Season: 1, Steps: 12}
	rising, _ := Outlooks(make(func(i int) float64 { return 10 + 0.1*float64(i) }), time.Hour, ahead)
	if !rising[0].Result.Shown || rising[0].Result.Values[11].Mean < 22 {
		t.Errorf("a trend: %+v", rising[0])
	}
	trend := Trends(make(func(i int) float64 { return 10 + 0.1*float64(i) }), time.Hour, rising)["cores"]
	f := trend.FindingAgainst(watch.Limit{Name: "saturation", Kind: watch.Saturated, Most: 22.5, Over: 1})
	if f == nil || f.Kind != watch.BreachAhead || f.Since.Sub(trend.End) < 5*time.Hour ||
		f.Since.Sub(trend.End) > 7*time.Hour || !strings.Contains(f.Cause, "the forecast passes 22.5") {
		t.Errorf("a limit that will be passed in six hours: %+v", f)
	}
	if rising[1].Series != "m/p.F" || rising[1].Result.Shown {
		t.Errorf("a constant share: %+v", rising[1])
	}
	slos := make(func(int) float64 { return 1 })
	for i := range slos {
		if i != 90 { // no one was there to ask, then
			slos[i].Bad = map[string]float64{"a": 0.01}
		}
	}
	if got := Trends(slos, time.Hour, nil)["slo a"]; len(got.Past) != 29 || got.Past[0] != 0.01 {
		t.Errorf("an SLO since its gap: %+v", got)
	}
	gap := make(func(int) float64 { return 1 })
	for i := 100; i < len(gap); i++ {
		gap[i].Start = gap[i].Start.Add(5 * time.Hour)
	}
	if out, why := Outlooks(gap, time.Hour, ahead); len(out) != 0 || !strings.Contains(why, "a gap") {
		t.Errorf("%v %q", out, why)
	}
}
