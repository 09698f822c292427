package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/procgroup"
)

const (
	fleetGoal = 50.0 // milliseconds of orchestration of a candidate
	flatGoal  = 2.0  // times that the last tenth of a search may cost as much as the first
	fleetPort = 17233
	fleetName = "fleet" // of the run that is killed over and over
)

// temporal measures the driver for many machines, with a real server.
func temporal(ctx context.Context, l *lab) (*section, error) {
	f, err := l.newFleet(ctx)
	if err != nil {
		return nil, err
	}
	defer f.end()
	s := new(section)
	if err := f.orchestration(ctx, s); err != nil {
		return nil, err
	}
	return s, f.kills(ctx, s)
}

// A fleet is a server and a worker that can be killed.
type fleet struct {
	*lab
	server, test   string // programs: the server, the driver's tests
	db             string
	serving, works *exec.Cmd
}

// newFleet builds the programs of a fleet and starts its server.
func (l *lab) newFleet(ctx context.Context) (*fleet, error) {
	f := &fleet{
		lab:    l,
		server: filepath.Join(l.dir, "devserver"),
		test:   filepath.Join(l.dir, "temporal.test"),
		db:     filepath.Join(l.dir, "temporal.db"),
	}
	driver := filepath.Join(l.root, "internal", "flow", "temporal")
	beside := filepath.Join(filepath.Dir(l.beagle), "beagle-temporal") // where beagle looks for it
	for _, b := range []struct {
		dir  string
		env  string
		args []string
	}{
		{filepath.Join(driver, "devserver"), "GOWORK=off", []string{"build", "-o", f.server, "."}},
		{driver, "GOFLAGS=", []string{"test", "-c", "-o", f.test, "."}},
		{l.root, "GOFLAGS=", []string{"build", "-o", beside, "./cmd/beagle-temporal"}},
	} {
		c := exec.CommandContext(ctx, "go", b.args...)
		c.Dir, c.Env, c.Stderr = b.dir, append(os.Environ(), b.env), os.Stderr
		if err := c.Run(); err != nil {
			return nil, fmt.Errorf("go %s: %w", strings.Join(b.args, " "), err)
		}
	}
	return f, f.serve(ctx)
}

func (f *fleet) address() string { return fmt.Sprintf("127.0.0.1:%d", fleetPort) }

// serve starts the server and waits until it listens.
func (f *fleet) serve(ctx context.Context) error {
	f.serving = exec.CommandContext(ctx, f.server, "-db", f.db, "-port", fmt.Sprint(fleetPort))
	out, err := f.serving.StdoutPipe()
	if err != nil {
		return err
	}
	if err := f.serving.Start(); err != nil {
		return err
	}
	line := make([]byte, 256)
	if n, err := out.Read(line); err != nil || !strings.Contains(string(line[:n]), "serving") {
		return fmt.Errorf("the server does not start: %s %v", line[:n], err)
	}
	return nil
}

// work starts a worker.
func (f *fleet) work(ctx context.Context, home string) error {
	f.works = f.command(ctx, home, "worker", "--temporal", f.address())
	procgroup.Own(f.works)
	return f.works.Start()
}

func (f *fleet) end() {
	for _, c := range []*exec.Cmd{f.serving, f.works} {
		if c != nil {
			c.Cancel()
			c.Wait()
		}
	}
}

// fleetCost is the output of the driver's test program.
type fleetCost struct {
	Candidates int       `json:"candidates"`
	Histories  int       `json:"histories"`
	MostEvents int64     `json:"most_events"`
	MostBytes  int64     `json:"most_bytes"`
	Millis     []float64 `json:"millis"`
	Plain      []float64 `json:"plain"`
	MaxRSS     int64     `json:"max_rss"`
	Same       bool      `json:"same"`
}

