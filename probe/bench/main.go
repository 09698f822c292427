// Command bench measures what a probe costs: per call while it is off, over several link layouts,
// and as a share of a core while it captures a thousand calls a second.
//
//	go run ./bench                # in the directory of module probe: about three minutes
//	go run ./bench -layouts 2     # to see that it works
//	go run ./bench -budget 12     # a capture's cost at 100 to 100,000 calls a second: six minutes
//
// It builds package gate once per layout. Each program compares functions in pairs of short slices
// in one process, so that other work on the machine hits both sides.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

func main() {
	layouts := flag.Int("layouts", 12, "`number` of link layouts")
	rounds := flag.Int("rounds", 12, "pairs of slices of the armed measurement; 0 leaves it out")
	pairs := flag.Int("budget", 0, "pairs of seconds for each rate of calls; nothing else is measured")
	flag.Parse()
	if err := run(*layouts, *rounds, *pairs); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// An off holds the result of one layout: nanoseconds a call of the plain function, and the added
// time of the others.
type off struct{ Base, Again, Gate float64 }

// An armed is the cost of a capture in percent of a core, and how many calls it captured a second.
type armed struct{ Share, Low, High, Taken float64 }

// run measures the gate in programs of several layouts and prints the medians.
func run(layouts, rounds, pairs int) error {
	dir, err := os.MkdirTemp("", "beagle-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "gate")
	if pairs > 0 {
		return budget(binary, pairs)
	}
	// Measure the gate that is off, in programs of several layouts.
	var base, again, gate []float64
	for seed := range layouts {
		if err := build(binary, seed+1); err != nil {
			return err
		}
		var r off
		if err := ask(binary, &r, "off"); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "layout %d: %+.2f\n", seed+1, r)
		base, again, gate = append(base, r.Base), append(again, r.Again), append(gate, r.Gate)
	}
	// Print the medians.
	fmt.Printf("off, %d layouts, ns a call: median (95 %%) [smallest to largest]\n", layouts)
	show("the function without a gate", base)
	show("a second copy of it: adds", again)
	show("with a gate: adds", gate)
	if rounds == 0 {
		return nil
	}
	// Measure the capture.
	fmt.Printf("armed, %d pairs of slices, percent of a core: median (95 %%)\n", rounds)
	for _, mode := range []string{"nothing", "shapes", "raw"} {
		var r armed
		if err := ask(binary, &r, mode, fmt.Sprint(rounds)); err != nil {
			return err
		}
		fmt.Printf("  %-28s %6.3f (%.3f to %.3f), %4.0f calls captured a second\n", mode, r.Share, r.Low, r.High,
			r.Taken)
	}
	return nil
}

// build builds package gate in a link layout.
func build(binary string, seed int) error {
	build := exec.Command("go", "build", "-ldflags=-s -w -randlayout="+fmt.Sprint(seed), "-o", binary, "./bench/gate")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("run it in the directory of module probe: %w", err)
	}
	return nil
}

// A cost holds what seconds with a capture took more than those without, in percent of a core.
type cost struct {
	Process, Caller []float64
	Taken           float64 // calls a second that were captured
	Nanos           float64 // that a captured call took to record, by the probe's own clock
	Calls           float64 // calls a second: fewer than wanted on a busy machine
}

// budget measures what a capture costs at several rates of calls, and how far the worst is from
// what a capture may cost.
func budget(binary string, pairs int) error {
	if err := build(binary, 1); err != nil {
		return err
	}
	fmt.Printf("%d pairs of seconds, percent of a core: median (95 %%) [largest]\n", pairs)
	for _, rate := range []int{0, 10, 1000} {
		for _, calls := range []int{100, 1000, 10_000, 100_000} {
			var c cost
			if err := ask(binary, &c, "budget", fmt.Sprint(calls), fmt.Sprint(rate), fmt.Sprint(pairs)); err != nil {
				return err
			}
			fmt.Printf("%.0f calls a second, a capture of %d: %.0f captured, %.0f ns each\n", c.Calls, rate, c.Taken,
				c.Nanos)
			show("the process", c.Process)
			show("the caller", c.Caller)
		}
	}
	return nil
}

func ask(binary string, into any, args ...string) error {
	cmd := exec.Command(binary, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	return json.Unmarshal(out, into)
}

// show prints the median of the layouts with the interval that the order of the values gives.
func show(what string, v []float64) {
	slices.Sort(v)
	low, high := 0, len(v)-1
	if len(v) >= 12 { // the third from each end: 96 % for 12 values
		low, high = 2, len(v)-3
	}
	median := (v[(len(v)-1)/2] + v[len(v)/2]) / 2
	fmt.Printf("  %-28s %6.2f (%.2f to %.2f) [%.2f to %.2f]\n", what, median, v[low], v[high], v[0], v[len(v)-1])
}
