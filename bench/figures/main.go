// Figures measures what the documentation claims of Beagle, with the beagle
// binary as a user has it:
//
//	go run ./bench/figures all
//
// Every subcommand prints a table in Markdown and ends with status 1 when a
// goal is missed. With --write the tables also replace the marked sections of
// docs/measurements.md. Measure on a quiet machine: anything else that runs
// lengthens the costs and widens the intervals.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/sandbox"
	hostile "github.com/beagle-go/beagle/internal/sandbox/attack"
)

// A figure is one thing that is measured. Its sections share the lab's runs.
type figure struct {
	name, description string
	minutes           int // on two quiet processors, about
	measure           func(context.Context, *lab) (*section, error)
}

// A section is the result of a figure.
type section struct {
	text   string   // Markdown
	noGoal bool     // it has no goal
	missed []string // goals
}

func (s *section) miss(format string, args ...any) {
	s.missed = append(s.missed, fmt.Sprintf(format, args...))
}

// figures are in the order in which they can share runs.
var figures = []figure{
	{"build", "beagle compiled from an empty cache", 3, firstBuild},
	{"example", "speedups on the four functions of examples/tags", 3, example},
	{"cost", "start to the first candidate, and the split of a candidate's cost", 12, cost},
	{"strategies", "islands, best-of-n and rules-only-greedy compared", 4, strategies},
	{"suite", "the suite: three strategies beside the experts", 180, ofSuite},
	{"models", "rules, a scripted model, and both, on the suite", 25, models},
	{"itself", "functions against themselves and at their best", 4, judgeItself},
	{"noise", "intervals of the measurement when there is nothing to measure", 0, noise},
	{"aa", "functions against themselves: how often a win is claimed", 75, aa},
	{"power", "versions with a true gain: how often it is found", 60, power},
	{"crash", "kill -9 and resume", 4, crash},
	{"temporal", "many machines: orchestration on Temporal, kill -9 of worker and server, parity", 25, temporal},
	{"cheats", "every cheat of the catalogue", 4, cheats},
	{"mutants", "wrong versions of the suite's functions, by operator and from history", 10, judgeMutants},
	{"hotspots", "hot spots of metricsd under load: a short profile and one ten times as long", 30, hotspotProfiles},
	{"campaign", "a benchmark like production and a small campaign on metricsd under load", 40, campaigns},
	{"attacks", "what each sandbox stops", 1, attackTable},
	{"rollout", "simulated rollouts of versions whose truth is known", 3, rollouts},
	{"watch", "simulated days of profiles with changes put in", 1, replayWatch},
}

// simulated are the figures that run no binary.
var simulated = []string{"rollout", "watch"}

func main() {
	sandbox.Main()
	hostile.Main()
	os.Exit(run())
}

// opts are the user's options.
type opts struct {
	intoDocs     bool          // into docs/measurements.md too
	quick        bool          // fewer seeds, trials and candidates
	trialsWanted int           // of aa and power, seeds of suite; 0 is as many as the goals ask for
	rivals       int           // seeds of the suite's other strategies; 0 is as many
	seed         uint64        // of hotspots: of the choices of short profiles
	scenario     string        // of rollout: part of the names of those to simulate
	timeLimit    time.Duration // aa, power, suite and models begin nothing new after this time; 0 is no limit
}

// run makes the chosen figures and returns the exit status.
func run() int {
	// Read the flags and the names of figures.
	var o opts
	flag.BoolVar(&o.intoDocs, "write", false,
		"also write the tables into docs/measurements.md, with plots, and the rates into internal/bench/rates.json")
	flag.BoolVar(&o.quick, "quick", false, "fewer seeds, trials and candidates: to see that all works")
	flag.IntVar(&o.trialsWanted, "trials", 0,
		"trials of aa and of each gain of power, seeds of suite; those of earlier calls count")
	flag.IntVar(&o.rivals, "rivals", 0,
		"seeds of the strategies that suite compares the default one with; 0 is as many as it has")
	flag.Uint64Var(&o.seed, "seed", 1, "hotspots: seed by which windows become short profiles")
	flag.StringVar(&o.scenario, "scenario", "", "rollout: simulate only what has this `text` in its name")
	flag.DurationVar(&o.timeLimit, "for", 0,
		"aa, power, suite and models begin nothing new after so long; the next call goes on")
	flag.Usage = usage
	chosen := choose(names(os.Args[1:]))
	if len(chosen) == 0 {
		usage()
		return 2
	}
	// Open the lab, without a binary if no figure runs one.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	open := openLab
	if !slices.ContainsFunc(chosen, func(f figure) bool { return !slices.Contains(simulated, f.name) }) {
		open = emptyLab
	}
	l, err := open(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		return 1
	}
	defer l.close()
	l.opts = o
	// Measure.
	fmt.Fprintln(os.Stderr, "figures:", estimate(chosen, o.quick))
	status := 0
	for _, f := range chosen {
		if ctx.Err() != nil || !l.show(ctx, f, o.intoDocs) {
			status = 1
		}
	}
	return status
}

// names parses flags wherever they stand and returns the other arguments.
func names(args []string) []string {
	var out []string
	for len(args) > 0 {
		flag.CommandLine.Parse(args) // ends the program on an error
		if args = flag.Args(); len(args) > 0 {
			out, args = append(out, args[0]), args[1:]
		}
	}
	return out
}

// estimate returns how long a run may take.
func estimate(chosen []figure, quick bool) string {
	minutes := 0
	for _, f := range chosen {
		minutes += f.minutes
	}
	if quick {
		return fmt.Sprintf("%d figures, quick: a fraction of %d minutes", len(chosen), minutes)
	}
	return fmt.Sprintf("%d figures, about %v on two quiet processors", len(chosen), time.Duration(minutes)*time.Minute)
}

// show measures a figure and prints it; false when a goal was missed.
func (l *lab) show(ctx context.Context, f figure, write bool) bool {
	start := time.Now()
	s, err := f.measure(ctx, l)
	if err != nil {
		fmt.Fprintf(os.Stderr, "figures: %s: %v\n", f.name, err)
		return false
	}
	s.text = strings.TrimSpace(strings.TrimSpace(s.text)+"\n\n"+s.verdict()) + "\n"
	fmt.Printf("## %s: %s\n\n%s\n", f.name, f.description, s.text)
	fmt.Fprintf(os.Stderr, "figures: %s took %v\n", f.name, time.Since(start).Round(time.Second))
	if write {
		if err := l.write(f.name, s.text); err != nil {
			fmt.Fprintln(os.Stderr, "figures:", err)
			return false
		}
	}
	return len(s.missed) == 0
}

func (s *section) verdict() string {
	switch {
	case len(s.missed) == 0 && s.noGoal:
		return ""
	case len(s.missed) == 0:
		return "All goals met."
	}
	return "Missed:\n\n- " + strings.Join(s.missed, "\n- ")
}

func choose(names []string) []figure {
	var out []figure
	for _, name := range names {
		n := len(out)
		for _, f := range figures {
			if f.name == name || name == "all" {
				out = append(out, f)
			}
		}
		if len(out) == n {
			return nil
		}
	}
	return out
}

func usage() {
	fmt.Fprint(os.Stderr,
		"usage: go run ./bench/figures [--write] [--quick] [--trials N] [--for D] all | FIGURE...\n\nFigures:\n")
	for _, f := range figures {
		fmt.Fprintf(os.Stderr, "  %-11s %s\n", f.name, f.description)
	}
}