// orchestration lets candidates take no time to evaluate. So only the engine and the search are
// left.
func (f *fleet) orchestration(ctx context.Context, s *section) error {
	// Simulate a search with each strategy.
	n := 10000
	if f.quick {
		n = 500
	}
	var rows [][]string
	for _, strategy := range []string{"islands", "best-of-n"} {
		c, err := f.simulate(ctx, strategy, n)
		if err != nil {
			return err
		}
		if len(c.Millis) < 2 || len(c.Plain) < 2 {
			return fmt.Errorf("%d and %d readings of a search of %d candidates", len(c.Millis), len(c.Plain), n)
		}
		first, last := c.Millis[0], c.Millis[len(c.Millis)-1]
		// Compare it with the goals and with the plain loop.
		s.limit("orchestration of a candidate on Temporal, "+strategy+", ms", slices.Max(c.Millis), fleetGoal)
		if last > flatGoal*first {
			s.miss("%s: the last tenth takes %.1f ms a candidate, the first %.1f", strategy, last, first)
		}
		if !c.Same {
			s.miss("%s: the trajectory is not that of the plain loop", strategy)
		}
		rows = append(rows, []string{
			strategy, fmt.Sprint(c.Candidates), fmt.Sprintf("%.1f", first), fmt.Sprintf("%.1f", slices.Max(c.Millis)),
			fmt.Sprintf("%.1f", last),
			fmt.Sprintf("%.1f", c.Plain[len(c.Plain)-1]), fmt.Sprint(c.Histories), fmt.Sprint(c.MostEvents),
			fmt.Sprintf("%.0f", float64(c.MostBytes)/1000), fmt.Sprint(c.MaxRSS >> 20), fmt.Sprint(c.Same),
		})
	}
	// Print the table.
	s.text += "Orchestration alone, candidates that are evaluated in no time, one worker, batches of 12:\n\n"
	s.text += table(
		strings.Split("strategy|candidates|ms a candidate, first tenth|worst tenth|last tenth|of it the search and "+
			"the store (plain loop, last tenth)|histories|events in the largest|KB in the largest|worker's memory, "+
			"MB|trajectory of the plain loop", "|"), rows)
	return nil
}

// simulate runs n candidates of a strategy without evaluation, and returns what Temporal cost.
func (f *fleet) simulate(ctx context.Context, strategy string, n int) (*fleetCost, error) {
	f.end() // each strategy has a server of its own, since the run's name is the same
	f.db = filepath.Join(f.dir, strategy+".db")
	if err := f.serve(ctx); err != nil {
		return nil, err
	}
	role, err := json.Marshal(map[string]any{
		"home":       f.home("sim-" + strategy),
		"server":     f.address(),
		"simulate":   true,
		"candidates": n,
		"batch":      12,
		"strategy":   strategy,
	})
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, f.test)
	c.Env, c.Stderr = append(os.Environ(), "BEAGLE_FLEET_ROLE="+string(role), "TMPDIR="+filepath.Join(f.dir, "tmp")),
		os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("the simulated run: %w", err)
	}
	cost := new(fleetCost)
	return cost, json.Unmarshal(out, cost)
}

