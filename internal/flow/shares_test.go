package flow

import (
	"go/ast"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/mutate/rules"
)

const calleesSource = `package p

import "strings"

func Count(words []string) int {
	n := 0
	for _, w := range words {
		n += size(w)
		if w == "" {
			n += rare(w)
		}
	}
	return n
}

// Others call these, too.
func size(w string) int {
	if strings.Contains(w, "x") {
		return 1
	}
	return len(strings.TrimSpace(w))
}

func rare(w string) int {
	n := 0
	for i := 0; i < len(w); i++ {
		n += int(w[i])
	}
	return n
}

func Others() int { return size("a") + rare("b") }
`

// written loads a function of a module with one file.
func written(t *testing.T, text, spec string) *source.Unit {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module p\n\ngo 1.26\n", "p.go": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	u, err := source.Load(t.Context(), source.Options{Dir: dir, Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestCalleeShares checks that the copies of callees have the shares that the profile gives their
// originals, that a changed copy keeps those of its lines, and that callees that take no time offer
// no moves.
func TestCalleeShares(t *testing.T) {
	u := written(t, calleesSource, "Count")
	line := 1 + strings.Count(u.Target.Source[:strings.Index(u.Target.Source, "n += size(w)")], "\n")
	w := newWorkbench(u, &beagle.Facets{}, rules.Default, bench.Profile{
		Lines:   map[int]float64{line: 0.9, line - 1: 0.1},
		Callees: bench.Callees{"size": {1: 0.3, 4: 0.5}},
		Samples: 300,
	})
	root := beagle.NewCandidate(u.Target.Source, nil, nil)
	p, problem := w.pass(root)
	if problem != nil {
		t.Fatal(problem)
	}
	copied := declared(p.File, "sizeForCount")
	if copied == nil {
		t.Fatalf("no copy of size:\n%s", p.Src)
	}
	for i, want := range []float64{0.3, 0.5} {
		if got := p.Weight(copied.Body.List[i]); math.Abs(got-want) > 1e-9 {
			t.Errorf("statement %d of the copy has the share %v, want %v", i, got, want)
		}
	}
	loop := p.Func.Body.List[1].(*ast.RangeStmt)
	if got := p.Weight(loop.Body.List[0]); math.Abs(got-0.9) > 1e-9 {
		t.Errorf("the call of a copy has the share %v, want 0.9", got)
	}
	moves := w.moves(root)
	if len(moves) == 0 {
		t.Fatal("no moves")
	}
	rare := declared(p.File, "rareForCount")
	if rare == nil || !p.Cold(rare.Body.List[1]) || p.Cold(copied.Body.List[0]) || p.Cold(loop) {
		t.Error("the callee that takes no time is not cold, or others are")
	}
	branch := copied.Body.List[0].(*ast.IfStmt)
	if early := branch.Body.List[0]; !p.Cold(early) || p.Cold(branch) || p.Cold(copied.Body.List[1]) {
		t.Error("a branch without a sample is not cold, or what has samples is")
	}
	for _, m := range moves {
		if m.Mutator == "byte-table" || m.Mutator == "unroll" && m.Weight < 0.2 {
			t.Errorf("%+v in a callee that takes no time", m)
		}
	}

	changed := strings.Replace(string(p.Src), "return 1\n", "return len(\"1\")\n", 1)
	child := beagle.NewCandidate(changed, []string{root.ID}, nil)
	v, problem := w.pass(child)
	if problem != nil {
		t.Fatal(problem)
	}
	copied = declared(v.File, "sizeForCount")
	if got := v.Weight(copied.Body.List[1]); math.Abs(got-0.5) > 1e-9 {
		t.Errorf("a statement of the changed copy has the share %v, want 0.5", got)
	}
}
