package rt

import (
	"testing"
	"time"
)

// TestOverdue checks that a call that waits for a processor is not taken for one that sleeps.
func TestOverdue(t *testing.T) {
	const limit = time.Second
	for _, c := range []struct {
		what       string
		used, wall time.Duration
		want       bool
	}{
		{"works", limit / 2, limit / 2, false},
		{"works too long", limit + 1, limit + 1, true},
		{"sleeps", 0, limit, false},
		{"sleeps too long, and is watched meanwhile", limit / 10, wallFactor*limit + 1, true},
		{"gets one processor of twenty", limit - 1, wallFactor * limit, false},
		{"gets one processor of thirty", limit - 1, 30 * limit, false},
	} {
		if got := overdue(c.used, c.wall, limit); got != c.want {
			t.Errorf("a call that %s: %v, want %v", c.what, got, c.want)
		}
	}
}

// TestHadItsTime checks that a comparison that waits for a processor goes on, and one that sleeps
// does not go on for ever.
func TestHadItsTime(t *testing.T) {
	const budget = time.Second
	for _, c := range []struct {
		what       string
		used, wall time.Duration
		want       bool
	}{
		{"worked all the time", budget, budget + 1, true},
		{"worked most of the time", budget * 9 / 10, budget + 1, true},
		{"got half of a processor", budget * 6 / 10, budget + 1, false},
		{"got half of a processor for long", budget, 2 * budget, true},
		{"sleeps", 0, 2 * budget, false},
		{"sleeps for long", 0, 3*budget + 1, true},
	} {
		if got := hadItsTime(c.used, c.wall, budget); got != c.want {
			t.Errorf("one that %s: %v, want %v", c.what, got, c.want)
		}
	}
}

// TestSpentUp checks that a counterexample of calls that sleep is not made smaller until the
// process is ended from outside, which takes 10 s.
func TestSpentUp(t *testing.T) {
	const limit = 10 * time.Second // of a sandboxed run
	for _, c := range []struct {
		what       string
		used, wall time.Duration
		want       bool
	}{
		{"just began", 0, 0, false},
		{"waits for a processor", minimiseBudget / 4, 5 * minimiseBudget, false},
		{"worked", minimiseBudget + 1, minimiseBudget + 1, true},
		{"sleeps now and then", minimiseBudget / 2, limit / 3, true},
		{"sleeps", 0, limit / 3, true},
	} {
		if got := spentUp(c.used, c.wall, minimiseBudget); got != c.want {
			t.Errorf("who %s: %v, want %v", c.what, got, c.want)
		}
	}
}