// kills kills the worker and the server, alternately and at random moments of a real run, and
// compares the result with the local driver's.
func (f *fleet) kills(ctx context.Context, s *section) error {
	// Start a run on the fleet.
	wanted, candidates := 20, 120
	if f.quick {
		wanted, candidates = 4, 24
	}
	home := f.home(fleetName)
	if err := f.work(ctx, home); err != nil {
		return err
	}
	run := f.command(ctx, home, "evolve", "--json", "--quiet", "--temporal", f.address(), "--run-id", fleetName,
		"--candidates", fmt.Sprint(candidates), "--batch", "6",
		"--measure", "3s", "--fuzz", "2s", "--seed", "3", "./examples/tags.isNormalizedASCIITag")
	var disturbed, quiet beagle.Result
	done := make(chan error, 1)
	go func() {
		out, err := run.Output()
		if err == nil {
			err = json.Unmarshal(out, &disturbed)
		}
		done <- err
	}()
	// Kill the worker and the server until the run ends.
	dead, kept, over, err := f.disturb(ctx, home, wanted, candidates, done)
	if err != nil {
		return err
	}
	if !over {
		if err := <-done; err != nil {
			return fmt.Errorf("the run that was disturbed: %w", err)
		}
	}
	// Repeat the run with the local driver, from the same inputs and verdicts.
	end := verdicts(home)
	if err := fork(home, fleetName, "local", nil); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(home, "runs", "local", "temporal.json")); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := f.call(ctx, home, &quiet, "resume", "--json", "local"); err != nil {
		return err
	}
	log, err := readLog(home, "local")
	if err != nil {
		return err
	}
	// Count the verdicts that were made again, and report.
	k := killReport{disturbed: disturbed, quiet: quiet, dead: dead["worker"] + dead["server"], wanted: wanted,
		storedVerdicts: len(kept), repeated: log.Spent.Candidates}
	for name, made := range kept {
		if end[name] != made {
			k.redone++
		}
	}
	k.judge(s)
	s.text += fmt.Sprintf("\nA run of %d candidates on a real function, `kill -9` of the worker %d times and of the "+
		"server %d times: it ended with %s (%s times as fast). %d of %d verdicts that were in the store at a kill "+
		"were made again. The local driver, from the same inputs with the same verdicts, takes the same trajectory: "+
		"%v; same winner: %v; candidates that it had to evaluate: %d.\n",
		len(disturbed.Attempts), dead["worker"], dead["server"], disturbed.Outcome, interval(disturbed.Best.Ratio),
		k.redone, k.storedVerdicts, k.same(), quiet.Best.ID == disturbed.Best.ID, k.repeated)
	return nil
}

// A killReport is the result of a run that was killed, beside the local driver's.
type killReport struct {
	disturbed, quiet       beagle.Result
	dead, wanted           int // kills
	storedVerdicts, redone int // verdicts in the store at a kill, and those of them that were made again
	repeated               int // candidates that the local driver had to evaluate
}

// same reports whether both runs took the same trajectory.
func (k *killReport) same() bool {
	return reflect.DeepEqual(trajectory(k.disturbed.Attempts), trajectory(k.quiet.Attempts))
}

// judge compares the result with the goals.
func (k *killReport) judge(s *section) {
	if !k.same() {
		s.miss("the trajectory is not that of the local driver: %s",
			firstDifference(k.disturbed.Attempts, k.quiet.Attempts))
	}
	if k.redone > 0 || k.repeated > 0 {
		s.miss("%d verdicts were made again, and the local driver had to make %d", k.redone, k.repeated)
	}
	if k.dead < k.wanted {
		s.miss("%d kills, %d are wanted: the run ended before", k.dead, k.wanted)
	}
	if k.quiet.Best.ID != k.disturbed.Best.ID {
		s.miss("the local driver's winner is %s, not %s", k.quiet.Best.ID, k.disturbed.Best.ID)
	}
}

// disturb kills alternately until the given number is reached or the search ends. It returns the
// verdicts that were in the store at the kills. over reports whether the run ended meanwhile.
func (f *fleet) disturb(
	ctx context.Context, home string, wanted, candidates int, done chan error,
) (dead map[string]int, kept map[string]int64, over bool, err error) {
	dead, kept = map[string]int{}, map[string]int64{}
	for n := range wanted {
		for goal := (n + 1) * candidates / (wanted + 2); len(verdicts(home)) < goal && !over; {
			select {
			case err := <-done:
				return dead, kept, true, err
			case <-ctx.Done():
				return dead, kept, true, ctx.Err()
			case <-time.After(5 * time.Millisecond):
			}
		}
		time.Sleep(rand.N(500 * time.Millisecond))
		maps.Copy(kept, verdicts(home))
		if n%2 == 0 {
			dead["worker"]++
			f.works.Cancel() // beagle and the beagle-temporal that it started
			f.works.Wait()
			err = f.work(ctx, home)
		} else {
			dead["server"]++
			f.serving.Process.Signal(syscall.SIGKILL)
			f.serving.Wait()
			err = f.serve(ctx)
		}
		if err != nil {
			return dead, kept, over, err
		}
	}
	return dead, kept, over, nil
}
