//go:build unix

// Command gate is what bench builds and runs.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/beagle-go/beagle/probe"
	"github.com/beagle-go/beagle/probe/wire"
)

type args struct {
	Key  string
	Tags []string
}

type results struct{ R0 uint32 }

var site probe.Site

func init() { probe.Register[args, results](&site, "bench.Hash", "key", "tags") }

// plain takes about five nanoseconds. It has no loop, whose place in a cache line would change its
// time more than the gate does.
//
//go:noinline
func plain(key string, tags []string) uint32 {
	h := uint32(2166136261) + uint32(len(tags))
	h = (h ^ uint32(len(key))) * 16777619
	h = (h ^ h>>15) * 2246822519
	h = (h ^ h>>13) * 3266489917
	h = (h ^ h>>16) * 668265263
	h = (h ^ h>>15) * 374761393
	h = (h ^ h>>14) * 2654435761
	h = (h ^ h>>13) * 2246822519
	h = (h ^ h>>16) * 16777619
	h = (h ^ h>>15) * 2246822519
	h = (h ^ h>>13) * 3266489917
	h = (h ^ h>>16) * 668265263
	h = (h ^ h>>15) * 374761393
	h = (h ^ h>>14) * 2654435761
	h = (h ^ h>>13) * 2246822519
	h = (h ^ h>>12) * 3266489917
	return h ^ h>>16
}

// again is plain a second time: what it seems to cost more is noise and the luck of the layout.
//
//go:noinline
func again(key string, tags []string) uint32 {
	h := uint32(2166136261) + uint32(len(tags))
	h = (h ^ uint32(len(key))) * 16777619
	h = (h ^ h>>15) * 2246822519
	h = (h ^ h>>13) * 3266489917
	h = (h ^ h>>16) * 668265263
	h = (h ^ h>>15) * 374761393
	h = (h ^ h>>14) * 2654435761
	h = (h ^ h>>13) * 2246822519
	h = (h ^ h>>16) * 16777619
	h = (h ^ h>>15) * 2246822519
	h = (h ^ h>>13) * 3266489917
	h = (h ^ h>>16) * 668265263
	h = (h ^ h>>15) * 374761393
	h = (h ^ h>>14) * 2654435761
	h = (h ^ h>>13) * 2246822519
	h = (h ^ h>>12) * 3266489917
	return h ^ h>>16
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
	h = (h ^ h>>15) * 2246822519
	h = (h ^ h>>13) * 3266489917
	h = (h ^ h>>16) * 668265263
	h = (h ^ h>>15) * 374761393
	h = (h ^ h>>14) * 2654435761
	h = (h ^ h>>13) * 2246822519
	h = (h ^ h>>16) * 16777619
	h = (h ^ h>>15) * 2246822519
	h = (h ^ h>>13) * 3266489917
	h = (h ^ h>>16) * 668265263
	h = (h ^ h>>15) * 374761393
	h = (h ^ h>>14) * 2654435761
	h = (h ^ h>>13) * 2246822519
	h = (h ^ h>>12) * 3266489917
	return h ^ h>>16
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
	if os.Args[1] == "off" {
		out = measureOff()
	} else {
		rounds, _ := strconv.Atoi(os.Args[2])
		out = measureArmed(os.Args[1], rounds)
	}
	json.NewEncoder(os.Stdout).Encode(out)
}

// slice times n calls. The loops are written out so that the calls are direct.
func slice(which, n int) float64 {
	begin := time.Now()
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
	return float64(time.Since(begin).Nanoseconds()) / float64(n)
}

// measureOff compares the functions in slices of about 100 microseconds, ABBA.
func measureOff() any {
	const n, pairs = 10_000, 1000
	var base []float64
	add := [3][]float64{}
	for i := range pairs {
		for _, which := range []int{1, 2} {
			first, second := 0, which
			if i%2 == 1 {
				first, second = which, 0
			}
			x, y := slice(first, n), slice(second, n)
			if i%2 == 1 {
				x, y = y, x
			}
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

const token = "0123456789abcdef0123456789abcdef"

// do carries a request out as a controller's would be.
func do(q wire.Request) wire.Reply {
	q.Token = token
	b, _ := json.Marshal(q)
	var r wire.Reply
	if err := json.NewDecoder(bytes.NewReader(probe.Serve(token, b))).Decode(&r); err != nil || r.Error != "" {
		fmt.Fprintln(os.Stderr, "gate:", err, r.Error)
		os.Exit(1)
	}
	return r
}

// processor is the processor time of this process so far, in seconds.
func processor() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// serve is a service that gets 200,000 calls a second in 200 bursts, for a second. It returns the
// share of a core that the process used, and the seconds.
func serve() (share, took float64) {
	begin, used := time.Now(), processor()
	for range 200 {
		for range 1000 {
			Sink += gated(key, tags)
		}
		time.Sleep(5 * time.Millisecond)
	}
	took = time.Since(begin).Seconds()
	return 100 * (processor() - used) / took, took
}

// measureArmed compares seconds with and without a capture of 1,000 calls a second, ABBA. Mode
// nothing captures nothing in either: it shows the noise.
func measureArmed(mode string, rounds int) any {
	probe.AllowRaw()
	var diffs []float64
	taken := 0.0
	for i := range rounds {
		var on, off, took float64
		if i%2 == 1 {
			off, _ = serve()
		}
		if mode != "nothing" {
			r := do(wire.Request{Verb: wire.VerbStart, Start: &wire.Start{Sites: []string{"*"}, Rate: 1000,
				Raw: mode == "raw", Events: 2048}})
			on, took = serve()
			counts := do(wire.Request{Verb: wire.VerbBeat, Lease: r.Lease}).Status.Sites[0].Counts
			taken += float64(counts.Recorded) / took
			do(wire.Request{Verb: wire.VerbPull})
			do(wire.Request{Verb: wire.VerbStop})
		} else {
			on, _ = serve()
		}
		if i%2 == 0 {
			off, _ = serve()
		}
		diffs = append(diffs, on-off)
	}
	slices.Sort(diffs)
	k := len(diffs) / 5 // the third from each end of 12 to 15 values
	return map[string]float64{"Share": median(diffs), "Low": diffs[k], "High": diffs[len(diffs)-1-k],
		"Taken": taken / float64(rounds)}
}
