package inplace

import (
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/inplace/live"
	"github.com/beagle-go/beagle/internal/sandbox"
)

const fallsTest = `package place

import (
	"net"
	"os"
	"testing"
)

func TestAPanics(t *testing.T) {
	g := &Guard{told: func(error) {}}
	if g.Add(2) == 1 {
		panic("falls")
	}
}

func TestBWaits(t *testing.T) { t.Parallel() }

func TestCExits(t *testing.T) { os.Exit(3) }

func TestDAdds(t *testing.T) {
	g := &Guard{told: func(error) {}}
	if g.Add(3) != 3 {
		t.Error("wrong sum")
	}
}

func BenchmarkAPanics(b *testing.B) {
	g := &Guard{told: func(error) {}}
	g.Add(2)
	panic("falls")
}

func BenchmarkBListens(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	g := &Guard{told: func(error) {}}
	for i := 0; i < b.N; i++ {
		g.Add(2)
	}
}

func BenchmarkCAdds(b *testing.B) {
	g := &Guard{told: func(error) {}}
	for i := 0; i < b.N; i++ {
		g.Add(2)
	}
}
`

// TestCountCalls sees the calls of tests and benchmarks after ones that end their process, and of
// a benchmark that listens on the loopback network.
func TestCountCalls(t *testing.T) {
	_, p, e := place(t, module(t, map[string]string{"guard.go": guardSource, "guard_test.go": fallsTest}),
		"./.Guard.Add")
	for _, x := range []struct {
		what, want string
		got        []string
	}{
		{"tests", "TestDAdds", e.Tests},
		{"flaky tests", "TestAPanics", e.Flaky},
		{"benchmarks", "BenchmarkBListens BenchmarkCAdds", e.Benchmarks},
	} {
		if got := strings.Join(x.got, " "); got != x.want {
			t.Errorf("%s: %q, want %q", x.what, got, x.want)
		}
	}
	if !e.Open || p.profile != sandbox.Test {
		t.Errorf("open: %v", e.Open)
	}
}

const goroutineTest = `package place

import "testing"

func TestAdds(t *testing.T) {
	g := &Guard{told: func(error) {}}
	if g.Add(3) != 3 {
		t.Error("wrong sum")
	}
}

func BenchmarkIdle(b *testing.B) {
	for i := 0; i < b.N; i++ {
		_ = i
	}
}

func BenchmarkStarts(b *testing.B) { start(b, &Guard{told: func(error) {}}) }

func start(b *testing.B, g *Guard) {
	for i := 0; i < b.N; i++ {
		done := make(chan bool)
		go func() { g.Add(2); close(done) }()
		<-done
	}
}
`

// TestCountGoroutines knows the benchmark in whose loop a helper starts a goroutine.
func TestCountGoroutines(t *testing.T) {
	_, _, e := place(t, module(t, map[string]string{"guard.go": guardSource, "guard_test.go": goroutineTest}),
		"./.Guard.Add")
	if got := strings.Join(e.Benchmarks, " "); got != "BenchmarkStarts" {
		t.Errorf("benchmarks: %q", got)
	}
}

// TestLike takes the run that counted calls for one of two equal ones only if all tests passed, and
// printed the same.
func TestLike(t *testing.T) {
	counted := map[string]outcome{"TestA": {Status: "PASS", Output: "x\n"}, "TestB": {Status: "FAIL"}}
	for _, x := range []struct {
		name string
		r    ran
		want bool
	}{
		{"the same", ran{Result: exited(0), tests: map[string]outcome{"TestA": counted["TestA"]}}, true},
		{"another output", ran{Result: exited(0), tests: map[string]outcome{"TestA": {Status: "PASS"}}}, false},
		{"another end", ran{Result: exited(0), tests: map[string]outcome{"TestB": {Status: "PASS"}}}, false},
		{"a failure again", ran{Result: exited(1), tests: map[string]outcome{"TestB": {Status: "FAIL"}}}, false},
		{
			"a test that was not counted",
			ran{Result: exited(0), tests: map[string]outcome{"TestC": {Status: "PASS"}}}, false,
		},
		{"an early end", ran{Result: exited(2), tests: map[string]outcome{"TestA": counted["TestA"]}}, false},
	} {
		if got := x.r.sameAs(counted); got != x.want {
			t.Errorf("%s: %v", x.name, got)
		}
	}
}

// TestBeats takes a run without time for one that says nothing of the walls.
func TestBeats(t *testing.T) {
	pass, none := map[string]outcome{"TestA": {Status: "PASS"}}, map[string]outcome{"TestA": {}}
	late := sandbox.Result{Ended: sandbox.Wall, Code: -1, Wall: wallTime}
	for _, x := range []struct {
		name       string
		took       time.Duration
		low, other ran
		want       bool
	}{
		{"fails behind high walls", time.Second, ran{tests: pass}, ran{Result: exited(1), tests: none}, true},
		{"hangs behind high walls", time.Second, ran{tests: pass}, ran{Result: late, tests: none}, true},
		{"takes long", wallTime / 2, ran{tests: pass}, ran{Result: late, tests: none}, false},
		{"passes behind both", time.Second, ran{tests: pass}, ran{Result: exited(0), tests: pass}, false},
		{"fails behind both", time.Second, ran{tests: none}, ran{Result: exited(1), tests: none}, false},
	} {
		x.low.Wall = x.took
		if got := x.low.beats(&x.other, wallTime); got != x.want {
			t.Errorf("%s: %v", x.name, got)
		}
	}
}

// TestFound wants a benchmark that ended, not one that the time was over for.
func TestFound(t *testing.T) {
	tests, benchmarks := job{all: true}, job{bench: "."}
	seen := live.Seen{Calls: 3, Tests: map[string]int64{"BenchmarkB": 3}}
	t1 := &tally{ran: &ran{leaves: []string{"BenchmarkA"}}, seen: seen}
	t2 := &tally{ran: &ran{leaves: []string{"BenchmarkA", "BenchmarkB/x"}}, seen: seen}
	if !t1.callsTarget(tests) || t1.callsTarget(benchmarks) || !t2.callsTarget(benchmarks) {
		t.Errorf("%v %v %v", t1.callsTarget(tests), t1.callsTarget(benchmarks), t2.callsTarget(benchmarks))
	}
}

func exited(code int) sandbox.Result { return sandbox.Result{Ended: sandbox.Exited, Code: code} }
