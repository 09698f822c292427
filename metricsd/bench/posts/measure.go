package main

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// A way is one way of doing something. Run does it n times.
type way struct {
	name string
	run  func(n int)
	unit int // n is a multiple of it; 0 is 1
}

// times returns the nanoseconds of processor time for one operation, by turn. The last way repeats
// the first.
func (o *options) times(ways ...way) [][]float64 {
	ways = append(ways, ways[0])
	counts := make([]int, len(ways))
	for i, w := range ways {
		counts[i] = o.fit(w)
	}
	all := make([][]float64, len(ways))
	for turn := range o.turns {
		for i := range ways {
			w := (i + turn) % len(ways)
			all[w] = append(all[w], cost(ways[w], counts[w]))
		}
	}
	return all
}

// fit finds how many operations fill a slice.
func (o *options) fit(w way) int {
	n := max(1, w.unit)
	for {
		c := min(cost(w, n), cost(w, n)) * float64(n) / 1e6 // one of them may contain a garbage collection
		if c >= o.slice/2 || n >= 1<<30 {
			units := int(float64(n) * o.slice / max(c, o.slice/8) / float64(max(1, w.unit)))
			return max(1, units) * max(1, w.unit)
		}
		n *= 2
	}
}

// cost returns the processor time of all threads, the collector's included, in nanoseconds for one
// of n operations.
func cost(w way, n int) float64 {
	before := processor()
	w.run(n)
	return float64(processor()-before) / float64(n)
}

func processor() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err) // Linux has it
	}
	return time.Duration(t.Nano())
}

// alone restricts the program to one processor: on two that are shared with others, the time to
// wake a goroutine would be measured.
func alone() { runtime.GOMAXPROCS(1) }

// again is the name of the first way when it is measured once more.
const again = "the first again"

// rows measures the ways of one row and adds a line for each: its time, and the first way's time
// over it.
func (o *options) rows(t *table, label any, ways ...way) [][]float64 {
	all := o.times(ways...)
	for i, w := range append(ways, way{name: again}) {
		t.add(label, w.name, median(all[i]), ratioOf(all[0], all[i]))
	}
	return all
}
