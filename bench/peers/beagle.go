package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/beagle-go/beagle/internal/llmtest"
)

// A binary is the command. It builds, verifies and measures for real. So its time for a candidate
// says little about its overhead; it counts that itself.
type binary struct{ path string }

// result holds the part of the command's JSON that is read.
type result struct {
	Candidates int            `json:"candidates"`
	Statuses   map[string]int `json:"statuses"`
	Models     struct {
		Calls int `json:"calls"`
	} `json:"models"`
	Split struct {
		Orchestration float64 `json:"orchestration_ms"`
	} `json:"split"`
}

// module writes the module that is worked on.
func module(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/count\n\ngo 1.24\n"),
		0o644); err != nil {
		return err
	}
	return errors.Join(copyFile(dir, "count.go.txt", "count.go"), copyFile(dir, "count_test.go.txt", "count_test.go"))
}

// run runs the command in a scenario.
func (b binary) run(ctx context.Context, s scenario, dir string) (outcome, error) {
	// Write the module, and start the model server.
	if err := module(dir); err != nil {
		return outcome{}, err
	}
	server, err := s.serve(golang)
	if err != nil {
		return outcome{}, err
	}
	defer server.Close()
	// Search. If the scenario says so, kill the command halfway and resume the run.
	began, left := time.Now(), 0
	args := []string{"evolve", "-C", dir, "--model", "tester@" + server.URL() + "/v1", "--no-rules", "--seed", "1",
		"--candidates", fmt.Sprint(s.n), "--budget-calls", fmt.Sprint(2 * s.n), "--measure", "2s", "--fuzz", "1s",
		"--json", ".Count"}
	var out result
	if s.kill {
		if err := b.start(ctx, s, dir, args, server, s.n/2, nil); err != nil {
			return outcome{}, err
		}
		left = sweep(dir)
		runs, err := os.ReadDir(filepath.Join(dir, "home", "runs"))
		if err != nil || len(runs) != 1 {
			return outcome{}, fmt.Errorf("%d runs after the kill: %v", len(runs), err)
		}
		args = []string{"resume", "--json", runs[0].Name()}
	}
	if err := b.start(ctx, s, dir, args, server, 0, &out); err != nil {
		return outcome{}, err
	}
	// Read the outcome from the logs and the result.
	o := fromLogs(s, server.Calls(), nil)
	o.wall, o.evals, o.again = time.Since(began), out.Candidates, 0
	o.overhead = time.Duration(out.Split.Orchestration * float64(time.Millisecond))
	if s.kill {
		o.twice = countPaidTwice(dir)
	}
	if s.name == "hang" {
		o.harmed = b.harmed(s, out)
	}
	o.strays = left + sweep(dir)
	o.note = fmt.Sprint(out.Statuses)
	return o, nil
}

// harmed counts the faultless candidates with another verdict.
func (b binary) harmed(s scenario, out result) int {
	hanging := 0
	for number := 1; number <= out.Models.Calls; number++ {
		if s.reply(number).hang {
			hanging++
		}
	}
	fine := out.Statuses["accepted"] + out.Statuses["equal"]
	return max(0, out.Candidates-min(hanging, out.Statuses["hung"])-fine)
}

// countPaidTwice counts the requests that a run sent again after their reply had arrived: its
// journal has each request before it is sent, and its reply. Requests in flight at the kill had no
// reply.
func countPaidTwice(dir string) int {
	journals, _ := filepath.Glob(filepath.Join(dir, "home", "runs", "*", "calls.jsonl"))
	if len(journals) != 1 {
		return -1
	}
	data, _ := os.ReadFile(journals[0])
	arrived, n := map[string]bool{}, 0
	for line := range bytes.Lines(data) {
		var c struct {
			ID      string
			Request json.RawMessage
		}
		if json.Unmarshal(line, &c) != nil {
			continue
		}
		if c.Request == nil {
			arrived[c.ID] = true
		} else if arrived[c.ID] {
			n++
		}
	}
	return n
}

// start runs beagle to its end and decodes its result into out. Without out, it kills beagle after
// killAfter calls.
func (b binary) start(
	ctx context.Context, s scenario, dir string, args []string, server *llmtest.Server, killAfter int, out *result,
) error {
	ctx, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "BEAGLE_HOME="+filepath.Join(dir, "home"),
		"TMPDIR="+filepath.Join(dir, "tmp"), "GOWORK=off")
	log := filepath.Join(dir, "log.txt")
	if out == nil {
		return runLogged(cmd, log, func() bool { return server.Stats().Calls >= killAfter })
	}
	cmd.WaitDelay = 5 * time.Second
	data, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			os.WriteFile(log, exit.Stderr, 0o644)
		}
		return fmt.Errorf("beagle: %w (see %s)", err, log)
	}
	if err := os.WriteFile(filepath.Join(dir, "result.json"), data, 0o644); err != nil {
		return err
	}
	return json.Unmarshal(data, out)
}
