package rt

import (
	"fmt"
	"math"
	"runtime"
	"time"
)

// Goroutines that outlive their call slow the next measurement, may never end, and may hold
// memory that the caller has back. A version may leave none behind unless the original does.

// CheckEnded is the look for goroutines after a call.
const CheckEnded = "goroutines outlive the call that started them"

// lingering is the time that a goroutine may live after its call. It is long enough for a goroutine
// that is about to end on a busy machine.
const lingering = 2 * time.Second

// lingers waits for the goroutines that came since there were base of them, and
// returns how many stay.
func lingers(base int) int {
	start, pause := time.Now(), time.Microsecond
	for {
		n := runtime.NumGoroutine() - base
		if n <= 0 || time.Since(start) > lingering {
			return max(n, 0)
		}
		// Most end at once when they get their turn; the rest is waited for with longer and longer
		// pauses.
		runtime.Gosched()
		if n = runtime.NumGoroutine() - base; n > 0 {
			time.Sleep(pause)
			pause = min(2*pause, time.Millisecond)
		}
	}
}

// A stray counts the goroutines that a call left behind.
type stray struct{ v, goroutines int }

// waitLeftBehind looks for goroutines that the last call of variant v left behind, of
// base that there were before. It waits for the first ones only: of a target
// that leaves some behind itself nothing can be said, and a candidate that does
// is refused.
func (g *guard[A, R]) waitLeftBehind(v, base int) {
	if g.stray != nil || runtime.NumGoroutine() <= base {
		return
	}
	if n := lingers(base); n > 0 {
		g.stray = &stray{v, n}
	}
}

// strayed returns the difference that a candidate's goroutines make, or nil.
func (c *checker[A, R]) strayed(id int, src *A) *Diff {
	if c.stray == nil || c.stray.v == 0 {
		return nil
	}
	d := c.diff(id, src, "goroutine", CheckEnded)
	d.Want = "returns, and no goroutine goes on"
	d.Got = fmt.Sprintf("goroutines that still run %v after the call: %d", lingering, c.stray.goroutines)
	return d
}

// join waits for the goroutines that the calls of a slice left behind. If some do not end in
// time, the target leaves goroutines by design, and no slice waits again.
func (t *timer[A, R]) join() {
	if runtime.NumGoroutine() <= t.alive {
		return
	}
	for start := time.Now(); runtime.NumGoroutine() > t.alive; runtime.Gosched() {
		if time.Since(start) > lingering {
			t.alive = math.MaxInt
		}
	}
}

// starts reports whether variants start goroutines: whether the numbers that
// the runtime gives them go on, twice, since the runtime may start one itself.
func (t *timer[A, R]) starts() bool {
	calls := t.sequence(min(64, len(t.records)))
	for range 2 {
		// The number of a new goroutine tells how many were made in between.
		before := newGoroutine()
		for v := range t.run1 {
			start := time.Now()
			for i := 0; i < len(calls) && time.Since(start) < t.budget/100; i++ {
				t.timePass(v, calls[i:i+1])
			}
		}
		if newGoroutine()-before <= 1 {
			return false
		}
	}
	return true
}

// newGoroutine returns the number of one that is started for it.
func newGoroutine() uint64 {
	id := make(chan uint64)
	go func() { id <- goroutineID() }()
	return <-id
}
