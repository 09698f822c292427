//go:build linux

// Command turns measures what a rollout costs in a process: a switch that is off, a routed call,
// and the turns by themselves.
//
//	go run ./bench/turns        # in the directory of module probe: about a minute
//	go run ./bench/turns off    # the switch that is off alone
//
// Calls are compared in pairs of short slices in one process, so that other work on the machine
// hits both sides. Link layouts change the figure of the switch that is off: build with
// -ldflags=-randlayout=N for others.
package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/beagle-go/beagle/probe/bench/internal/rig"
	"github.com/beagle-go/beagle/probe/rollout"
	"github.com/beagle-go/beagle/probe/wire"
)

var sw rollout.Switch

func init() { rollout.Register(&sw, "bench.Hash", "b1") }

// plain takes about five nanoseconds.
//
//go:noinline
func plain(h uint32) uint32 {
	return rig.End(rig.Mix(h))
}

// switched is plain as `beagle build --rollout` changes it.
//
//go:noinline
func switched(h uint32) uint32 {
	if sw.On() {
		return routed(h)
	}
	return rig.End(rig.Mix(h))
}

func routed(h uint32) (out uint32) {
	c := sw.Enter()
	defer c.Leave()
	switch c.Arm {
	case rollout.Candidate:
		out = plain(h)
	case rollout.Placebo:
		out = plain(h)
	default:
		out = plain(h)
	}
	c.Done(false)
	return out
}

// rusageThread is RUSAGE_THREAD of Linux, which package syscall does not name.
const rusageThread = 1

// Sink2 keeps threads busy.
var Sink2 atomic.Uint32

// Sink keeps the results alive.
var Sink uint32

var arg = uint32(len(os.Args))

// slice returns the time of a call in a slice of n calls.
func slice(which, n int) float64 {
	return rig.PerCall(n, func() {
		if which == 0 {
			for range n {
				Sink += plain(arg)
			}
		} else {
			for range n {
				Sink += switched(arg)
			}
		}
	})
}

// compare returns the time that the switch adds to a call, in nanoseconds, with a 95 % interval.
func compare(keep func()) (low, middle, high float64) {
	const n, pairs = 10_000, 2001
	var add []float64
	for i := range pairs {
		x, y := rig.Pair(i, func() float64 { return slice(0, n) }, func() float64 { return slice(1, n) })
		add = append(add, y-x)
		keep()
	}
	slices.Sort(add)
	return add[pairs/2-44], add[pairs/2], add[pairs/2+44] // 1.96 sqrt(pairs)/2 places
}

func main() {
	low, middle, high := compare(func() {})
	fmt.Printf("switch off: adds           %6.2f ns a call (95 %%: %.2f to %.2f)\n", middle, low, high)
	if len(os.Args) > 1 { // the rest takes twenty seconds
		return
	}
	arms := [][]string{{wire.Candidate, wire.Original, wire.Placebo}}
	lease := rig.Do(wire.Request{Verb: wire.VerbRolloutStart, Rollout: &wire.RolloutOrders{Function: "bench.Hash",
		Build: "b1",
		Share: 0.33, Arms: arms}}).Rollout.Lease
	beat := func() { rig.Do(wire.Request{Verb: wire.VerbRolloutBeat, Lease: lease}) }
	last := time.Now()
	low, middle, high = compare(func() {
		if time.Since(last) > time.Second {
			beat()
			last = time.Now()
		}
	})
	fmt.Printf("a routed call: adds        %6.2f ns a call (95 %%: %.2f to %.2f)\n", middle, low, high)
	fmt.Printf("turns of 20 ms slices:     %6.3f %% of a core\n", beside(beat))
	rig.Do(wire.Request{Verb: wire.VerbRolloutStop, Lease: lease})
	fmt.Printf("nothing runs:              %6.3f %% of a core\n", beside(func() {}))
}

// beside keeps two threads busy, as a service does, and returns the process's further processor
// time in percent of a core. The controller beats once a second.
func beside(beat func()) float64 {
	stop := make(chan struct{})
	own := make(chan float64)
	for range 2 {
		go func() {
			runtime.LockOSThread()
			began := rig.Processor(rusageThread)
			for {
				select {
				case <-stop:
					own <- rig.Processor(rusageThread) - began
					return
				default:
					for range 2000 {
						Sink2.Add(uint32(len(os.Args)))
					}
				}
			}
		}()
	}
	before, began := rig.Processor(syscall.RUSAGE_SELF), time.Now()
	for range 10 {
		time.Sleep(time.Second)
		beat()
	}
	close(stop)
	busy := <-own + <-own
	return 100 * (rig.Processor(syscall.RUSAGE_SELF) - before - busy) / time.Since(began).Seconds()
}
