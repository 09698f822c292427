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
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/sandbox"
	hostile "github.com/beagle-go/beagle/internal/sandbox/attack"
)

// A figure is one thing that is measured. Its sections share the lab's runs.
type figure struct {
	name, about string
	measure     func(context.Context, *lab) (*section, error)
}

// A section is a figure's result.
type section struct {
	text   string   // Markdown
	noGoal bool     // it only informs
	missed []string // goals
}

func (s *section) miss(format string, args ...any) {
	s.missed = append(s.missed, fmt.Sprintf(format, args...))
}

// figures are in the order in which they can share runs.
var figures = []figure{
	{"example", "speedups on the four functions of examples/tags", example},
	{"cost", "start to the first candidate, and the split of a candidate's cost", cost},
	{"strategies", "islands, best-of-n and rules-only-greedy compared", strategies},
	{"suite", "the suite: three strategies beside the experts", ofSuite},
	{"itself", "functions against themselves and at their best", itself},
	{"noise", "intervals of the measurement when there is nothing to measure", noise},
	{"crash", "kill -9 and resume", crash},
	{"cheats", "every cheat of the catalogue", cheats},
	{"mutants", "wrong versions of the suite's functions, by operator and from history", mutantTrials},
	{"attacks", "what each sandbox stops", attackTable},
}

func main() {
	sandbox.Main()
	hostile.Main()
	os.Exit(run())
}

func run() int {
	write := flag.Bool("write", false, "also write the tables into docs/measurements.md")
	quick := flag.Bool("quick", false, "one seed where there would be several")
	flag.Usage = usage
	flag.Parse()
	chosen := choose(flag.Args())
	if len(chosen) == 0 {
		usage()
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	l, err := openLab(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		return 1
	}
	defer l.close()
	l.quick = *quick
	status := 0
	for _, f := range chosen {
		if !l.show(ctx, f, *write) {
			status = 1
		}
	}
	return status
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
	fmt.Printf("## %s: %s\n\n%s\n", f.name, f.about, s.text)
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
	fmt.Fprint(os.Stderr, "usage: go run ./bench/figures [--write] [--quick] all | FIGURE...\n\nFigures:\n")
	for _, f := range figures {
		fmt.Fprintf(os.Stderr, "  %-11s %s\n", f.name, f.about)
	}
}
