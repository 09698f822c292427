//go:build unix

// Package rig holds what the measuring programs of the probe share: work of a few nanoseconds,
// pairs of slices, a controller's requests, and processor time.
package rig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/beagle-go/beagle/probe"
	"github.com/beagle-go/beagle/probe/wire"
)

// Mix is work that the compiler inlines. It has no loop, whose place in a cache line would change
// its time more than a gate or a switch does.
func Mix(h uint32) uint32 {
	h = (h ^ h>>15) * 2246822519
	h = (h ^ h>>13) * 3266489917
	h = (h ^ h>>16) * 668265263
	h = (h ^ h>>15) * 374761393
	h = (h ^ h>>14) * 2654435761
	return (h ^ h>>13) * 2246822519
}

// End returns the last of a hash, inlined too.
func End(h uint32) uint32 {
	h = (h ^ h>>12) * 3266489917
	return h ^ h>>16
}

// PerCall returns the nanoseconds that one of the n calls in loop takes. The loop belongs to the
// caller, so that its calls are direct.
func PerCall(n int, loop func()) float64 {
	begin := time.Now()
	loop()
	return float64(time.Since(begin).Nanoseconds()) / float64(n)
}

// Pair takes slices x and y one after the other: x first in even rounds, y first in odd ones.
func Pair(round int, x, y func() float64) (forX, forY float64) {
	if round%2 == 1 {
		forY = y()
		return x(), forY
	}
	forX = x()
	return forX, y()
}

// Processor returns the processor time so far, in seconds. who is syscall.RUSAGE_SELF, or a
// thread's number where the system has one.
func Processor(who int) float64 {
	var u syscall.Rusage
	syscall.Getrusage(who, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

const token = "0123456789abcdef0123456789abcdef"

// Do carries a request out as a controller's would be. A refused request ends the process.
func Do(q wire.Request) wire.Reply {
	q.Token = token
	b, _ := json.Marshal(q)
	var r wire.Reply
	if err := json.NewDecoder(bytes.NewReader(probe.Serve(token, b))).Decode(&r); err != nil || r.Error != "" {
		fmt.Fprintf(os.Stderr, "%s: request %s: %v %s\n", filepath.Base(os.Args[0]), q.Verb, err, r.Error)
		os.Exit(1)
	}
	return r
}
