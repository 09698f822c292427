//go:build linux

// Command uprobe measures what a capture by uprobes costs the process that is captured: seconds
// with it and without, ABBA, of a process that calls a function at a given rate.
//
//	go build -o uprobe ./bench/uprobe && ./uprobe    # as root: about ten minutes
//	./uprobe -only turns                              # some rows
//	./uprobe -only budget -pairs 10                   # what the worst second costs: ten minutes
//	./uprobe -pairs 2                                 # to see that it works
//
// The program starts itself as the service. It needs types, so `go run`, which leaves them out,
// will not do. The first rows compare seconds without a capture: what they show is noise.
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/special"
	"github.com/beagle-go/beagle/internal/uprobe"
	"github.com/beagle-go/beagle/probe/wire"
)

func main() {
	pairs := flag.Int("pairs", 16, "`number` of pairs of seconds for each row")
	only := flag.String("only", "", "measure rows whose name has this `text`")
	flag.Parse()
	if len(flag.Args()) > 0 {
		service(flag.Arg(0), flag.Arg(1))
		return
	}
	if err := run(*pairs, *only); err != nil {
		fmt.Fprintln(os.Stderr, "uprobe:", err)
		os.Exit(1)
	}
}

// A row is one measurement.
type row struct {
	name     string
	function string
	rate     int // calls a second
	start    *wire.Start
	settle   int // seconds of a capture before measuring begins
	long     int // seconds that are measured
}

func rows() []row {
	at := func(rate int) *wire.Start { return &wire.Start{Rate: rate, Raw: true} }
	return []row{
		{"nothing, 1,000 calls/s", "framed", 1000, nil, 0, 1},
		{"nothing, 10,000 calls/s", "framed", 10_000, nil, 0, 1},
		{"1,000 calls/s, 10 recorded", "framed", 1000, at(10), 0, 1},
		{"5,000 calls/s, 10 recorded", "framed", 5000, at(10), 0, 1},
		{"10,000 calls/s, 10 recorded", "framed", 10_000, at(10), 0, 1},
		{"5,000 calls/s, 1,000 recorded", "framed", 5000, at(1000), 0, 1},
		{"no frame, 300 calls/s, 10 recorded", "leaf", 300, at(10), 0, 1},
		{"results too, 300 calls/s, 300 recorded", "framed", 300,
			&wire.Start{Rate: 1000, Raw: true, Results: true}, 0, 1},
		{"nothing, 100,000 calls/s", "framed", 100_000, nil, 0, 5},
		{"30,000 calls/s in turns, 10 recorded", "framed", 30_000, at(10), 3, 5},
		{"100,000 calls/s in turns, 10 recorded", "framed", 100_000, at(10), 3, 5},
		// From the first second on.
		{"budget, nothing, 1,000 calls/s", "framed", 1000, nil, 0, 3},
		{"budget, nothing, 100,000 calls/s", "framed", 100_000, nil, 0, 3},
		{"budget, 100 calls/s", "framed", 100, at(10), 0, 3},
		{"budget, 1,000 calls/s", "framed", 1000, at(10), 0, 3},
		{"budget, 10,000 calls/s", "framed", 10_000, at(10), 0, 3},
		{"budget, 20,000 calls/s", "framed", 20_000, at(10), 0, 3},
		{"budget, 50,000 calls/s", "framed", 50_000, at(10), 0, 3},
		{"budget, 100,000 calls/s", "framed", 100_000, at(10), 0, 3},
	}
}

func run(pairs int, only string) error {
	cost, err := uprobe.Measure()
	if err != nil {
		return err
	}
	fmt.Printf("a hit, one after the other: %v where the kernel emulates the instruction, %v where it steps over it\n",
		cost.Emulated, cost.Stepped)
	for _, r := range rows() {
		if !strings.Contains(r.name, only) {
			continue
		}
		if err := measure(r, pairs, cost); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

// measure compares seconds with and without a capture.
func measure(r row, pairs int, cost uprobe.Cost) error {
	l, err := newLab(r, cost)
	if err != nil {
		return err
	}
	defer l.close()
	if _, err := l.measureSecond(false); err != nil { // warm up
		return err
	}
	l.shares = [2][]float64{}
	var differences []float64
	for i := range pairs {
		var share [2]float64 // without, with
		for j := range 2 {
			which := (i + j) % 2
			if share[which], err = l.measureSecond(which == 1); err != nil {
				return err
			}
		}
		differences = append(differences, share[1]-share[0])
	}
	low, high := interval(differences)
	fmt.Printf("%-40s %+.3f %% of a core (95 %%: %+.3f to %+.3f)", r.name, median(differences), low, high)
	usual := median(l.shares[0])
	fmt.Printf("; the worst of %d seconds without it %+.3f", len(l.shares[0]), slices.Max(l.shares[0])-usual)
	if r.start != nil {
		fmt.Printf("; of %d with it %+.3f", len(l.shares[1]), slices.Max(l.shares[1])-usual)
		recorded := float64(l.events) / float64(pairs*(r.settle+r.long))
		computed := (l.hit*l.seen*float64(r.rate) + l.copying*recorded) / 1e7
		if l.turns {
			fmt.Printf("; in turns, %.1f %% of the calls", 100*l.seen)
		}
		fmt.Printf("; computed with %.3f; %.0f recorded/s, %.1f µs each; beagle-uprobe itself %.2f; attached and "+
			"looked in %v, detached in %v", computed, recorded, l.copying/1000, median(l.own),
			time.Duration(median(l.attach)).Round(time.Millisecond),
			time.Duration(median(l.detach)).Round(time.Millisecond))
	}
	fmt.Println()
	return nil
}

// median returns the middle value, or the mean of the two in the middle.
func median(v []float64) float64 {
	slices.Sort(v)
	return special.Quantile(v, 0.5)
}

// interval returns an interval of 95 % for a median: the values whose ranks lie 1.96 standard
// errors of a fair coin from the middle (Conover, Practical Nonparametric Statistics, 3.2). With
// fewer than eight values it is their range.
func interval(v []float64) (low, high float64) {
	slices.Sort(v)
	n := len(v)
	i := max(0, n/2-1-int(math.Ceil(0.98*math.Sqrt(float64(n)))))
	return v[i], v[n-1-i]
}
