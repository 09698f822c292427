package watch

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var began = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// history makes hourly windows of a program of five functions. change edits the
// costs and the window number i.
type history struct {
	rng    *rand.Rand
	change func(i int, cost map[string]float64, w *Window)
}

var callers = map[string]string{
	"a.Hot": "a.Serve", "a.Warm": "a.Serve", "a.Cold": "a.Serve", "b.Sum": "b.Serve", "b.Max": "b.Serve",
}

func (h history) window(i int) Window {
	cost := map[string]float64{"a.Hot": 0.2, "a.Warm": 0.1, "a.Cold": 0.02, "b.Sum": 0.4, "b.Max": 0.28}
	w := Window{Service: "s", Build: "b1", Go: "go1.26", Start: began.Add(time.Duration(i) * time.Hour),
		End: began.Add(time.Duration(i+1) * time.Hour)}
	if h.change != nil {
		h.change(i, cost, &w)
	}
	total := 0.0
	for _, c := range cost {
		total += c
	}
	serve := map[string]int64{}
	for _, name := range []string{"a.Hot", "a.Warm", "a.Cold", "b.Sum", "b.Max"} {
		n := int64(20_000*cost[name]/total + 60*h.rng.NormFloat64())
		w.Rows = append(w.Rows, Row{Function: name, Flat: n, Cumulative: n, Caller: callers[name], Source: "s1"})
		serve[callers[name]] += n
		w.Samples += n
	}
	for _, name := range []string{"a.Serve", "b.Serve"} {
		w.Rows = append(w.Rows, Row{Function: name, Cumulative: serve[name], Caller: "main.main"})
	}
	return w
}

