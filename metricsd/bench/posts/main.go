// Posts makes the tables of Datadog's posts on metrics again: the old way and the new one beside
// each other, in one run.
//
//	go run . TABLE [-json] [-turns 15] ...
//
// All ways of a row take turns, in slices of processor time, so that the machine's other load
// falls on all alike. A figure is the median of the turns. A ratio is the median of the turns'
// ratios with its interval of 95 %, by drawing turns anew. The first way of each row is measured
// twice: the row "the same again" shows what the measurement itself makes of no difference.
//
// The module is outside of go.work: it compares with libraries that the service has no use for.
// With the tag clibs the table of decompression has zlib, libdeflate and zstd in C too; they need
// Debian's zlib1g-dev, libdeflate-dev and libzstd-dev.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
)

// A command makes one table.
type command struct {
	name, doc string
	run       func(o *options, args []string) error
}

var commands = []command{
	{"service", "a benchmark of the service at two revisions, processor time for an operation", service},
	{"keys", "keys of contexts: sorting, the Agent's set, metricsd's", keys},
	{"maps", "keys of 128 and of 64 bits in Go's map", maps},
	{"hashes", "hash functions: time, collisions, avalanche", hashes},
	{"decompress", "zlib and zstd, in Go and in C", decompress},
	{"intake", "the intake by names and by numbers, points and messages", intake},
	{"trees", "sets of names: map, radix tree, Patricia tree, history", trees},
	{"aes", "Go's map with and without AES instructions", aes},
	{"tags", "ways to see that a tag has its form", tags},
}

// options are what all commands have in common.
type options struct {
	flags *flag.FlagSet
	json  bool
	turns int
	slice float64 // milliseconds
	out   io.Writer
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "posts:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return usage(out)
	}
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == args[0] })
	if i < 0 {
		usage(out)
		return fmt.Errorf("no table %q; the tables are above", args[0])
	}
	o := &options{flags: flag.NewFlagSet(args[0], flag.ContinueOnError), out: out}
	o.flags.BoolVar(&o.json, "json", false, "print JSON instead of a table")
	o.flags.IntVar(&o.turns, "turns", 15, "how often each way is measured")
	o.flags.Float64Var(&o.slice, "slice", 4, "milliseconds of processor time that a way gets in a turn")
	return commands[i].run(o, args[1:])
}

func usage(out io.Writer) error {
	for _, c := range commands {
		fmt.Fprintf(out, "  %-12s %s\n", c.name, c.doc)
	}
	return nil
}
