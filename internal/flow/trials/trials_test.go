package trials

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/internal/sandbox"
	target "github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/store"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// source returns the file of a function of the module.
func source(t *testing.T, spec string) string {
	t.Helper()
	pkg, _, _ := strings.Cut(path.Base(spec), ".")
	for _, f := range module().Files {
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

// TestNamesKeepTheirOrder checks that longer names leave the order of all names as it is, by which
// the compiler lays out frames.
func TestNamesKeepTheirOrder(t *testing.T) {
	for _, f := range []string{"./work.Count", "./small.Merge"} {
		src := source(t, f)
		before, after := identifiers(t, src), identifiers(t, edit(SameCode)(src))
		if len(before) != len(after) {
			t.Fatalf("%s: %d names became %d", f, len(before), len(after))
		}
		for i := range before {
			for k := range i {
				if cmp.Compare(before[i], before[k]) != cmp.Compare(after[i], after[k]) {
					t.Fatalf("%s and %s became %s and %s", before[i], before[k], after[i], after[k])
				}
			}
		}
	}
}

// identifiers returns the names in a file, in its order.
func identifiers(t *testing.T, src string) (all []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			all = append(all, id.Name)
		}
		return true
	})
	return all
}

// compiled is how many of the functions a run compiles.
const compiled = 1

// TestSameCode checks that the compiler makes the same machine code of a function in other words,
// also where it inlines the function into the one that is timed.
func TestSameCode(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("BEAGLE_HOME", t.TempDir())
	if err := writeModule(dir); err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range sampletest.Of(t, specs(SameCode), compiled) {
		u, err := target.Load(t.Context(), target.Options{Dir: dir, Spec: f})
		if err != nil {
			t.Fatal(err)
		}
		b, err := harness.NewBuilder(t.Context(), u, box, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		bin, err := b.Build(t.Context(), []harness.Variant{
			{ID: "original", Source: u.Target.Source},
			{ID: "candidate", Source: edit(SameCode)(u.Target.Source)},
		}, harness.Link{})
		if err != nil {
			t.Fatal(err)
		}
		if of := bin.Static; of[0].CodeHash == "" || of[0].CodeHash != of[1].CodeHash {
			t.Errorf("%s in other words has other machine code", f)
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
