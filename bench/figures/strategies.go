package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/special"
	"github.com/beagle-go/beagle/internal/tail"
)

const seeds = 3

// searchLog is the part of a run's log that tells the trajectory.
type searchLog struct {
	Trials []beagle.Attempt `json:"trials"`
	Spent  struct {
		Candidates int `json:"candidates"` // evaluated, and not found in the store
		Cached     int `json:"cached"`
	} `json:"spent"`
}

// strategies runs every strategy from the same inputs and the same profile. Where strategies meet
// the same candidates they get the same recorded verdicts. So only the order of candidates differs.
func strategies(ctx context.Context, l *lab) (*section, error) {
	results, err := l.evolveExamples(ctx)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for i, r := range results {
		logs := map[string][]searchLog{}
		for _, name := range searches {
			for seed := range seeds {
				log, err := l.searchAgain(ctx, l.home("example"), r.Run, fmt.Sprintf("s%d%s%d", i, name, seed),
					map[string]any{"strategy": name, "seed": seed + 1})
				if err != nil {
					return nil, err
				}
				logs[name] = append(logs[name], *log)
			}
		}
		rows = append(rows, compare(goals[i].function, searches, logs)...)
	}
	s := &section{noGoal: true, text: fmt.Sprintf("Screened ratios, %d seeds, budget 60.\n\n", seeds)}
	s.text += table(
		strings.Split("function|strategy|best ratio, median|lowest|highest|candidates to half the gain, "+
			"median|candidates tried, median", "|"), rows)
	return s, nil
}

// compare summarises the strategies on one function. Half the gain is half of
// what the best of all runs gained.
func compare(function string, searches []string, logs map[string][]searchLog) [][]string {
	// Find half of the best gain of all runs.
	top := 1.0
	for _, list := range logs {
		for _, log := range list {
			top = max(top, bestAfter(log.Trials))
		}
	}
	half := 1 + (top-1)/2
	var rows [][]string
	// Summarise the runs of each strategy.
	for _, name := range searches {
		var best, to, tried []float64
		reached := 0
		for _, log := range logs[name] {
			best = append(best, bestAfter(log.Trials))
			tried = append(tried, float64(len(log.Trials)))
			// Find the first version with half the gain. A run without one counts as very late.
			n := slices.IndexFunc(log.Trials, func(t beagle.Attempt) bool {
				return t.Screen != nil && t.Screen.Point >= half
			})
			if n < 0 {
				n = 1 << 20
			} else {
				reached++
			}
			to = append(to, float64(n+1))
		}
		steps := fmt.Sprintf("%.0f", median(to))
		if median(to) > 1<<19 {
			steps = fmt.Sprintf("not reached (%d of %d)", reached, len(to))
		}
		rows = append(rows,
			[]string{"`" + function + "`", name, digits(median(best)), digits(slices.Min(best)),
				digits(slices.Max(best)), steps, fmt.Sprintf("%.0f", median(tried))})
	}
	return rows
}

func bestAfter(trials []beagle.Attempt) float64 {
	best := 1.0
	for _, t := range trials {
		if t.Screen != nil {
			best = max(best, t.Screen.Point)
		}
	}
	return best
}

func median(xs []float64) float64 {
	return special.Quantile(slices.Sorted(slices.Values(xs)), 0.5)
}

// fork makes a run with another run's inputs, audit and profile, and an empty search.
func fork(home, run, id string, change map[string]any) error {
	// Copy the run's objects, with some fields changed.
	from, to := filepath.Join(home, "runs", run), filepath.Join(home, "runs", id)
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for name, set := range map[string]map[string]any{
		"prepared": nil,
		"spec":     change,
		"run":      {"id": id, "state": "stopped", "note": "", "created": time.Now()},
	} {
		var object map[string]any
		text, err := os.ReadFile(filepath.Join(from, name+".json"))
		if err != nil {
			return err
		}
		// Keep numbers as they are written.
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		if err := d.Decode(&object); err != nil {
			return err
		}
		for k, v := range set {
			object[k] = v
		}
		out, err := json.Marshal(object)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name+".json"), out, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// searchAgain forks a run, lets it search, and stops it before the finalists
// are measured.
func (l *lab) searchAgain(ctx context.Context, home, run, id string, change map[string]any) (*searchLog, error) {
	if err := fork(home, run, id, change); err != nil {
		return nil, err
	}
	c := l.command(ctx, home, "resume", id)
	if _, err := signalAfter(c, "measure", os.Interrupt, func(context.Context) {}); err != nil {
		return nil, err
	}
	return readLog(home, id)
}

func readLog(home, id string) (*searchLog, error) {
	text, err := os.ReadFile(filepath.Join(home, "runs", id, "log.json"))
	if err != nil {
		return nil, err
	}
	log := new(searchLog)
	return log, json.Unmarshal(text, log)
}

// entered reports whether a line of progress says that a stage began.
func entered(line, stage string) bool {
	fields := strings.Fields(line) // the time, the stage, details
	return len(fields) > 1 && fields[1] == stage
}

// signalAfter runs a command. After the command has said that a stage began, and wait has returned,
// it sends the command a signal. It returns whether that ended the command.
func signalAfter(c *exec.Cmd, stage string, sig os.Signal, wait func(context.Context)) (bool, error) {
	// Start the command, and read its messages.
	stderr, err := c.StderrPipe()
	if err != nil {
		return false, err
	}
	if err := c.Start(); err != nil {
		return false, err
	}
	running, over := context.WithCancel(context.Background())
	defer over()
	var said tail.Writer
	sent := false
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		// When the stage begins, wait and send the signal.
		if !sent && entered(lines.Text(), stage) {
			sent = true
			go func() {
				wait(running)
				c.Process.Signal(sig)
			}()
		}
	}
	// The end by that signal is no error.
	err = c.Wait()
	var exit *exec.ExitError
	if sent && errors.As(err, &exit) {
		return true, nil
	}
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, said.String())
	}
	return false, err
}
