// Shapes measures the processor time that `metricsd agent` takes for a message, in its fast shape,
// in its plain one (-listen.cache=0), and as it was at another commit.
//
// All servers run at the same time, with GOMAXPROCS=1, and get the same packets in turns, in an
// order that is drawn anew each round, so that the machine's other load falls on all alike. A
// server's processor time is read from its clock in the kernel, before its turn and when it has
// rested after it. A ratio is of one round; shown are the median of the rounds and, in brackets, an
// interval of 95 % for it (bootstrap). Servers that run twice say what a ratio of 1 looks like.
//
//	go run ./bench/shapes -against 433a3ec
//
// builds both commits without a profile and with each one's default.pgo, and measures all.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	against := flag.String("against", "433a3ec", "`commit` to compare with")
	pgo := flag.String("pgo", "off,auto", "how to build: off, auto, or both")
	only := flag.String("rows", "", "names of `rows`, separated by commas; empty for all")
	twice := flag.Bool("twice", true, "run the oldest and the newest server twice, to see what noise is")
	rounds := flag.Int("rounds", 15, "turns of each server")
	turn := flag.Duration("turn", time.Second, "how long a turn is")
	keep := flag.String("binaries", "", "`directory` that keeps what was built, or has it already")
	flag.Parse()
	if err := run(*against, strings.Split(*pgo, ","), *only, *keep, *twice, *rounds, *turn); err != nil {
		log.Fatal("shapes: ", err)
	}
}

// row is a kind of traffic.
type row struct {
	name, network, shape string
	messagesPerSecond    int // 0 is as fast as it goes
}

var rows = []row{
	{"gram", "unixgram", "steady", 0},
	{"gram-wide", "unixgram", "wide", 0},
	{"stream", "unix", "steady", 0},
	{"udp", "udp", "udp", 0},
	{"udp-wide", "udp", "udp-wide", 0},
	{"udp-paced", "udp", "udp", 200_000},
	{"udp-single", "udp", "single", 0},
	{"gram-paced", "unixgram", "steady", 50_000},
	{"random", "unixgram", "random", 0},
}

// run builds the agent with each profile and measures all rows.
func run(commit string, profiles []string, only, keep string, twice bool, rounds int, turn time.Duration) error {
	scratch, err := os.MkdirTemp("", "shapes")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if keep == "" {
		keep = scratch
	}
	var kinds []kind
	for _, pgo := range profiles {
		k, err := build(keep, scratch, commit, pgo, twice)
		if err != nil {
			return err
		}
		kinds = append(kinds, k...)
	}
	for _, r := range rows {
		if only != "" && !strings.Contains(","+only+",", ","+r.name+",") {
			continue
		}
		results, err := measure(r, kinds, scratch, rounds, turn)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		show(r, results)
	}
	return nil
}

// measure runs the servers of all kinds under one kind of traffic.
func measure(r row, kinds []kind, scratch string, rounds int, turn time.Duration) ([]*result, error) {
	packets, err := packetsOf(r)
	if err != nil {
		return nil, err
	}
	// Start the servers.
	var results []*result
	for i, k := range kinds {
		s, err := start(k, r.network, scratch, i)
		if err != nil {
			return nil, err
		}
		defer s.stop()
		results = append(results, &result{kind: k, server: s})
	}
	// Send to each until it knows all lines.
	for _, x := range results {
		if err := x.server.warm(r, packets, turn); err != nil {
			return nil, err
		}
	}
	// Let them take turns, in an order drawn for each round.
	rng := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		for _, i := range rng.Perm(len(results)) {
			sample, err := results[i].server.turn(r, packets, turn)
			if err != nil {
				return nil, err
			}
			results[i].samples = append(results[i].samples, sample)
		}
	}
	// Read their memory.
	for _, x := range results {
		x.memory = x.server.memory()
	}
	return results, nil
}
