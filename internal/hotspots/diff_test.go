package hotspots

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// ranked ranks one profile of stacks.
func ranked(t *testing.T, stacks ...string) *Table {
	t.Helper()
	p := planned{Kind: CPU, Seconds: 10, Start: noon, Stacks: stacks}.parse(t, "p")
	h, err := Rank([]*Profile{p}, Options{Least: 0.005, Checkout: &Checkout{Module: svc}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestDiffShift: A cost that went from one callee to another is a move of both, with a
// note that their caller costs the same.
func TestDiffShift(t *testing.T) {
	old := ranked(t, "300 ex.com/svc/a.F@/a.go:1 ex.com/svc/a.Top@/a.go:9",
		"100 ex.com/svc/a.G@/a.go:2 ex.com/svc/a.Top@/a.go:9", "600 ex.com/svc/a.Top@/a.go:9")
	now := ranked(t, "100 ex.com/svc/a.F@/a.go:1 ex.com/svc/a.Top@/a.go:9",
		"300 ex.com/svc/a.G@/a.go:2 ex.com/svc/a.Top@/a.go:9", "600 ex.com/svc/a.Top@/a.go:9")
	d := now.Compare(old)
	if len(d.Moves) != 2 || d.Unclear != 1 {
		t.Fatalf("%+v", d)
	}
	for _, m := range d.Moves {
		if math.Abs(math.Abs(m.Change)-0.2) > 1e-9 || m.Low >= m.Change || m.High <= m.Change ||
			!strings.Contains(m.Note, "a.Top, which calls it") {
			t.Errorf("%+v", m)
		}
	}
}

// TestDiffChance: two profiles of the same service differ by chance: of many functions
// almost none may be called moved. A planted move among them is found.
func TestDiffChance(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const functions, samples, rounds = 40, 3000, 60
	draw := func(hot int) *Table {
		counts := make([]int, functions)
		for range samples {
			i := r.IntN(functions)
			if hot >= 0 && r.IntN(20) == 0 {
				i = hot
			}
			counts[i]++
		}
		var stacks []string
		for i, n := range counts {
			if n > 0 {
				stacks = append(stacks, fmt.Sprintf("%d ex.com/svc/a.F%dx@/a.go:1", n, i))
			}
		}
		return ranked(t, stacks...)
	}
	falseRounds, found, covered, all := 0, 0, 0, 0
	for range rounds {
		d := draw(-1).Compare(draw(-1))
		if len(d.Moves) > 0 {
			falseRounds++
		}
		d = draw(7).Compare(draw(-1))
		for _, m := range d.Moves {
			if m.Target == svc+"/a.F7x" {
				found++
				all++
				truth := 0.95/functions + 0.05 - 1.0/functions
				if m.Low <= truth && truth <= m.High {
					covered++
				}
			}
		}
	}
	// Benjamini and Hochberg at 5 %: with no true move, a round errs in 5 %.
	if falseRounds > 9 {
		t.Errorf("%d of %d comparisons of a service with itself find a move", falseRounds, rounds)
	}
	if found < rounds*9/10 || covered < all*8/10 {
		t.Errorf("a planted move of 4.9 points: found in %d of %d, its interval holds it in %d", found, rounds, covered)
	}
}

func TestAdvice(t *testing.T) {
	h := ranked(t,
		"500 ex.com/svc/a.F@/a.go:1",
		"60 runtime.lock2@/go/lock.go:1 runtime.semacquire1@/go/sema.go:1 internal/sync.(*Mutex).lockSlow@/go/mutex.go:1 ex.com/svc/a.Locks@/a.go:3",
		"90 runtime.chanrecv@/go/chan.go:1 ex.com/svc/a.Receives.func1@/a.go:5",
		"80 fmt.Sprintf@/go/fmt.go:1 log/slog.(*Logger).Info@/go/slog.go:1 ex.com/svc/a.Logs@/a.go:7",
		"100 internal/runtime/syscall.Syscall6@/go/sys.s:1 syscall.write@/go/sys.go:1 net.(*conn).Write@/go/net.go:1 ex.com/svc/a.Sends@/a.go:8",
		"10 runtime.chanrecv@/go/chan.go:1 ex.com/svc/a.Seldom@/a.go:9",
	)
	want := map[string]string{"contention": "Locks", "channels": "Receives", "logging": "Logs", "syscalls": "Sends"}
	for _, a := range h.Advice {
		if svc+"/a."+want[a.Kind] != a.Function {
			t.Errorf("%+v", a)
		}
		delete(want, a.Kind)
	}
	if len(want) > 0 {
		t.Errorf("no advice on %v: %+v", want, h.Advice)
	}
	if quiet := ranked(t, "500 ex.com/svc/a.F@/a.go:1",
		"2 runtime.chanrecv@/go/chan.go:1 ex.com/svc/a.G@/a.go:1"); len(quiet.Advice) > 0 {
		t.Errorf("advice on what costs nothing: %+v", quiet.Advice)
	}
}
