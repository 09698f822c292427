package flow

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/lift"
)

// liftedSource has a loop that the library has, among others; a helper that is a library function;
// and a loop that only looks like one.
const liftedSource = `package p

func Report(text string, words []uint64) (int, int) {
	lines := 0
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			lines++
		}
	}
	sum := 0
	for _, w := range words {
		sum += weigh(w) * lines
	}
	odd := 0
	for i := 1; i < len(text); i += 2 {
		if text[i] == '\n' {
			odd++
		}
	}
	return sum, odd
}

func weigh(w uint64) (n int) {
	for ; w != 0; w &= w - 1 {
		n++
	}
	return n
}
`

const liftedTest = `package p

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	for i := range 100 {
		Report(strings.Repeat("ab\n"[:1+i%3], i), []uint64{uint64(i) * 77, 3})
	}
}
`

// TestLift prepares a run: what the library has is kept with it, a run that is
// resumed has the same moves, and --no-lift leaves them out.
func TestLift(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes in one goroutine, a minute with the race detector")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/p\n\ngo 1.24\n", "p.go": liftedSource, "p_test.go": liftedTest,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	acts := &Activities{Store: s, Preview: true, Watch: func(e Event) {
		if e.Warning != "" {
			t.Log(e.Warning)
		}
	}}
	defer acts.Close()
	spec := Defaults()
	spec.Dir, spec.Target, spec.Force, spec.Rules = dir, ".Report", true, []string{lift.Name}
	ready, err := acts.Prepare(t.Context(), "one", spec)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range ready.Lifted {
		got = append(got, m.Func+" "+m.Term)
	}
	all := strings.Join(got, "\n")
	for _, want := range []string{`Report strings.Count(text, "\n")`, "weigh bits.OnesCount64(w)"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not found, only\n%s", want, all)
		}
	}
	if strings.Contains(all, "odd") || len(ready.Moves) < 2 {
		t.Errorf("%d moves of\n%s", len(ready.Moves), all)
	}

	again := &Activities{Store: s}
	defer again.Close()
	x, err := again.prepared(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	if moves, _ := x.rewriter.moves(x.works.root); len(moves) != len(ready.Moves) {
		t.Errorf("a resumed run has %d moves, had %d", len(moves), len(ready.Moves))
	}
	spec.NoLift = true
	if without, err := acts.Prepare(t.Context(), "two", spec); err != nil || len(without.Lifted) > 0 {
		t.Errorf("--no-lift: %v, %v", without, err)
	}
	if c := spec.Command(); !strings.Contains(c, "--no-lift") {
		t.Errorf("the command forgets --no-lift: %s", c)
	}
}
