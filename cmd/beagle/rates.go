package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/trials"
	"github.com/beagle-go/beagle/internal/report"
)

var ratesCommand = &command{
	name: "rates", args: "",
	short: "measure how often the judge of speed errs, on this machine",
	long: `
Lets the judge of speed decide known cases: functions of several kinds against copies of
themselves, which it must not call faster, and versions that are truly 2 % and 5 % faster,
which it should. In every other round the command puts a load on all processors. A trial
takes up to --measure and the links of 10 to 30 programs.

Trials are kept in the store: the command can be stopped at any moment, and goes on where
it was. When it ends, reports of later runs on this machine carry its rates instead of
those that came with beagle.

Examples:
  beagle rates --trials 20
  beagle rates --trials 200 --for 30m
  beagle rates --trials 0 --json       what is known so far`,
}

func init() { ratesCommand.run = runRates }

// runRates makes trials of the judge on this machine, and prints its error rates.
func runRates(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	d := flow.Defaults()
	o := trials.Options{Measure: d.Measure, MinGain: d.MinGain}
	// Read the command line.
	f := c.flags(std)
	n := f.Int("trials", 20, "trials of a function against itself, earlier ones included")
	gains := f.Int("gains", -1, "trials of each true gain; as many as --trials by default")
	f.DurationVar(&o.For, "for", 0, "time after which no trial begins")
	f.DurationVar(&o.Measure, "measure", o.Measure, "longest trial")
	asJSON := f.Bool("json", false, "print the rates and all trials as one JSON object")
	quiet := f.Bool("quiet", false, "print no progress")
	if _, err := parse(f, args, 0, 0); err != nil {
		return exitUsage, err
	}
	// Check the numbers.
	if *n < 0 || f.given("gains") && *gains < 0 {
		return exitUsage, &beagle.UsageError{
			What:   "--trials or --gains is negative",
			Remedy: "give --trials 20, or --trials 0 for the figures so far; --gains likewise",
		}
	}
	if *gains < 0 {
		*gains = *n
	}
	d.Measure, d.Target = o.Measure, "none"
	if err := d.Validate(); err != nil {
		return exitUsage, err
	}
	o.Trials = map[trials.Truth]int{trials.SameCode: *n, trials.TwoPercent: *gains, trials.FivePercent: *gains}
	if !*quiet {
		o.Log = func(t trials.Done) { fmt.Fprintln(std.err, line(t)) }
	}
	// Run the missing trials, and sum up all trials of this machine.
	s, err := openStore()
	if err != nil {
		return exitNo, err
	}
	done, err := trials.Run(ctx, s, o)
	if err != nil {
		return exitNo, err
	}
	rates := trials.Rates(done)
	if rates == nil {
		return exitUsage, &beagle.UsageError{
			What:   "no trial has been made on this machine",
			Remedy: "make some: beagle rates --trials 20",
		}
	}
	// Keep the rates for the reports of later runs, and print them.
	if err := flow.KeepRates(s, rates); err != nil {
		return exitNo, err
	}
	if *asJSON {
		return exitOK, printJSON(std.out, ratesReport{rates, done})
	}
	printRates(std.out, rates)
	return exitOK, nil
}

// ratesReport is the object that --json prints.
type ratesReport struct {
	Rates  *beagle.ErrorRates `json:"rates"`
	Trials []trials.Done      `json:"trials"`
}

// line returns a trial for people.
func line(t trials.Done) string {
	verdict := "not faster: " + t.Result.Why
	if t.Result.Faster {
		verdict = "faster"
	}
	load := "as it is"
	if t.Loaded {
		load = "loaded"
	}
	wall := time.Duration(t.Wall * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%-7s %-18s %-8s %6s  %s  %s", t.Truth, t.Function, load, wall,
		report.Ratio(t.Result.Train), verdict)
}

// printRates prints how often the judge errs, and where that was measured.
func printRates(w io.Writer, r *beagle.ErrorRates) {
	for _, x := range []struct {
		what string
		rate beagle.Rate
	}{
		{"functions called faster than themselves", r.FalseWins},
		{"true gains of 2 % found", r.FoundTwo},
		{"true gains of 5 % found", r.FoundFive},
	} {
		fmt.Fprintf(w, "%-40s %s\n", x.what, report.Rate(x.rate))
	}
	fmt.Fprintf(w, "\n%s\n", report.RatesWhere(r))
}
