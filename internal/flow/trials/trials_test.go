package trials

import (
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
)

// source returns the file of a function of the module.
func source(t *testing.T, spec string) string {
	t.Helper()
	pkg, _, _ := strings.Cut(path.Base(spec), ".")
	for _, f := range module() {
		if f.Name == pkg+"/"+pkg+".go" {
			return string(f.Data)
		}
	}
	t.Fatalf("no file for %s", spec)
	return ""
}

// TestVersions checks that every version is another text that parses, and differs as its truth
// says.
func TestVersions(t *testing.T) {
	for _, truth := range Truths {
		for _, f := range specs(truth) {
			src := source(t, f)
			_, name, _ := strings.Cut(path.Base(f), ".")
			name = name[strings.LastIndex(name, ".")+1:]
			from := strings.Index(src, ") "+name+"(")
			if from < 0 {
				from = strings.Index(src, "func "+name+"(")
			}
			if from < 0 {
				t.Fatalf("%s is not there", f)
			}
			body := src[from:]
			body = body[:strings.Index(body, "\n}\n")]
			changed := edit(truth)(body)
			if changed == body {
				t.Errorf("%s, %s: nothing changed", f, truth)
			}
			if truth != SameCode && strings.Count(body, "range 357") != 1 {
				t.Errorf("%s does not work in 357 turns", f)
			}
			whole := edit(truth)(src)
			if _, err := parser.ParseFile(token.NewFileSet(), "", whole, 0); err != nil {
				t.Errorf("%s, %s: %v", f, truth, err)
			}
		}
	}
}

// TestPlan checks that rounds alternate between a quiet and a loaded machine, and no seed is used
// twice.
func TestPlan(t *testing.T) {
	seeds := map[uint64]bool{}
	for _, truth := range Truths {
		n, loaded := 4*len(specs(truth)), 0
		for i := range n {
			task := plan(truth, i)
			if task.Loaded {
				loaded++
			}
			if seeds[task.Seed] {
				t.Errorf("%+v has a seed that was used before", task)
			}
			seeds[task.Seed] = true
		}
		if loaded != n/2 {
			t.Errorf("%s: %d of %d under load", truth, loaded, n)
		}
	}
}

// TestKnown checks that what was measured under other conditions does not count.
func TestKnown(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	j, err := s.Journal(journalRun, journalName)
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{o: Options{Measure: 5, MinGain: 0.01}, store: s, machine: flow.ThisMachine("")}
	d := func(i int, change func(*Done)) {
		x := Done{Task: plan(TwoPercent, i), Machine: r.machine, Rule: bench.Rule, Measure: 5,
			Result: &beagle.Measurement{
				MinGain: 0.01,
				Faster:  i == 1,
			}}
		change(&x)
		if err := j.Append(x); err != nil {
			t.Fatal(err)
		}
	}
	d(0, func(*Done) {})
	d(1, func(x *Done) { x.Rule = "an older one" })
	d(1, func(x *Done) { x.Machine.Cores++ })
	d(1, func(x *Done) { x.Measure++ })
	d(1, func(x *Done) { x.Result.MinGain = 0 })
	d(0, func(*Done) {}) // a trial that was made twice
	d(1, func(*Done) {})
	d(3, func(*Done) {}) // with a hole before it
	known, err := r.countedTrials()
	if err != nil || len(known) != 3 {
		t.Fatalf("%d trials count, want 3: %v", len(known), err)
	}
	if next := firstMissing(TwoPercent, known); next != plan(TwoPercent, 2) {
		t.Errorf("next is %+v, want the hole", next)
	}
	rates := Rates(known)
	if rates.FoundTwo != bench.RateOf(1, 3) || rates.FalseWins.Trials != 0 {
		t.Errorf("%+v", rates)
	}
	r.o.Trials = map[Truth]int{TwoPercent: 6, SameCode: 1}
	if next, ok := r.next(known); !ok || next != SameCode {
		t.Errorf("next is %q", next)
	}
	r.o.Trials = map[Truth]int{TwoPercent: 3}
	if next, ok := r.next(known); ok {
		t.Errorf("one more of %q, although all are made", next)
	}
}
