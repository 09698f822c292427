//go:build linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// framed begins with PUSH RBP after the check of the stack, as nearly all functions do.
//
//go:noinline
func framed(key string, tags []string) int {
	return len(strings.ToLower(key)) + len(strings.Join(tags, ","))
}

// leaf has no frame.
//
//go:noinline
func leaf(key string, tags []string) int { return len(key)*31 + len(tags) }

// Sink keeps the results alive.
var Sink int

var (
	key  = string([]byte("Tags-7-Host"))
	tags = []string{"env:prod", "host:a", "service:x", "version:1", "region:eu", "team:y", "shard:3", "az:b"}
)

// beat is the time between bursts of calls.
const beat = 10 * time.Millisecond

// service calls a function at a given rate for a second each time a line arrives, and answers with
// the processor time of that second.
func service(function, calls string) {
	rate, err := strconv.Atoi(calls)
	if err != nil || rate < 100 {
		fmt.Fprintln(os.Stderr, "uprobe: the service is started by the benchmark")
		os.Exit(2)
	}
	burst := rate / int(time.Second/beat)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		from := processor()
		t := time.NewTicker(beat)
		for range int(time.Second / beat) {
			<-t.C
			for range burst {
				if function == "leaf" {
					Sink += leaf(key, tags)
				} else {
					Sink += framed(key, tags)
				}
			}
		}
		t.Stop()
		fmt.Println(int64(processor() - from))
	}
}

// processor returns the processor time of this process.
func processor() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
