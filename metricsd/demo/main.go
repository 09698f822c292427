// Demo has Beagle make metricsd faster, without a person: it drives the real beagle commands from a
// profile to the ledger, and writes one page about what happened. docs/demo.md explains the steps.
//
//	go run ./demo            in metricsd's directory; make demo does it at the root
//	go run ./demo -quick     the same in a few minutes, with budgets that prove nothing
//
// Each step writes result.json into a directory of its own. A second run goes on where the first
// ended, also after Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

// run returns the exit status: 0 done, 1 a step failed, 2 bad usage, 130 interrupted.
func run(ctx context.Context, args []string) int {
	d := &demo{set: full, steps: chain, say: func(text string) { fmt.Fprintln(os.Stderr, text) }}
	f := flag.NewFlagSet("demo", flag.ContinueOnError)
	root := f.String("root", "..", "root of Beagle's repository")
	out := f.String("out", "", "directory of the results (default: demo-out at the root)")
	quick := f.Bool("quick", false, "budgets of seconds: shows that the steps work, and proves nothing")
	until := f.String("until", "", "stop after this `step`")
	f.StringVar(&d.found, "found", "", "keep promoted patches and their evidence in this directory")
	f.StringVar(&d.set.Rules, "rules", d.set.Rules, "rewrites that the campaign may use; empty for the default set")
	f.IntVar(&d.set.Cache, "cache", 0, "-listen.cache of the service: with 0 it parses every `line`, known or not")
	f.DurationVar(&d.within, "within", 29*time.Minute,
		"time for all steps together: searches and rollouts end early for it")
	processor := f.Duration("processor", 0, "processor time of the campaign (default 18m)")
	if err := f.Parse(args); err != nil {
		return 2
	}
	// Quick replaces all settings except those that flags have set.
	if *quick {
		rules, cache := d.set.Rules, d.set.Cache
		d.set = tiny
		d.set.Rules, d.set.Cache = rules, cache
	}
	if *processor > 0 {
		d.set.Processor = processor.String()
	}
	if err := d.place(*root, *out); err != nil {
		d.say("demo: " + err.Error())
		return 2
	}
	// Write the page even if a step failed: it shows how far the steps came, and why no further.
	err := d.carry(ctx, *until)
	if page, perr := d.writePage(); perr != nil {
		d.say("demo: the page: " + perr.Error())
	} else {
		d.say("page: " + page)
	}
	// An interrupt is no failure, and has the status that shells give it.
	switch {
	case ctx.Err() != nil:
		d.say("stopped; the same command goes on")
		return 130
	case err != nil:
		d.say("demo: " + err.Error())
		return 1
	}
	return 0
}

// place finds the directories, and makes those for the results.
func (d *demo) place(root, out string) (err error) {
	if d.root, err = filepath.Abs(root); err != nil {
		return err
	}
	// A wrong root would only be noticed by the first build.
	d.module = filepath.Join(d.root, "metricsd")
	if _, err := os.Stat(filepath.Join(d.module, "go.mod")); err != nil {
		return fmt.Errorf("%s is not the root of Beagle's repository: name it with -root", d.root)
	}
	if out == "" {
		out = filepath.Join(d.root, "demo-out")
	}
	if d.out, err = filepath.Abs(out); err != nil {
		return err
	}
	if d.found != "" {
		if d.found, err = filepath.Abs(d.found); err != nil {
			return err
		}
	}
	return errors.Join(os.MkdirAll(filepath.Join(d.out, "bin"), 0o755), os.MkdirAll(d.home(), 0o755))
}

// home returns Beagle's store for this demo.
func (d *demo) home() string { return filepath.Join(d.out, "home") }

func (d *demo) bin(name string) string { return filepath.Join(d.out, "bin", name) }

// settings are the budgets. Those of a quick run show that all steps work.
type settings struct {
	Rules     string  `json:"rules"`
	Cache     int     `json:"cache"` // -listen.cache of the service; 0 has it parse every message
	Profile   int     `json:"profile_seconds"`
	Spots     int     `json:"spots"`           // hot spots whose calls are captured
	Capture   int     `json:"capture_seconds"` // of each
	Targets   int     `json:"targets"`         // hot spots that the campaign searches
	Each      int     `json:"candidates"`
	Measure   string  `json:"measure"`
	Fuzz      string  `json:"fuzz"`
	Processor string  `json:"processor"` // of the whole campaign
	Canaries  int     `json:"canaries"`  // processes of a rollout, each linked in another order
	Slice     string  `json:"slice"`     // of an arm in each of them
	Plan      plan    `json:"plan"`
	Layouts   int     `json:"layouts"`
	Turns     int     `json:"turns"` // of each layout
	Turn      float64 `json:"turn_seconds"`
}

// plan is what a rollout gets as --plan. The ramp is steep: one process on this machine stands
// for a canary. The function's own time decides nothing: it is taken by the clock, and where
// cores are shared, one call of 20 ns that was preempted counts for milliseconds.
type plan struct {
	Success       []string  `json:"success"`
	Guardrails    []guard   `json:"guardrails"`
	Ramp          []float64 `json:"ramp"`
	StepBlocks    int       `json:"step_blocks"`
	Horizon       int       `json:"horizon"`
	MostBlocks    int       `json:"most_blocks"`
	LeastBlocks   int       `json:"least_blocks"`
	HoldoutShare  float64   `json:"holdout_share"`
	HoldoutBlocks int       `json:"holdout_blocks"`
	LeastTimed    int       `json:"least_timed,omitempty"`
}

type guard struct {
	Metric string  `json:"metric"`
	Margin float64 `json:"margin"`
}

var (
	success    = []string{"service-cpu"}
	guardrails = []guard{{"service-cpu", 0.005}, {"alloc-bytes", 0.1}}
)

var full = settings{
	Rules: "all", Profile: 30, Spots: 16, Capture: 4, Targets: 5, Each: 144, Measure: "15s", Fuzz: "2s",
	Processor: "18m",
	Canaries:  8, Slice: "50ms",
	Plan: plan{Success: success, Guardrails: guardrails, Ramp: []float64{0.1, 0.3},
		StepBlocks: 80, Horizon: 400, MostBlocks: 1200, LeastBlocks: 160, HoldoutShare: 0.25, HoldoutBlocks: 80},
	Layouts: 8, Turns: 3, Turn: 2,
}

var tiny = settings{
	Profile: 4, Spots: 8, Capture: 1, Targets: 4, Each: 4, Measure: "2s", Fuzz: "1s", Processor: "60s",
	Canaries: 2, Slice: "20ms",
	Plan: plan{Success: success, Guardrails: guardrails, Ramp: []float64{0.3},
		StepBlocks: 20, Horizon: 20, MostBlocks: 40, LeastBlocks: 20, HoldoutShare: 0.3, HoldoutBlocks: 20,
		LeastTimed: 1000},
	Layouts: 2, Turns: 1, Turn: 0.5,
}
