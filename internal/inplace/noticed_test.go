package inplace

import (
	"errors"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
)

const guardSource = `package place

// A Guard holds a function, so that no record can hold it.
type Guard struct {
	told   func(error)
	failed bool
	sum    int
}

// Check does nothing unless there is an error.
func (g *Guard) Check(err *error) {
	if err != nil && *err != nil {
		g.failed = true
		g.told(*err)
	}
}

// Add is called by benchmarks: by one in each iteration, by others while they prepare only.
func (g *Guard) Add(n int) int {
	for i := range n {
		g.sum += i
	}
	return g.sum
}
`

const guardCalls = `package place

import (
	"testing"
	"time"
)

func BenchmarkCheck(b *testing.B) {
	g := &Guard{told: func(error) {}}
	for i := 0; i < b.N; i++ {
		g.Check(nil)
	}
}

func BenchmarkPrepared(b *testing.B) {
	g := &Guard{told: func(error) {}}
	g.Add(10)
	for i := 0; i < b.N; i++ {
		g.Check(nil)
	}
}

func BenchmarkPreparedMany(b *testing.B) {
	g := &Guard{told: func(error) {}}
	for i := 0; i < 200; i++ {
		g.Add(5_000)
	}
	for i := 0; i < b.N; i++ {
		time.Sleep(20 * time.Microsecond)
	}
}

func BenchmarkPreparedSlow(b *testing.B) {
	g := &Guard{told: func(error) {}}
	g.Add(10)
	for i := 0; i < b.N; i++ {
		time.Sleep(4 * time.Millisecond)
	}
}

func BenchmarkAdd(b *testing.B) {
	g := &Guard{told: func(error) {}}
	for i := 0; i < b.N; i++ {
		g.Add(10)
	}
}

func BenchmarkFilled(b *testing.B) {
	g := &Guard{told: func(error) {}}
	for i := 0; i < filled; i++ {
		g.Add(1)
	}
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		g.Add(40_000)
	}
}

const filled = 60_000 // some 60 times the calls of 20 ms

func BenchmarkParallel(b *testing.B) { inParallel(b, &Guard{told: func(error) {}}) }

func inParallel(b *testing.B, g *Guard) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			g.Add(10)
		}
	})
}

func BenchmarkAddSlow(b *testing.B) {
	g := &Guard{told: func(error) {}}
	for i := 0; i < b.N; i++ {
		g.Add(4_000_000)
	}
}
`

const guardManyTest = `
func TestMany(t *testing.T) {
	g := &Guard{told: func(error) {}}
	for range 5_000_000 {
		g.Add(1)
	}
}

func TestZLast(t *testing.T) {
	g := &Guard{told: func(error) {}}
	for range 100_000 {
		g.Add(1)
	}
}
`

const guardTest = `
func TestCheck(t *testing.T) {
	g := &Guard{told: func(error) {}}
	var err error = failure{}
	if g.Check(&err); !g.failed {
		t.Error("not failed")
	}
}

type failure struct{}

func (failure) Error() string { return "failure" }
`

// TestNoticed refuses tests that say nothing of a target: one that does nothing passes them all.
func TestNoticed(t *testing.T) {
	files := map[string]string{"guard.go": guardSource, "guard_test.go": guardCalls}
	u, p := newPlace(t, source.Options{Dir: module(t, files), Spec: "./.Guard.Check", InPlace: true})
	_, err := p.Survey(t.Context(), u.Target.Source)
	var usage *beagle.UsageError
	if !errors.As(err, &usage) || !strings.Contains(usage.What, "does nothing") {
		t.Fatalf("a target that no test looks at: %v", err)
	}
	files["guard_test.go"] += guardTest
	u, p = newPlace(t, source.Options{Dir: module(t, files), Spec: "./.Guard.Check", InPlace: true})
	if e, err := p.Survey(t.Context(), u.Target.Source); err != nil || e.Calls == 0 {
		t.Fatalf("a test looks at it: %v, %+v", err, e)
	}
}

// TestChoose times no benchmark that calls the target while it prepares only.
func TestChoose(t *testing.T) {
	files := map[string]string{"guard.go": guardSource, "guard_test.go": guardCalls}
	u, p := newPlace(t, source.Options{Dir: module(t, files), Spec: "./.Guard.Add", InPlace: true})
	e, err := p.Survey(t.Context(), u.Target.Source)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Benchmarks) != 7 {
		t.Errorf("benchmarks that call it: %q", e.Benchmarks)
	}
	if err := p.Choose(t.Context(), -1); err != nil {
		t.Fatal(err)
	}
	want := "BenchmarkAdd BenchmarkFilled BenchmarkParallel BenchmarkAddSlow"
	if got := strings.Join(e.Timed, " "); got != want {
		t.Errorf("timed: %q", got)
	}
	if len(e.Parallel) != 1 || e.Parallel[0] != "BenchmarkParallel" {
		t.Errorf("in parallel: %q", e.Parallel)
	}
}

// TestIterations reads how often benchmarks did their work.
func TestIterations(t *testing.T) {
	got := parseIterations([]byte(shown + "BenchmarkD\nBenchmarkD \t 7 \t 2 ns/op\n"))
	if len(got) != 2 || got["BenchmarkC/size=1"] != 100 || got["BenchmarkD"] != 7 {
		t.Errorf("%v", got)
	}
}

// TestCountMany counts millions of short calls in little time, and sees who makes the last.
func TestCountMany(t *testing.T) {
	files := map[string]string{"guard.go": guardSource, "guard_test.go": guardCalls + guardManyTest}
	u, p := newPlace(t, source.Options{Dir: module(t, files), Spec: "./.Guard.Add", InPlace: true})
	e, err := p.Survey(t.Context(), u.Target.Source)
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Join(append(e.Tests, e.Slow...), " ")
	if e.Calls < 4_000_000 || !strings.Contains(known, "TestMany") || !strings.Contains(known, "TestZLast") {
		t.Errorf("%d calls by %s", e.Calls, known)
	}
}
