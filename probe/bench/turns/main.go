//go:build linux

// Command turns measures what a rollout costs in a process: a switch that is off, a routed call, and
// the turns by themselves.
//
//	go run ./bench/turns      # in the directory of module probe: about a minute
//
// Calls are compared in pairs of short slices in one process, so that other work on the machine
// hits both sides. Link layouts change the figure of the switch that is off: build with
// -ldflags=-randlayout=N for others.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/beagle-go/beagle/probe"
	"github.com/beagle-go/beagle/probe/rollout"
	"github.com/beagle-go/beagle/probe/wire"
)

var sw rollout.Switch

func init() { rollout.Register(&sw, "bench.Hash", "b1") }

// plain takes about five nanoseconds.
//
//go:noinline
func plain(h uint32) uint32 {
	h = (h ^ h>>15) * 2246822519
	h = (h ^ h>>13) * 3266489917
	h = (h ^ h>>16) * 668265263
	h = (h ^ h>>15) * 374761393
	h = (h ^ h>>14) * 2654435761
	h = (h ^ h>>13) * 2246822519
	h = (h ^ h>>12) * 3266489917
	return h ^ h>>16
}

// switched is plain as `beagle build --rollout` changes it.
//
//go:noinline
func switched(h uint32) uint32 {
	if sw.On() {
		return routed(h)
	}
	h = (h ^ h>>15) * 2246822519
	h = (h ^ h>>13) * 3266489917
	h = (h ^ h>>16) * 668265263
	h = (h ^ h>>15) * 374761393
	h = (h ^ h>>14) * 2654435761
	h = (h ^ h>>13) * 2246822519
	h = (h ^ h>>12) * 3266489917
	return h ^ h>>16
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

// slice times n calls.
func slice(which, n int) float64 {
	begin := time.Now()
	if which == 0 {
		for range n {
			Sink += plain(Sink)
		}
	} else {
		for range n {
			Sink += switched(Sink)
		}
	}
	return float64(time.Since(begin).Nanoseconds()) / float64(n)
}

// compare returns what the switch adds to a call, in nanoseconds, with a 95 % interval.
func compare(keep func()) (low, middle, high float64) {
	const n, pairs = 10_000, 2001
	var add []float64
	for i := range pairs {
		first := i % 2
		x, y := slice(first, n), slice(1-first, n)
		if first == 1 {
			x, y = y, x
		}
		add = append(add, y-x)
		keep()
	}
	slices.Sort(add)
	return add[pairs/2-44], add[pairs/2], add[pairs/2+44] // 1.96 sqrt(pairs)/2 places
}

// used is the processor time of this process or thread so far, in seconds.
func used(who int) float64 {
	var u syscall.Rusage
	syscall.Getrusage(who, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

const token = "0123456789abcdef0123456789abcdef"

// do carries a request out as a controller's would be.
func do(q wire.Request) *wire.RolloutReply {
	q.Token = token
	b, _ := json.Marshal(q)
	var r wire.Reply
	if err := json.NewDecoder(bytes.NewReader(probe.Serve(token, b))).Decode(&r); err != nil || r.Error != "" {
		fmt.Fprintln(os.Stderr, "turns:", err, r.Error)
		os.Exit(1)
	}
	return r.Rollout
}

func main() {
	low, middle, high := compare(func() {})
	fmt.Printf("switch off: adds           %6.2f ns a call (95 %%: %.2f to %.2f)\n", middle, low, high)
	arms := [][]string{{wire.Candidate, wire.Original, wire.Placebo}}
	lease := do(wire.Request{Verb: wire.VerbRolloutStart, Rollout: &wire.RolloutOrders{Function: "bench.Hash", Build: "b1",
		Share: 0.33, Arms: arms}}).Lease
	beat := func() { do(wire.Request{Verb: wire.VerbRolloutBeat, Lease: lease}) }
	last := time.Now()
	low, middle, high = compare(func() {
		if time.Since(last) > time.Second {
			beat()
			last = time.Now()
		}
	})
	fmt.Printf("a routed call: adds        %6.2f ns a call (95 %%: %.2f to %.2f)\n", middle, low, high)
	fmt.Printf("turns of 20 ms slices:     %6.3f %% of a core\n", beside(beat))
	do(wire.Request{Verb: wire.VerbRolloutStop, Lease: lease})
	fmt.Printf("nothing runs:              %6.3f %% of a core\n", beside(func() {}))
}

// beside keeps two threads busy, as a service does, and returns what the process takes besides, in
// percent of a core. The controller beats once a second.
func beside(beat func()) float64 {
	stop := make(chan struct{})
	own := make(chan float64)
	for range 2 {
		go func() {
			runtime.LockOSThread()
			began := used(rusageThread)
			for {
				select {
				case <-stop:
					own <- used(rusageThread) - began
					return
				default:
					for range 2000 {
						Sink2.Add(uint32(len(os.Args)))
					}
				}
			}
		}()
	}
	before, began := used(syscall.RUSAGE_SELF), time.Now()
	for range 10 {
		time.Sleep(time.Second)
		beat()
	}
	close(stop)
	busy := <-own + <-own
	return 100 * (used(syscall.RUSAGE_SELF) - before - busy) / time.Since(began).Seconds()
}
