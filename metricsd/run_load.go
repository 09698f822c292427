package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/beagle-go/beagle/metricsd/config"
	"github.com/beagle-go/beagle/metricsd/load"
)

// runLoad sends traffic of a shape and reports it.
func runLoad(args []string, s streams) error {
	set := flag.NewFlagSet("metricsd load", flag.ContinueOnError)
	set.Usage = func() { loadUsage(set, s.out) }
	name := set.String("shape", "steady", "`name` of the traffic's shape")
	network := set.String("network", "udp", "udp, unixgram or unix")
	address := set.String("address", "127.0.0.1:8125", "where to send")
	duration := set.Duration("for", 10*time.Second, "how long")
	rate := set.Int("rate", -1, "bytes a second over all senders, 0 as fast as it goes; -1 keeps the shape's")
	seed := set.Uint64("seed", 1, "the same seed sends the same lines")
	if err := config.ParseFlags(set, args, s.out); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return &config.UsageError{Command: set.Name(),
			What: fmt.Sprintf("argument %q: it takes flags only", set.Arg(0))}
	}
	shape, err := load.Named(*name)
	if err != nil {
		return err
	}
	// A shape has a rate of its own; 0 is a rate too, without a bound, so the flag's default is -1.
	if *rate >= 0 {
		shape.BytesPerSecond = *rate
	}
	// An interrupt ends the load as the end of its time does: the report still comes.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *duration)
	defer cancel()
	report, err := load.Send(ctx, shape, *network, *address, *seed)
	if err != nil {
		return err
	}
	return printReport(s.out, report)
}

func printReport(w io.Writer, r load.Report) error {
	seconds := r.Elapsed.Seconds()
	_, err := fmt.Fprintf(w,
		"messages %d\npackets %d\nbytes %d\ncounts %d\nmalformed %d\nnew_names %d\nfailed_packets %d\n"+
			"seconds %.3f\nmessages_per_second %.0f\n",
		r.Messages, r.Packets, r.Bytes, r.Counts, r.Malformed, r.NewNames, r.Failed, seconds,
		float64(r.Messages)/seconds)
	return err
}

func loadUsage(set *flag.FlagSet, w io.Writer) {
	fmt.Fprintln(w, "usage: metricsd load [flags]")
	set.PrintDefaults()
	fmt.Fprintln(w, "shapes:")
	for _, shape := range load.Shapes {
		fmt.Fprintf(w, "  %-10s %s\n", shape.Name, shape.Doc)
	}
}
