package live

import (
	"runtime"
	"testing"
	"time"
)

// TestBusy: a slice counts without the waits for a processor. If its thread slept or is another
// one, that time is untold.
func TestBusy(t *testing.T) {
	on := func(thread int, sleeps int64) reading { return reading{thread: thread, sleeps: sleeps} }
	const us = time.Microsecond
	for _, c := range []struct {
		name      string
		wall, cpu time.Duration // cpu with the time of the readings, 1 us
		from, to  reading
		want      time.Duration
	}{
		{"no wait", 100 * us, 101 * us, on(7, 3), on(7, 3), 100 * us},
		{"little wait", 100 * us, 99 * us, on(7, 3), on(7, 3), 100 * us},
		{"a wait", 900 * us, 101 * us, on(7, 3), on(7, 3), 100 * us},
		{"a sleep", 900 * us, 101 * us, on(7, 3), on(7, 4), untold},
		{"another thread", 900 * us, 101 * us, on(7, 3), on(8, 3), untold},
		{"no clock", 900 * us, 0, reading{cpu: -1}, reading{cpu: -1}, untold},
	} {
		if got := busy(c.wall, c.from, c.to, int64(c.cpu), int64(us)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestTimeBudget: a wait for a processor takes a third of the budget that work takes.
func TestTimeBudget(t *testing.T) {
	defer func(p Plan) { plan = p }(plan)
	plan.Budget = int64(time.Second)
	now := time.Now()
	for _, c := range []struct {
		wall, used time.Duration
		want       bool
	}{
		{time.Second, time.Second, true}, {2 * time.Second, 900 * time.Millisecond, false},
		{3 * time.Second, 100 * time.Millisecond, true},
	} {
		b := timeBudget{began: now.Add(-c.wall), used: c.used}
		if got := b.empty(now); got != c.want {
			t.Errorf("%v of work in %v: empty %v", c.used, c.wall, got)
		}
	}
}

// TestReadThread: the system tells a thread that sleeps from one that works.
func TestReadThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	first := readThread()
	if first.cpu < 0 {
		t.Skip("this system has no clock of a thread that counts sleeps: slices go by the wall clock here")
	}
	time.Sleep(time.Millisecond)
	if slept := readThread(); slept.sleeps == first.sleeps || slept.thread != first.thread {
		t.Errorf("before a sleep %+v, after it %+v", first, slept)
	}
	for range 1000 { // the scheduler may stop a goroutine at any time
		from, n := readThread(), 0
		for threadCPU()-from.cpu < int64(100*time.Microsecond) {
			n++
		}
		if to := readThread(); to.sleeps == from.sleeps && to.thread == from.thread {
			return
		}
	}
	t.Error("a thread that works seems to sleep")
}

// TestKeeps: clocks that count no sleeps, or stand still while a thread works, do not time slices.
func TestKeeps(t *testing.T) {
	var at reading
	for _, c := range []struct {
		name        string
		step, sleep int64 // of the clock at a reading, and of the count in a sleep
		thread      int   // by which a sleep moves to another thread
		want        bool
	}{
		{"kept", 200, 1, 0, true}, {"no sleeps", 200, 0, 0, false}, {"ticks", 0, 1, 0, false},
		{"another thread", 200, 1, 1, false}, {"no clock", -1, 1, 0, false},
	} {
		at = reading{cpu: 1000 * c.step}
		read := func() reading { at.cpu += c.step; return at }
		sleep := func() { at.sleeps += c.sleep; at.thread += c.thread }
		if got := keeps(read, sleep); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	defer func(was bool) { byWall = was }(byWall)
	byWall = true
	const us = time.Microsecond
	if got := busy(900*us, reading{}, reading{}, int64(100*us), 0); cpuOrWall(got, 900*us) != 900*us {
		t.Errorf("a slice of 900 us by the wall clock: %v", got)
	}
}

// TestCheckClocks: where a sleep is counted, slices count by the thread's clock.
func TestCheckClocks(t *testing.T) {
	defer func(was bool) { byWall = was }(byWall)
	for i := 0; i < 20; i++ {
		if checkClocks(); !byWall {
			return
		}
	}
	if readThread().cpu >= 0 { // where TestReadThread holds the system to its clocks
		t.Error("slices count by the wall clock, although the thread has a clock of its own")
	}
}
