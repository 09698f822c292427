// Metricsd receives DogStatsD metrics, aggregates them and hands them on.
//
//	metricsd all     agent and intake in one process, with everything embedded
//	metricsd agent   receive, aggregate, show to Prometheus, send to Datadog's API
//	metricsd intake  take what agents send, know every metric, host, tag and app
//	metricsd parse   say what a datagram means, or where it is wrong
//	metricsd load    send traffic of a known shape
//	metricsd health  ask a running metricsd how it is
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/beagle-go/beagle/metricsd/config"
)

// command is one verb.
type command struct {
	name, summary string
	run           func(args []string, streams streams) error
}

// streams are a command's connection to the world.
type streams struct {
	in       io.Reader
	out, err io.Writer
	environ  []string
}

var commands = []command{
	{"all", "run agent and intake in one process, with queue and index embedded, and a page to look at", runAll},
	{"agent", "receive DogStatsD over UDP and Unix sockets, aggregate, show the result to Prometheus or send it on",
		runAgent},
	{"intake", "take series from agents, keep track of every metric, host, tag and app, complete and rank them",
		runIntake},
	{"parse", "read datagrams, write one JSON object a message, or the error and its place", runParse},
	{"load", "send traffic of a known shape", runLoad},
	{"health", "ask a running metricsd how it is", runHealth},
}

func main() {
	os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr, os.Environ()}))
}

// run returns the exit code: 0, 1 for a failure, 2 for bad usage.
func run(args []string, s streams) int {
	if len(args) == 0 {
		usage(s.err)
		return 2
	}
	if slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		usage(s.out)
		return 0
	}
	for _, c := range commands {
		if c.name == args[0] {
			return report(c.run(args[1:], s), s.err)
		}
	}
	fmt.Fprintf(s.err, "metricsd: %q is not a command\n\n", args[0])
	usage(s.err)
	return 2
}

func report(err error, w io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintln(w, "metricsd:", err)
	if bad := new(config.UsageError); errors.As(err, &bad) {
		return 2
	}
	return 1
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: metricsd <command> [flags]; metricsd <command> -h lists the flags")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-6s %s\n", c.name, c.summary)
	}
}
