// Command facets compares the facets of a sampled capture of metricsd under load with those of a
// full trace: of all calls in the same time, which a changed copy of metricsd writes to files.
//
//	go run ./bench/facets               # about five minutes, and the time of the builds
//	go run ./bench/facets -rounds 1     # to see that it works
//
// For each figure it prints the trace's, the capture's, and where the captures of 95 % of all
// samples of that size would be. About 95 % of the comparisons should be inside.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/command"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/scratch"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/special"
	"github.com/beagle-go/beagle/probe/wire"
)

type options struct {
	rounds, rate, bytes int
	long                time.Duration
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 8, "`number` of captures")
	flag.DurationVar(&o.long, "long", 20*time.Second, "length of a capture")
	flag.IntVar(&o.rate, "rate", 100, "calls a second of each function that are captured")
	flag.IntVar(&o.bytes, "bytes", 300_000, "bytes a second of the traffic")
	flag.Parse()
	command.Main("facets", func(ctx context.Context) error { return run(ctx, o) })
}

func run(ctx context.Context, o options) error {
	root, err := command.Root(ctx)
	if err != nil {
		return err
	}
	dir, err := scratch.New("facets")
	if err != nil {
		return err
	}
	defer dir.Remove()
	// Capture, while the service writes its traces.
	s, err := start(ctx, root, dir.Path, o.bytes)
	if err != nil {
		return err
	}
	var spans []span
	var captures [][]capture.Pulled
	time.Sleep(2 * time.Second) // the first calls of a process are other ones
	for range o.rounds {
		p, when, err := s.capture(ctx, o)
		if err != nil {
			s.stop()
			return err
		}
		captures, spans = append(captures, p), append(spans, when)
	}
	time.Sleep(2 * time.Second) // the last lines are written
	s.stop()
	// Compare the facets of each function.
	sums := map[string]*sum{}
	for _, f := range functions {
		if err := f.compare(ctx, filepath.Join(root, "metricsd"), s.trace, captures, spans, sums); err != nil {
			return fmt.Errorf("%s: %w", f.spec, err)
		}
	}
	return report(sums)
}

// capture captures all functions at once.
func (s *service) capture(ctx context.Context, o options) (all []capture.Pulled, when span, err error) {
	clients, err := capture.New([]string{s.socket}, s.token)
	if err != nil {
		return nil, when, err
	}
	var sites []string
	for _, f := range functions {
		name, _, _ := strings.Cut(strings.TrimPrefix(f.spec, "./"), "[")
		sites = append(sites, name)
	}
	h := &capture.Hold{Long: o.long, Keep: true,
		Start: wire.Start{Sites: sites, Rate: o.rate, Raw: true, Follow: true, Event: 8192, Bytes: 4 << 20},
		Begun: func(context.Context, int) error { when.from = time.Now(); return nil },
		Last:  func(context.Context) { when.to = time.Now() }}
	all, err = h.Run(ctx, clients)
	if err == nil && all[0].Lost != "" {
		err = errors.New(all[0].Lost)
	}
	return all, when, err
}

// A sum counts the comparisons of a facet.
type sum struct {
	all, inside int
	off         float64 // sum of the distances from the trace, in half intervals: its mean is near 0 without a bias
}

// compare prints the comparisons of the first capture, and counts all.
func (f traced) compare(
	ctx context.Context, module, dir string, captures [][]capture.Pulled, spans []span, sums map[string]*sum,
) error {
	// Read the whole truth: the target, and the trace of all its calls.
	u, err := source.Load(ctx, source.Options{Dir: module, Spec: f.spec})
	if err != nil {
		return err
	}
	traces, err := readTraces(filepath.Join(dir, f.fun), u, spans)
	if err != nil {
		return err
	}
	// Compare each capture with the trace of the same time. The first one is printed whole.
	for i, t := range traces {
		r, err := capture.Convert(u, captures[i])
		if err != nil {
			return err
		}
		list, err := compare(u, t, r)
		if err != nil {
			return err
		}
		if i == 0 {
			fmt.Printf("\n`%s`: %d calls captured of %d; left out %d %v\n\n", f.spec, len(r.List), len(t.calls),
				r.Seen.Dropped, r.Seen.Why)
			fmt.Print("| facet | of | trace | capture | sampling allows | inside |\n|---|---|---|---|---|---|\n")
		}
		for _, c := range list {
			if sums[c.facet] == nil {
				sums[c.facet] = &sum{}
			}
			sums[c.facet].add(c)
			if i == 0 {
				fmt.Printf("| %s | %s | %.5g | %.5g | %.5g to %.5g | %s |\n", c.facet, c.of, c.trace, c.capture, c.low,
					c.high, map[bool]string{true: "yes", false: "**no**"}[c.inside()])
			}
		}
	}
	return nil
}

func (s *sum) add(c comparison) {
	s.all++
	if c.inside() {
		s.inside++
	}
	s.off += (c.capture - c.trace) / max(c.high-c.trace, 1e-300)
}

// bounded is the facet that is a lower bound only (docs/capture.md). It is counted by itself.
const bounded = "beside"

// report prints how many comparisons are inside, by facet.
func report(sums map[string]*sum) error {
	fmt.Print("\n| facet | comparisons | inside (95 %) | mean distance, in half intervals |\n|---|---|---|---|\n")
	var all sum
	for _, name := range inorder.Keys(sums) {
		s := sums[name]
		s.print(name)
		if name == bounded {
			continue
		}
		all.all, all.inside, all.off = all.all+s.all, all.inside+s.inside, all.off+s.off
	}
	if high := all.print("all but " + bounded); high < 0.95 {
		return errors.New("fewer than 95 % of the captured facets are within the sampling error of the trace")
	}
	return nil
}

func (s *sum) print(name string) (high float64) {
	n := float64(s.all)
	low, high := special.Wilson(float64(s.inside)/n, n)
	fmt.Printf("| %s | %d | %.1f %% (%.1f to %.1f) | %+.2f |\n", name, s.all, 100*float64(s.inside)/n, 100*low,
		100*min(high, 1), s.off/n)
	return high
}
