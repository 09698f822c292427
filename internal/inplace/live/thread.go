//go:build go1.21

package live

import (
	"runtime"
	"time"
)

// Which clock times a slice.
//
// A benchmark runs on one processor (GOMAXPROCS is 1), so its goroutines, those that a call starts
// and the collector all run on one thread, one after the other. The processor time of that thread
// is then the time of the slice without the waits for a processor, and the goroutine need not be
// locked to the thread. Locking it would make each switch between goroutines a switch of threads,
// and slow down just the versions that use channels.
//
// Two things end that. If the goroutine goes on in another thread, the clocks of two threads have
// nothing in common. If the thread slept, as it does in a timer, a pipe or a lock of another
// process, the sleep belongs to the call: a version that sleeps instead of working is not faster.
// The thread has then given up its processor by itself, which the system counts apart from the
// times when it was taken away. In both cases the whole round counts by the wall clock, and so it
// does where the system has no such clocks, or has them only in name: see keeps.

// A reading is the state of the calling thread's clock at one moment.
type reading struct {
	cpu    int64 // processor time in nanoseconds; -1 where there is no clock
	thread int
	sleeps int64 // how often the thread has given up its processor by itself
}

// Within these bounds the wall clock says the same as the thread's.
const (
	leastWait  = 2 * time.Microsecond
	wallPerGap = 200 // nanoseconds of wall time to one by which the clocks may differ
)

// busy returns the processor time between two readings, of which the readings themselves took blank
// nanoseconds. It is the wall time if the thread waited for no processor, and untold if its clock
// does not tell.
func busy(wall time.Duration, from, to reading, cpu, blank int64) time.Duration {
	if byWall || from.cpu < 0 || to.cpu < 0 || from.thread != to.thread || from.sleeps != to.sleeps {
		return untold
	}
	used := time.Duration(max(cpu-blank, 1))
	if wall-used <= leastWait+wall/wallPerGap {
		return wall
	}
	return used
}

// untold is the processor time of a slice whose thread's clock does not tell it.
const untold = -1

// cpuOrWall returns a processor time, or the wall time where it is untold.
func cpuOrWall(cpu, wall time.Duration) time.Duration {
	if cpu == untold {
		return wall
	}
	return cpu
}

// waits is how many times its budget a timing may take because its thread waits for a processor.
const waits = 3

// A timeBudget is the time that a timing may take and has taken. Waiting for a processor costs a
// third of what work costs.
type timeBudget struct {
	began time.Time // of the first slice, later by the time of preparations
	used  time.Duration
}

// empty reports whether the budget is used up.
func (p *timeBudget) empty(now time.Time) bool {
	return max(p.used, now.Sub(p.began)/waits) >= time.Duration(plan.Budget)
}

// byWall says that all slices count by the wall clock alone.
var byWall bool

// keeps reports whether the system keeps the clocks of threads: a thread that slept has given up
// its processor once more, and the clock of one that works has gone on at each reading. Some
// systems that stand in for Linux count no sleeps, so a version that sleeps would seem to take no
// time. Others count processor time in ticks that are longer than a slice.
func keeps(read func() reading, sleep func()) bool {
	from := read()
	if from.cpu < 0 {
		return false
	}
	sleep()
	last := read()
	if last.thread != from.thread || last.sleeps == from.sleeps {
		return false
	}
	for i := 0; i < 16; i++ {
		next := read()
		if next.cpu <= last.cpu {
			return false
		}
		last = next
	}
	return true
}

// checkClocks finds out whether slices count by the thread's clock.
func checkClocks() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	byWall = !keeps(readThread, func() { time.Sleep(100 * time.Microsecond) })
}

// blanks returns the time that a reading itself takes by the thread's clock: of a whole reading,
// and of the clock alone.
func blanks() (whole, clock int64) {
	whole, clock = 1<<62, 1<<62
	for i := 0; i < 64; i++ {
		a := readThread()
		b := readThread()
		c := threadCPU()
		whole, clock = min(whole, b.cpu-a.cpu), min(clock, threadCPU()-c)
	}
	return max(whole, 0), max(clock, 0)
}
