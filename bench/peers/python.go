package main

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/llmtest"
)

//go:embed files
var files embed.FS

// copyFile writes one of the embedded files.
func copyFile(dir, name, as string) error {
	data, err := files.ReadFile("files/" + name)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, as), data, 0o644)
}

// A peer is a program from the package registry.
type peer struct {
	name string
	// command starts or resumes a run in a directory.
	command func(dir, url string, s scenario, resume bool) ([]string, error)
	venv    string
}

// openEvolve returns the command of OpenEvolve in a virtual environment.
func openEvolve(venv string) peer {
	return peer{name: "OpenEvolve", venv: venv, command: func(
		dir, url string, s scenario, resume bool,
	) ([]string, error) {
		config := fmt.Sprintf(`max_iterations: %d
checkpoint_interval: 10
diff_based_evolution: %v
llm:
  api_base: %s/v1
  api_key: none
  models: [{name: tester, weight: 1.0}]
database: {num_islands: 5}
evaluator: {timeout: %d, parallel_evaluations: %d, cascade_evaluation: false}
`, s.n, s.patch == "diff", url, int(s.limit.Seconds()), s.slots)
		if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(config), 0o644); err != nil {
			return nil, err
		}
		args := []string{filepath.Join(venv, "bin", "openevolve-run"), "initial.py", "evaluate.py", "--config",
			"config.yaml", "--output", "out", "--iterations", fmt.Sprint(s.n)}
		if resume {
			checkpoints, _ := filepath.Glob(filepath.Join(dir, "out/checkpoints/checkpoint_*"))
			if len(checkpoints) == 0 {
				return args, nil // killed before the first: all is lost, and it begins anew
			}
			last := slices.MaxFunc(checkpoints, func(a, b string) int {
				if len(a) != len(b) {
					return len(a) - len(b)
				}
				return strings.Compare(a, b)
			})
			var done int
			fmt.Sscanf(filepath.Base(last), "checkpoint_%d", &done)
			args[len(args)-1] = fmt.Sprint(s.n - done) // it counts from the checkpoint on
			args = append(args, "--checkpoint", last)
		}
		return args, nil
	}}
}

func shinka(venv string) peer {
	return peer{name: "ShinkaEvolve", venv: venv, command: func(dir, url string, s scenario, _ bool) ([]string, error) {
		limit := time.Unix(0, 0).UTC().Add(s.limit).Format("15:04:05")
		return []string{filepath.Join(venv, "bin", "python"), "shinka_run.py", url + "/v1", "out", fmt.Sprint(s.n + 1),
			fmt.Sprint(s.slots), s.patch, limit}, nil
	}}
}

// run runs the peer in a scenario.
func (p peer) run(ctx context.Context, s scenario, dir string) (outcome, error) {
	// Write the peer's files, and start the model server.
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return outcome{}, err
	}
	for _, name := range []string{"initial.py", "evaluate.py", "shinka_run.py"} {
		if err := copyFile(dir, name, name); err != nil {
			return outcome{}, err
		}
	}
	server, err := s.serve(python)
	if err != nil {
		return outcome{}, err
	}
	defer server.Close()
	// Run the peer. If the scenario says so, kill it halfway and resume it.
	began := time.Now()
	left := 0
	note := ""
	if s.kill {
		if err := p.start(ctx, s, dir, server, false, s.n/2); err != nil {
			return outcome{}, err
		}
		left = sweep(dir)
	}
	if err := p.start(ctx, s, dir, server, s.kill, 0); err != nil {
		note = err.Error()
	}
	// Read the outcome from the logs.
	o := fromLogs(s, server.Calls(), readLog(filepath.Join(dir, "evals.jsonl")))
	o.wall, o.strays, o.note = time.Since(began), left+sweep(dir), note
	return o, nil
}

// start runs the program to its end, or kills it after the given number of calls.
func (p peer) start(
	ctx context.Context, s scenario, dir string, server *llmtest.Server, resume bool, killAfter int,
) error {
	args, err := p.command(dir, server.URL(), s, resume)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PEERS_LOG="+filepath.Join(dir, "evals.jsonl"),
		fmt.Sprintf("PEERS_SLEEP=%g", s.eval.Seconds()),
		"OPENAI_API_KEY=none", "NO_PROXY=127.0.0.1", "PATH="+filepath.Join(p.venv, "bin")+":"+os.Getenv("PATH"))
	return runLogged(cmd, filepath.Join(dir, "log.txt"), func() bool {
		return killAfter > 0 && server.Stats().Calls >= killAfter
	})
}

// runLogged runs a command with its output in a file. When the condition comes true it kills that
// process, and no child of it.
func runLogged(cmd *exec.Cmd, log string, kill func() bool) error {
	// Start the command with its output in the file.
	f, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		return err
	}
	// Wait for its end, or for the condition.
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if err != nil {
				err = fmt.Errorf("%s: %w (see %s)", filepath.Base(cmd.Path), err, log)
			}
			return err
		case <-tick.C:
			if kill() {
				cmd.Process.Kill()
				<-done
				return nil
			}
		}
	}
}
