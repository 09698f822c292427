//go:build unix

// Command gate is the program that bench builds and runs.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/beagle-go/beagle/probe"
	"github.com/beagle-go/beagle/probe/bench/internal/rig"
	"github.com/beagle-go/beagle/probe/wire"
)

type args struct {
	Key  string
	Tags []string
}

type results struct{ R0 uint32 }

var site probe.Site

func init() { probe.Register[args, results](&site, "bench.Hash", "key", "tags") }

// plain takes about five nanoseconds.
//
//go:noinline
func plain(key string, tags []string) uint32 {
	h := uint32(2166136261) + uint32(len(tags))
	h = (h ^ uint32(len(key))) * 16777619
	h = rig.Mix(h)
	h = (h ^ h>>16) * 16777619
	h = rig.Mix(h)
	return rig.End(h)
}

// again repeats plain: its extra cost is noise and the luck of the layout.
//
//go:noinline
func again(key string, tags []string) uint32 {
	h := uint32(2166136261) + uint32(len(tags))
	h = (h ^ uint32(len(key))) * 16777619
	h = rig.Mix(h)
	h = (h ^ h>>16) * 16777619
	h = rig.Mix(h)
	return rig.End(h)
}

// gated is plain as `beagle build` instruments it.
//
//go:noinline
func gated(key string, tags []string) uint32 {
	if site.Gate() {
		return captured(key, tags)
	}
	h := uint32(2166136261) + uint32(len(tags))
	h = (h ^ uint32(len(key))) * 16777619
	h = rig.Mix(h)
	h = (h ^ h>>16) * 16777619
	h = rig.Mix(h)
	return rig.End(h)
}

func captured(key string, tags []string) (r uint32) {
	a := args{key, tags}
	c := probe.Enter(&site, &a)
	defer c.End()
	r = gated(key, tags)
	probe.Leave(&c, &a, &results{r})
	return
}

// Sink keeps the results alive.
var Sink uint32

var (
	key  = string([]byte("tags-7-host"))
	tags = []string{"env:prod", "host:a", "service:x", "version:1", "region:eu", "team:y", "shard:3", "az:b"}
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "gate is run by bench")
		os.Exit(2)
	}
	var out any
	switch os.Args[1] {
	case "off":
		out = measureOff()
	case "budget":
		calls, _ := strconv.Atoi(os.Args[2])
		rate, _ := strconv.Atoi(os.Args[3])
		pairs, _ := strconv.Atoi(os.Args[4])
		out = measureBudget(calls, rate, pairs)
	default:
		rounds, _ := strconv.Atoi(os.Args[2])
		out = measureArmed(os.Args[1], rounds)
	}
	json.NewEncoder(os.Stdout).Encode(out)
}

// slice returns the time of a call in a slice of about 100 microseconds. The loops are written out
// so that the calls are direct.
func slice(which int) float64 {
	const n = 10_000
	return rig.PerCall(n, func() {
		switch which {
		case 0:
			for range n {
				Sink += plain(key, tags)
			}
		case 1:
			for range n {
				Sink += again(key, tags)
			}
		default:
			for range n {
				Sink += gated(key, tags)
			}
		}
	})
}

// measureOff compares the functions in slices, ABBA.
func measureOff() any {
	const pairs = 1000
	var base []float64
	add := [3][]float64{}
	for i := range pairs {
		for _, which := range []int{1, 2} {
			x, y := rig.Pair(i, func() float64 { return slice(0) }, func() float64 { return slice(which) })
			base = append(base, x)
			add[which] = append(add[which], y-x)
		}
	}
	return map[string]float64{"Base": median(base), "Again": median(add[1]), "Gate": median(add[2])}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// rusageThread is RUSAGE_THREAD of Linux, which package syscall does not name.
const rusageThread = 1

// A second of service, in percent of a core.
type second struct {
	process, caller float64
	took            float64 // seconds
}

// serve runs a service for a second that gets a number of calls in 200 bursts, or in fewer.
func serve(calls int) second {
	runtime.LockOSThread() // the caller is a thread of its own
	defer runtime.UnlockOSThread()
	bursts := min(calls, 200)
	begin, process, caller := time.Now(), rig.Processor(syscall.RUSAGE_SELF), rig.Processor(rusageThread)
	for range bursts {
		for range calls / bursts {
			Sink += gated(key, tags)
		}
		time.Sleep(time.Second / time.Duration(bursts))
	}
	took := time.Since(begin).Seconds()
	return second{100 * (rig.Processor(syscall.RUSAGE_SELF) - process) / took,
		100 * (rig.Processor(rusageThread) - caller) / took, took}
}

// capture serves for a second under a capture, and returns what it counted.
func capture(calls int, start wire.Start) (s second, counts *wire.Counts) {
	start.Sites = []string{"*"}
	r := rig.Do(wire.Request{Verb: wire.VerbStart, Start: &start})
	s = serve(calls)
	counts = rig.Do(wire.Request{Verb: wire.VerbBeat, Lease: r.Lease}).Status.Sites[0].Counts
	rig.Do(wire.Request{Verb: wire.VerbPull})
	rig.Do(wire.Request{Verb: wire.VerbStop})
	return s, counts
}

// measureBudget compares seconds with and without a capture, ABBA, at a rate of calls. Rate 0
// captures nothing in either: it shows the noise.
func measureBudget(calls, rate, pairs int) any {
	probe.AllowRaw()
	serve(calls) // warm up
	var process, caller []float64
	nanos := []float64{0}
	taken, took := 0.0, 0.0
	for i := range pairs {
		on, off := second{}, second{}
		for j := range 2 {
			switch {
			case (i+j)%2 == 0:
				off = serve(calls)
			case rate == 0:
				on = serve(calls)
			default:
				var counts *wire.Counts
				on, counts = capture(calls, wire.Start{Rate: rate, Raw: true})
				taken, nanos = taken+float64(counts.Recorded), append(nanos, counts.Nanos)
			}
		}
		process, caller = append(process, on.process-off.process), append(caller, on.caller-off.caller)
		took += on.took
	}
	return map[string]any{"Process": process, "Caller": caller, "Taken": taken / took, "Nanos": median(nanos),
		"Calls": float64(calls*pairs) / took}
}

// many is the number of calls a second of measureArmed.
const many = 200_000

// measureArmed compares seconds with and without a capture of 1,000 calls a second, ABBA. Mode
// nothing captures nothing in either: it shows the noise.
func measureArmed(mode string, rounds int) any {
	probe.AllowRaw()
	var diffs []float64
	taken := 0.0
	for i := range rounds {
		var on, off second
		if i%2 == 1 {
			off = serve(many)
		}
		if mode != "nothing" {
			var counts *wire.Counts
			on, counts = capture(many, wire.Start{Rate: 1000, Raw: mode == "raw", Events: 2048})
			taken += float64(counts.Recorded) / on.took
		} else {
			on = serve(many)
		}
		if i%2 == 0 {
			off = serve(many)
		}
		diffs = append(diffs, on.process-off.process)
	}
	slices.Sort(diffs)
	k := len(diffs) / 5 // the third from each end of 12 to 15 values
	return map[string]float64{"Share": median(diffs), "Low": diffs[k], "High": diffs[len(diffs)-1-k],
		"Taken": taken / float64(rounds)}
}
