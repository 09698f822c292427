//go:build go1.21

package live

import (
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/beagle-go/beagle/internal/rt"
)

// Seen describes the calls of the original in one process.
type Seen struct {
	Calls      int64            `json:"calls"`      // that no other call of the target waits for
	Nested     int64            `json:"nested"`     // within another one, in the same goroutine
	Nanos      int64            `json:"ns"`         // within the calls that are not nested
	Concurrent bool             `json:"concurrent"` // two goroutines were in it at once
	Tests      map[string]int64 `json:"tests"`      // calls by test, benchmark, example or fuzz test
	Unnamed    int64            `json:"unnamed"`    // calls by none of these, such as a goroutine of its own

	Loops  bool  `json:"loops,omitempty"`  // a benchmark told where the loops over its iterations are
	Looped int64 `json:"looped,omitempty"` // calls within these
}

// Working returns the calls that are a benchmark's work, as far as it tells, and not its
// preparation.
func (s *Seen) Working() int64 {
	if s.Loops {
		return s.Looped
	}
	return s.Calls
}

// The first calls are looked at one by one. A later one is looked at when the last look was some
// times as long ago as it took, and stands for those before it: a look takes as long as the stack
// is deep, and would keep tests from ending.
const (
	closely = 1000
	rest    = 3 // times as long as a look, at most longRest

	reported = 8 // report after each eighth more calls, and after this many more:
	often    = 100_000

	longRest = time.Millisecond // the scheduler may stop a goroutine in a look, and a short test comes next
)

type counter struct {
	mu    sync.Mutex
	all   int64     // calls, nested ones too
	last  int64     // call that was looked at
	next  time.Time // from when on one may be looked at again
	seen  Seen
	depth map[uint64]int // by goroutine
	said  int64          // calls of the last report
	work  int64          // calls within loops of the last report
	loops bool           // in a loop over a benchmark's iterations
	bench string         // the benchmark of the last such loop
}

var counted = counter{seen: Seen{Tests: map[string]int64{}}, depth: map[uint64]int{}}

// Counted counts a call, and returns what ends it.
func Counted() func() {
	c := &counted
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all++
	n := c.all
	now := time.Now()
	if n > closely && now.Before(c.next) {
		return passed
	}
	stands := n - c.last
	c.last = n
	id := rt.GoroutineID()
	c.depth[id]++
	if c.depth[id] > 1 {
		c.seen.Nested += stands
	} else {
		c.outermost(stands)
	}
	start := time.Now()
	c.next = start.Add(min(rest*start.Sub(now), longRest))
	return func() { c.leave(id, time.Since(start), stands) }
}

// passed ends a call that is not looked at.
func passed() {}

// outermost notes a call that is not nested, and those that it stands for. The caller holds the
// lock.
func (c *counter) outermost(stands int64) {
	c.seen.Calls += stands
	c.seen.Concurrent = c.seen.Concurrent || len(c.depth) > 1
	name := callingTest()
	if name == "" && c.loops {
		name = c.bench // a goroutine that a helper started
	}
	fresh := false
	if name != "" {
		fresh = c.seen.Tests[name] == 0
		c.seen.Tests[name] += stands
	} else {
		c.seen.Unnamed += stands
	}
	if c.loops {
		c.seen.Looped += stands
	}
	due := func(now, said int64) bool { return now-said >= min(said/reported+1, often) }
	if n, work := c.seen.Calls, c.seen.Looped; fresh || due(n, c.said) || due(work, c.work) {
		c.said, c.work = n, work
		report.add(&Line{Seen: &c.seen})
	}
}

// begin notes that a loop over the iterations of a benchmark begins.
func (c *counter) begin(b any) {
	name := ""
	if b, ok := b.(interface{ Name() string }); ok {
		name, _, _ = strings.Cut(b.Name(), "/")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bench = name
	c.loop(true)
}

// endLoop notes that such a loop ends.
func (c *counter) endLoop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loop(false)
}

// loop makes the next call one that is looked at, so that it stands for none of before. The caller
// holds the lock.
func (c *counter) loop(begins bool) {
	c.loops, c.seen.Loops = begins, true
	c.next = time.Time{}
	c.last = c.all
}

func (c *counter) leave(id uint64, took time.Duration, stands int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.depth[id]--; c.depth[id] > 0 {
		return
	}
	delete(c.depth, id)
	if c.seen.Nanos += int64(took) * stands; c.seen.Calls == c.said {
		report.add(&Line{Seen: &c.seen}) // with the time of this call
	}
}

// callingTest names the test, benchmark, example or fuzz test that the calling
// goroutine is in; "" when it is in none.
func callingTest() string {
	var pcs [256]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	name := ""
	for {
		f, more := frames.Next()
		if n := testOf(f.Function); n != "" {
			name = n // the outermost counts
		}
		if !more {
			return name
		}
	}
}

// testOf returns the test that a function of the target's test packages is, or is in.
func testOf(function string) string {
	rest, ok := strings.CutPrefix(function, plan.Package)
	if !ok {
		return ""
	}
	rest = strings.TrimPrefix(rest, "_test")
	if rest, ok = strings.CutPrefix(rest, "."); !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, ".")
	for _, kind := range []string{"Test", "Benchmark", "Example", "Fuzz"} {
		if strings.HasPrefix(name, kind) {
			return name
		}
	}
	return ""
}
