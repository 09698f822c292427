// Command peers puts OpenEvolve and ShinkaEvolve, as the Python package index
// has them, beside Beagle: the same scripted model server, the same replies,
// the same slots. It prints a Markdown table:
//
//	go run ./bench/peers            all of it, some twenty minutes
//	go run ./bench/peers -n 20      the same, small
//	go run ./bench/peers -only Beagle,OpenEvolve -scenario hang,same
//
// The peers are installed into a virtual environment in a new directory
// (python3 with venv, about 1 GB) unless -venv names one. Everything a run has
// written stays in the directory that is printed at the end.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/command"
)

// The releases that are compared.
const (
	openEvolveRelease = "0.4.0"
	shinkaRelease     = "0.0.7"
)

// A program is one of those that are compared.
type program interface {
	run(ctx context.Context, s scenario, dir string) (outcome, error)
}

type options struct {
	n                                 int
	runs                              int
	dir, venv, beagle, only, scenario string
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 60, "candidates of a run")
	flag.IntVar(&o.runs, "runs", 1, "runs of each; figures are medians with the least and the most")
	flag.StringVar(&o.dir, "dir", "", "work in this `directory` (default: a new one)")
	flag.StringVar(&o.venv, "venv", "", "virtual environment that has the peers (default: one is made)")
	flag.StringVar(&o.beagle, "beagle", "", "the command (default: it is built)")
	flag.StringVar(&o.only, "only", "", "these `programs` only: OpenEvolve, ShinkaEvolve, loop, durable, Beagle")
	flag.StringVar(&o.scenario, "scenario", "", "these `scenarios` only: overhead, pipeline, kill, hang, same, miss")
	flag.Parse()
	command.Main("peers", func(ctx context.Context) error { return run(ctx, o) })
}

// run takes each scenario through all programs and prints the report, also after an interrupt.
func run(ctx context.Context, o options) error {
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "peers-*")
		if err != nil {
			return err
		}
		o.dir = dir
	}
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	o.dir = dir
	programs, err := o.programs(ctx)
	if err != nil {
		return err
	}
	got := map[string][]outcome{}
	var used []scenario
	defer func() { // also of what was interrupted
		fmt.Print(report(o, programs, used, got))
		fmt.Fprintln(os.Stderr, "everything is in", o.dir)
	}()
	for _, s := range scenarios(o.n) {
		if o.scenario != "" && !slices.Contains(strings.Split(o.scenario, ","), s.name) {
			continue
		}
		used = append(used, s)
		// The programs take turns, so that other load on the machine falls on all.
		for i := range o.runs {
			for _, p := range programs {
				if _, ok := p.program.(loop); ok && (s.kill || s.name == "hang") {
					continue // it has neither an evaluator that could hang nor a way to resume
				}
				at := filepath.Join(o.dir, fmt.Sprintf("%s-%s-%d", s.name, p.name, i+1))
				x, err := p.run(ctx, s, at)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err != nil {
					x.note = "failed: " + err.Error()
				}
				fmt.Fprintf(os.Stderr, "%-9s %-13s %6.1f s, %d calls, %d evaluations %s\n", s.name, p.name,
					x.wall.Seconds(), x.calls, x.evals, x.note)
				got[s.name+" "+p.name] = append(got[s.name+" "+p.name], x)
			}
		}
	}
	return nil
}

type named struct {
	name string
	program
}

// programs installs and builds the programs that are compared.
func (o *options) programs(ctx context.Context) ([]named, error) {
	// Install the peers.
	wanted := func(name string) bool { return o.only == "" || slices.Contains(strings.Split(o.only, ","), name) }
	if o.venv == "" && (wanted("OpenEvolve") || wanted("ShinkaEvolve")) {
		o.venv = filepath.Join(o.dir, "venv")
		fmt.Fprintln(os.Stderr, "installing the peers into", o.venv)
		for _, args := range [][]string{{"python3", "-m", "venv", o.venv},
			{filepath.Join(o.venv, "bin", "pip"), "install", "-q", "openevolve==" + openEvolveRelease,
				"shinka-evolve==" + shinkaRelease}} {
			if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
			}
		}
	}
	// Build beagle.
	if o.beagle == "" && wanted("Beagle") {
		root, err := command.Root(ctx)
		if err != nil {
			return nil, err
		}
		if o.beagle, err = command.Build(ctx, root, o.dir); err != nil {
			return nil, err
		}
	}
	// List the programs that were asked for.
	var out []named
	for _, p := range []named{{"OpenEvolve", openEvolve(o.venv)}, {"ShinkaEvolve", shinka(o.venv)},
		{"loop", loop{}}, {"durable", loop{durable: true}}, {"Beagle", binary{o.beagle}}} {
		if wanted(p.name) {
			out = append(out, p)
		}
	}
	return out, nil
}

