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