func replay(t *testing.T, w *Watch, n int, change func(int, map[string]float64, *Window)) []Finding {
	t.Helper()
	h := history{rand.New(rand.NewPCG(1, 1)), change}
	var out []Finding
	for i := range n {
		found, err := w.Add(h.window(i))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	return out
}

func TestFindings(t *testing.T) {
	double := func(c map[string]float64) { c["a.Warm"] *= 1.5 }
	for _, row := range []struct {
		name    string
		change  func(int, map[string]float64, *Window)
		kind    Kind
		cause   string
		skipped string
	}{
		{name: "nothing"},
		{name: "deploy", change: func(i int, c map[string]float64, w *Window) {
			if i >= 60 {
				double(c)
				w.Build = "b2"
			}
		}, kind: Regression, cause: "build b2 was deployed"},
		{name: "toolchain", change: func(i int, c map[string]float64, w *Window) {
			if i >= 60 {
				double(c)
				w.Build, w.Go = "b2", "go1.27"
			}
		}, kind: Regression, cause: "from go1.26 to go1.27"},
		{name: "load", change: func(i int, c map[string]float64, w *Window) {
			if i >= 60 {
				double(c)
			}
		}, kind: Regression, cause: "the load or its inputs"},
		{name: "faster", change: func(i int, c map[string]float64, w *Window) {
			if i >= 60 {
				c["a.Warm"] /= 2
			}
		}, kind: Improvement, cause: "no deploy"},
		{name: "went away", change: func(i int, c map[string]float64, w *Window) {
			if i >= 60 && i < 68 {
				double(c)
			}
		}},
		{name: "moved", change: func(i int, c map[string]float64, w *Window) {
			if i >= 60 {
				c["a.Warm"] -= 0.05
				c["a.Hot"] += 0.05
			}
		}, skipped: "only moved within a.Serve"},
	} {
		w := New(Config{Keep: 100})
		var skipped []string
		found := replay(t, w, 90, func(i int, c map[string]float64, x *Window) {
			for _, s := range w.Skipped {
				skipped = append(skipped, s.Why)
			}
			if row.change != nil {
				row.change(i, c, x)
			}
		})
		if row.kind == "" {
			if row.name != "went away" && len(found) > 0 {
				t.Errorf("%s: %+v", row.name, found)
			}
			if row.skipped != "" && !strings.Contains(strings.Join(skipped, "; "), row.skipped) {
				t.Errorf("%s: skipped %v", row.name, skipped)
			}
			continue
		}
		if len(found) != 1 || found[0].Kind != row.kind || found[0].Function != "a.Warm" ||
			!strings.Contains(found[0].Cause, row.cause) || found[0].Command == "" {
			t.Errorf("%s: %+v", row.name, found)
			continue
		}
		f := found[0]
		d := f.After - f.Before
		if f.Change.Low > d || f.Change.High < d || !f.Since.Equal(began.Add(60*time.Hour)) {
			t.Errorf("%s: %+v", row.name, f)
		}
	}
}

func TestTargets(t *testing.T) {
	target := Target{Function: "a.Hot", Source: "s1", Go: "go1.26", Won: 0.2, Least: 0.05, Files: "hot.go",
		Inputs: map[string][]float64{"length": {500, 300, 200}}}
	for _, row := range []struct {
		name    string
		change  func(map[string]float64, *Window)
		kind    Kind
		command string
	}{
		{"nothing", func(map[string]float64, *Window) {}, "", ""},
		{"toolchain", func(_ map[string]float64, w *Window) { w.Go = "go1.27" }, NewToolchain, "beagle verify --anew a.Hot hot.go"},
		{"win gone", func(c map[string]float64, _ *Window) { c["a.Hot"] = 0.4 }, WinGone, "beagle verify --anew a.Hot hot.go"},
		{"too small", func(c map[string]float64, _ *Window) { c["a.Hot"], c["a.Warm"], c["a.Cold"] = 0.03, 0.03, 0.03 }, TooSmall,
			"beagle evolve a.Serve"},
		{"inputs", func(_ map[string]float64, w *Window) {
			w.Inputs = map[string]map[string][]float64{"a.Hot": {"length": {100, 300, 600}}}
		}, NewInputs, "beagle evolve --anew a.Hot"},
	} {
		w := New(Config{LeastChange: 0.02}, target)
		got := replay(t, w, 11, func(_ int, c map[string]float64, x *Window) { row.change(c, x) })
		if row.kind == "" && len(got) == 0 {
			continue
		}
		if len(got) != 1 || got[0].Kind != row.kind || got[0].Command != row.command || got[0].Cause == "" {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
	target.Source = "s0"
	if got := replay(t, New(Config{}, target), 3, nil); len(got) != 1 || got[0].Kind != NewSource {
		t.Errorf("source: %+v", got)
	}
}

// TestStateIsJSON: a watch that goes through JSON after every window finds the
// same.
func TestStateIsJSON(t *testing.T) {
	change := func(i int, c map[string]float64, _ *Window) {
		if i >= 30 {
			c["a.Warm"] *= 1.5
		}
	}
	direct, stored := New(Config{}), New(Config{})
	one, two := history{rand.New(rand.NewPCG(1, 1)), change}, history{rand.New(rand.NewPCG(1, 1)), change}
	found := 0
	for i := range 50 {
		a, _ := direct.Add(one.window(i))
		text, err := json.Marshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		stored = new(Watch)
		if err := json.Unmarshal(text, stored); err != nil {
			t.Fatal(err)
		}
		b, _ := stored.Add(two.window(i))
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if !bytes.Equal(x, y) {
			t.Fatalf("window %d: %s and %s", i, x, y)
		}
		found += len(a)
	}
	if found != 1 {
		t.Errorf("%d findings", found)
	}
}

func TestBadWindows(t *testing.T) {
	good := history{rng: rand.New(rand.NewPCG(1, 1))}.window
	for cause, change := range map[string]func(*Window){
		"no samples":          func(w *Window) { w.Samples = 0 },
		"not after its start": func(w *Window) { w.End = w.Start },
		"cut or merged":       func(w *Window) { w.Rows[0].Cumulative = w.Samples + 1 },
		"clocks are apart":    func(w *Window) { w.Start = began.Add(-time.Hour); w.End = began },
	} {
		w := New(Config{})
		if _, err := w.Add(good(0)); err != nil {
			t.Fatal(err)
		}
		bad := good(1)
		change(&bad)
		if _, err := w.Add(bad); err == nil || !strings.Contains(err.Error(), cause) {
			t.Errorf("%s: %v", cause, err)
		}
		if len(w.Windows) != 1 {
			t.Errorf("%s: the window was kept", cause)
		}
	}
}