// A row is a figure of one scenario, for each program that has it.
type row struct {
	scenario, text string
	figure         func(program string, o outcome) (float64, bool)
}

func isCommand(program string) bool { return program == "Beagle" }

var rows = []row{
	{"overhead", "added to a candidate, model and evaluator at once, ms", func(p string, o outcome) (float64, bool) {
		if isCommand(p) {
			return o.overhead.Seconds() * 1000, true
		}
		return o.spacing.Seconds() * 1000, o.spacing > 0
	}},
	{"overhead", "the same, of the last tenth of the candidates, ms", func(_ string, o outcome) (float64, bool) {
		return o.last.Seconds() * 1000, o.last > 0 && o.overhead < 0
	}},
	{"pipeline", "candidates a minute, 1 s model + 1 s evaluation, 2 slots", func(p string, o outcome) (float64, bool) {
		return o.rate, o.rate > 0
	}},
	{"kill", "`kill -9` and resume: model calls beyond the candidates, those in flight then included",
		func(_ string, o outcome) (float64, bool) { return float64(o.calls - o.wanted), o.calls > 0 }},
	{"kill", "replies that had arrived and were asked for again", func(_ string, o outcome) (float64, bool) {
		return float64(o.twice), o.twice >= 0
	}},
	{"kill", "evaluations made again after it", func(p string, o outcome) (float64, bool) {
		return float64(o.repeated), !isCommand(p)
	}},
	{"kill", "processes left over by it", func(_ string, o outcome) (float64, bool) { return float64(o.strays), true }},
	{"hang", "innocent candidates harmed by those that hang (1 in 8)", func(_ string, o outcome) (float64, bool) {
		return float64(o.harmed), o.harmed >= 0
	}},
	{"hang", "processes left over by them", func(_ string, o outcome) (float64, bool) {
		return float64(o.strays), true
	}},
	{"same", "evaluations of equal replies after the first", func(_ string, o outcome) (float64, bool) {
		return float64(o.evals - 1), o.evals > 0
	}},
	{"miss", "evaluations of replies that match nothing", func(_ string, o outcome) (float64, bool) {
		return float64(o.evals), o.calls > 0
	}},
	{"miss", "time between such replies, ms", func(_ string, o outcome) (float64, bool) {
		return o.spacing.Seconds() * 1000, o.spacing > 0
	}},
}

// report returns the table.
func report(o options, programs []named, used []scenario, got map[string][]outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s/%s, %d processors, %s; openevolve %s, shinka-evolve %s; %d candidates, %d runs.\n\n",
		time.Now().UTC().Format("2006-01-02"), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(),
		openEvolveRelease, shinkaRelease, o.n, o.runs)
	b.WriteString("| |")
	for _, p := range programs {
		fmt.Fprintf(&b, " %s |", p.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(programs)) + "\n")
	for _, r := range rows {
		if !slices.ContainsFunc(used, func(s scenario) bool { return s.name == r.scenario }) {
			continue
		}
		fmt.Fprintf(&b, "| %s |", r.text)
		for _, p := range programs {
			fmt.Fprintf(&b, " %s |", spread(r, p.name, got[r.scenario+" "+p.name]))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// spread returns the median of a figure over the runs, with the least and the most.
func spread(r row, program string, os []outcome) string {
	var xs []float64
	for _, o := range os {
		if x, ok := r.figure(program, o); ok && !strings.HasPrefix(o.note, "failed") {
			xs = append(xs, x)
		}
	}
	if len(xs) == 0 {
		return "–"
	}
	slices.Sort(xs)
	show := func(x float64) string {
		if x == float64(int(x)) {
			return fmt.Sprint(int(x))
		}
		return fmt.Sprintf("%.3g", x)
	}
	if len(xs) == 1 {
		return show(xs[0])
	}
	return fmt.Sprintf("%s (%s–%s)", show(xs[len(xs)/2]), show(xs[0]), show(xs[len(xs)-1]))
}
