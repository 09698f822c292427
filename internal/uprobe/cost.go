//go:build linux

package uprobe

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A Cost is the time that a hit costs its thread, beyond the call itself, when hits follow each
// other at once.
type Cost struct {
	Emulated time.Duration // the kernel carries the instruction out
	Stepped  time.Duration // the kernel steps over it, with a second trap
}

// cold is the factor by which a hit costs more in a process that does other things between: its
// caches have forgotten the kernel's code. bench/uprobe measures it.
const cold = 2

// Of returns the cost of a point that limits are computed with.
func (c Cost) Of(p Point) time.Duration {
	if p.Emulated {
		return cold * c.Emulated
	}
	return cold * c.Stepped
}

// Measure finds the costs on this machine: it attaches the same program, with its gate shut, to two
// functions of this process and calls them. It takes a few milliseconds.
func Measure() (Cost, error) {
	k, err := loadKernel(nil, nil)
	if err != nil {
		return Cost{}, err
	}
	defer k.close()
	runtime.LockOSThread() // the time of a thread is measured
	defer runtime.UnlockOSThread()
	var c Cost
	if c.Emulated, err = k.measure(framed, 1000); err != nil {
		return c, err
	}
	c.Stepped, err = k.measure(frameless, 100)
	return c, err
}

// framed begins with a check of the stack and PUSH RBP.
//
//go:noinline
func framed(n int) int {
	if n < 0 {
		return len(os.Getenv("BEAGLE")) + framed(n+1)
	}
	return n
}

// frameless has neither, and begins with an instruction that the kernel does not emulate.
//
//go:noinline
func frameless(n int) int { return n*n + 1 }

// rounds of a measurement, of which the median counts.
const rounds = 7

// measure returns the time by which a uprobe slows a call of a function of this program.
func (k *kernel) measure(f func(int) int, calls int) (time.Duration, error) {
	at := uint64(reflect.ValueOf(f).Pointer())
	code, err := codeAt(at, 64)
	if err != nil {
		return 0, err
	}
	point, _, err := choose(code, at, 1)
	if err != nil {
		return 0, fmt.Errorf("a function to measure the cost with %w", err)
	}
	offset, err := ownOffset(point.Address)
	if err != nil {
		return 0, err
	}
	bare := median(f, calls)
	if err := k.attach("/proc/self/exe", os.Getpid(), []uint64{offset}, []uint64{maxSites - 1}); err != nil {
		return 0, err
	}
	before := k.get(maxSites-1, siteHits)
	hit := median(f, calls)
	seen := k.get(maxSites-1, siteHits) - before
	if err := k.detach(); err != nil {
		return 0, err
	}
	if seen != uint64(rounds*calls) {
		return 0, fmt.Errorf("%d of %d calls of a function of beagle-uprobe ran into its probe", seen, rounds*calls)
	}
	return max(hit-bare, 1), nil
}

// median returns the time of a call, of the thread alone.
func median(f func(int) int, calls int) time.Duration {
	all := make([]time.Duration, rounds)
	for i := range all {
		from := threadTime()
		for n := range calls {
			f(n)
		}
		all[i] = (threadTime() - from) / time.Duration(calls)
	}
	slices.Sort(all)
	return all[rounds/2]
}

func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// ownOffset returns the offset of an address of this process in this program's file.
func ownOffset(at uint64) (uint64, error) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		var low, high, off uint64
		var may string
		if n, _ := fmt.Sscanf(in.Text(), "%x-%x %s %x", &low, &high, &may, &off); n == 4 && at >= low && at < high &&
			strings.Contains(may, "x") {
			return at - low + off, nil
		}
	}
	return 0, fmt.Errorf("address %#x is in no mapped file", at)
}

// codeAt reads this process's own code.
func codeAt(at uint64, n int) ([]byte, error) {
	f, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, n)
	_, err = f.ReadAt(b, int64(at))
	return b, err
}
