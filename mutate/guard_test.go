package mutate

import (
	"errors"
	"go/ast"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
)

const guardedSource = "package p\n\nfunc f(n int) int { return n + 1 }\n\nfunc g(n int) int { return f(n) }\n"

// A failure is something that a rule must not do.
type failure struct {
	name string
	do   func(*Pass)
	want string // part of the fault's reason
}

// failures returns the failures, and a function that ends those that nothing else ends.
func failures() (all []failure, stop func()) {
	var stopped atomic.Bool
	nodes := func(p *Pass) { // it ends when it asks the Pass after the guard gave it up
		for range Nodes[*ast.Ident](p, nil) {
		}
	}
	hoard := func(more func()) {
		var kept [][]byte
		for !stopped.Load() {
			block := make([]byte, 1<<20)
			for i := 0; i < len(block); i += 4096 {
				block[i] = 1
			}
			kept = append(kept, block)
			more()
			if len(kept) > 4<<10 {
				return // the guard did not notice 4 GB
			}
		}
		runtime.KeepAlive(kept)
	}
	return []failure{
		{"panics", func(*Pass) { panic("planted") }, "panicked: planted"},
		{"dereferences nil", func(p *Pass) { _ = (*ast.Ident)(nil).Name }, "panicked: runtime error: invalid memory address"},
		{"ends its goroutine", func(*Pass) { runtime.Goexit() }, "ended its goroutine"},
		{"asks for ever", func(p *Pass) {
			for {
				nodes(p)
			}
		}, "took longer than"},
		{"loops for ever", func(*Pass) {
			for !stopped.Load() {
			}
		}, "took longer than"},
		{"waits for ever", func(*Pass) {
			for !stopped.Load() {
				time.Sleep(time.Millisecond)
			}
		}, "took longer than"},
		{"hoards and asks", func(p *Pass) { hoard(func() { nodes(p) }) }, "of memory"},
		{"hoards", func(*Pass) { hoard(func() { time.Sleep(time.Millisecond) }) }, "of memory"},
		{"recurses", func(p *Pass) {
			var deeper func(n int) int
			deeper = func(n int) int { nodes(p); return deeper(n+1) + n }
			deeper(0)
		}, "of memory"},
	}, func() { stopped.Store(true) }
}

// failing returns a mutator that fails in one of its functions.
func failing(function string, do func(*Pass)) *Mutator {
	in := func(name string, p *Pass) {
		if name == function {
			do(p)
		}
	}
	return &Mutator{
		Name: "failing", Class: beagle.E0, Gain: 2,
		Find:   func(p *Pass) []Site { in("Find", p); return []Site{{Node: p.Func, Label: "f"}} },
		Params: func(p *Pass, _ Site) []Param { in("Params", p); return []Param{{Label: "1"}, {Label: "2"}} },
		Rewrite: func(p *Pass, s Site, _ Param) ([]Edit, error) {
			in("Rewrite", p)
			return []Edit{p.Insert(s.Node.End(), "\n\nfunc more() {}\n")}, nil
		},
	}
}

// TestGuard plants each failure in each function of a mutator. A mutator beside it must go on
// working.
func TestGuard(t *testing.T) {
	names, _ := failures()
	for _, function := range []string{"Find", "Params", "Rewrite"} {
		for i := range names {
			t.Run(function+" "+names[i].name, func(t *testing.T) {
				all, stop := failures()
				defer stop()
				f := all[i]
				guard := &Guard{Time: time.Hour, Memory: 64 << 20}
				if strings.Contains(f.want, "longer") {
					guard.Time = 300 * time.Millisecond
				}
				p := pass(t, guardedSource)
				p.Guard = guard
				fine := failing("", nil)
				fine.Name = "fine"
				bad := failing(function, f.do)
				moves := Moves(p, []*Mutator{bad, fine})
				if want := map[bool]int{true: 4, false: 2}[function == "Rewrite"]; len(moves) != want {
					t.Errorf("got %d moves, want %d", len(moves), want)
				}
				if function == "Rewrite" {
					_, _, err := Take(p, bad, 0, 1)
					var fault *Fault
					if !errors.As(err, &fault) {
						t.Errorf("Take: got error %v, want a fault", err)
					}
				}
				checkFault(t, guard.Faults(), function, f.want)
				for _, m := range moves {
					if m.Mutator == "fine" {
						if text, _, err := Take(p, fine, m.Site, m.Param); err != nil ||
							!strings.Contains(text.Src, "func more") {
							t.Errorf("the mutator beside it: %v\n%v", err, text)
						}
					}
				}
			})
		}
	}
}

func checkFault(t *testing.T, faults []Fault, function, want string) {
	t.Helper()
	if len(faults) != 1 {
		t.Fatalf("got %d faults, want 1: %v", len(faults), faults)
	}
	f := faults[0]
	if f.Mutator != "failing" || f.Function != function || !strings.Contains(f.Reason, want) {
		t.Errorf("got fault %s: %s %s, want failing: %s %s", f.Mutator, f.Function, f.Reason, function, want)
	}
	if strings.Contains(f.Stack, "guard_test.go") != strings.HasPrefix(want, "panicked") {
		t.Errorf("got stack %q", f.Stack)
	}
}

// TestGuardEndsCalls checks that a call that asks its Pass ends, and that Stuck hears of a call
// that does not.
func TestGuardEndsCalls(t *testing.T) {
	names, _ := failures()
	for i, f := range names {
		t.Run(f.name, func(t *testing.T) {
			all, stop := failures()
			defer stop()
			stuck := make(chan Fault, 1)
			guard := &Guard{Time: time.Hour, Memory: 64 << 20, Stuck: func(f Fault) { stuck <- f }}
			if strings.Contains(f.want, "longer") {
				guard.Time = 300 * time.Millisecond
			}
			p := pass(t, guardedSource)
			p.Guard = guard
			if sites := Find(p, failing("Find", all[i].do)); sites != nil {
				t.Errorf("found %v", sites)
			}
			if f.name == "loops for ever" || f.name == "waits for ever" || f.name == "hoards" {
				if got := <-stuck; got.Function != "Find" {
					t.Errorf("Stuck got %v", got)
				}
				stop()
			}
			for guard.underWay() > 0 { // the test's own time limit is the bound
				time.Sleep(time.Millisecond)
			}
		})
	}
}

func (g *Guard) underWay() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.calls)
}

// TestGuardTires checks that the guard stops calling a mutator after some faults.
func TestGuardTires(t *testing.T) {
	guard, calls := &Guard{}, 0
	m := failing("Find", func(*Pass) { calls++; panic("planted") })
	for range 10 {
		p := pass(t, guardedSource)
		p.Guard = guard
		if moves := Moves(p, []*Mutator{m}); len(moves) != 0 {
			t.Errorf("got %v", moves)
		}
	}
	if calls != maxFaults || len(guard.Faults()) != maxFaults {
		t.Errorf("%d calls and %d faults, want %d", calls, len(guard.Faults()), maxFaults)
	}
}
