package temporal

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/internal/store"
)

// tally is a type whose sum another layout need not add up.
const tally = `package p

// A Tally keeps numbers.
type Tally struct {
	all []int
}

// Add adds a number.
func (t *Tally) Add(n int) {
	t.all = append(t.all, n)
}

// Sum adds them up.
func (t *Tally) Sum() int {
	sum := 0
	for _, n := range t.all {
		sum += n
	}
	return sum
}
`

const tallyTests = `package p

import "testing"

func TestTally(t *testing.T) {
	var all Tally
	for n := range 9 {
		all.Add(n)
		all.Add(1)
	}
	if all.Sum() != 45 {
		t.Errorf("the sum is %d", all.Sum())
	}
}

var sink int

func BenchmarkTally(b *testing.B) {
	var all Tally
	for n := range 500 {
		all.Add(n)
	}
	for b.Loop() {
		sink += all.Sum()
	}
}
`

// kept is another layout, and lost is one that forgets.
const (
	kept = "package p\n\ntype Tally struct {\n\tsum int\n}\n\nfunc (t *Tally) Add(n int) {\n\tt.sum += n\n}\n\n" +
		"func (t *Tally) Sum() int {\n\treturn t.sum\n}\n"
	lost = "package p\n\ntype Tally struct {\n\tsum int\n}\n\nfunc (t *Tally) Add(n int) {\n\tt.sum += n &^ 1\n}\n\n" +
		"func (t *Tally) Sum() int {\n\treturn t.sum\n}\n"
)

// TestGroupRun searches a type with its methods on a real server, in one of three runs. The worker
// is killed after the first verdicts. Two layouts are handed in: one wins and one falls, as with
// the local driver.
func TestGroupRun(t *testing.T) {
	sampletest.Rarely(t, 3)
	f := newFleet(t, "127.0.0.1")
	spec := flow.Defaults()
	spec.Dir, spec.Target, spec.Candidates, spec.Measure = t.TempDir(), ".Tally", 4, 2*time.Second
	for name, text := range map[string]string{
		"go.mod": "module example.com/p\n\ngo 1.26\n", "p.go": tally, "p_test.go": tallyTests,
	} {
		if err := os.WriteFile(filepath.Join(spec.Dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	guests := func(run string) {
		s := openAt(f.home())
		if err := s.SaveRun(store.Run{ID: run, Spec: spec.Target, State: store.Running}); err != nil {
			t.Fatal(err)
		}
		for i, source := range []string{kept, lost} {
			_, err := s.Submit(run, store.Submission{ID: beagle.HashOf("submission", source), Source: source,
				At: time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	guests("group")
	r := role{Kinds: fleet.Kinds, Class: "test", Patient: true}
	worker := f.worker(r)
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	run := f.follow(ctx, "group", spec)
	waitFor(t, run, func() bool { return len(evaluations(f.home())) > 0 })
	kill(worker)
	worker = f.worker(r)
	<-run.done
	if run.err != nil {
		t.Fatal(run.err)
	}
	kill(worker)
	got := run.result
	if got.InPlace == nil || !got.InPlace.Group {
		t.Errorf("the evidence is %+v", got.InPlace)
	}
	fell := slices.ContainsFunc(got.Attempts, func(a beagle.Attempt) bool {
		return a.Status == beagle.Wrong && strings.Contains(a.Reason, "the sum is")
	})
	if !fell || got.Outcome != beagle.Improved || !strings.Contains(got.Patch, "+\tsum int") {
		t.Errorf("%s: %s\n%v\n%s", got.Outcome, got.Why, got.Statuses, got.Patch)
	}
	guests("local")
	same(t, f, got)
}
