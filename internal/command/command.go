// Package command builds the beagle command and calls it, for the programs that measure it, and
// runs these programs. A figure of one program then means the same binary, called in the same way,
// as that of another.
package command

import (
	"bytes"
	"cmp"
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

	"github.com/beagle-go/beagle/internal/tail"
)

// Build builds the command of the checkout in root into dir, and returns its path. The same code
// gives the same file wherever it is built, so that results can be kept by the file's hash.
func Build(ctx context.Context, root, dir string) (string, error) {
	path, err := filepath.Abs(filepath.Join(dir, "beagle"))
	if err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", path, "./cmd/beagle")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build beagle in %s: %w\n%s", root, err, tail.Of(out))
	}
	return path, nil
}

// Root returns the checkout that the working directory belongs to.
func Root(ctx context.Context) (string, error) {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	path := strings.TrimSpace(string(mod))
	if path == "" || path == os.DevNull {
		return "", errors.New("find the checkout: the working directory is in no module; change to Beagle's repository")
	}
	return filepath.Dir(path), nil
}

// A Call is one run of the command.
type Call struct {
	Program string // see [Build]
	Args    []string
	Dir     string        // the working directory; "" is this process's
	Home    string        // the store; "" is the user's
	Env     []string      // further variables
	Limit   time.Duration // longest time of the run; 0 means none
}

// An End is how a call ended.
type End struct {
	Status int
	Out    []byte // what it printed
	Said   string // on standard error
	Late   bool   // it took longer than the limit
	State  *os.ProcessState

	verb string
}

// grace is the time for the command to end what it started.
const grace = 20 * time.Second

// Cmd prepares the call. When ctx ends, an interrupt lets the command end the programs that it
// started.
func (c Call) Cmd(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Program, c.Args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), c.Env...)
	if c.Home != "" {
		cmd.Env = append(cmd.Env, "BEAGLE_HOME="+c.Home)
	}
	return cmd
}

// Run calls the command and waits for its end, whatever its status is. An error means that it did
// not start, or that ctx ended.
func (c Call) Run(ctx context.Context) (*End, error) {
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := c.Cmd(limited)
	var out bytes.Buffer
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Start(); err != nil {
		return nil, cmp.Or(ctx.Err(), fmt.Errorf("start %s: %w", c.Program, err))
	}
	if c.Limit > 0 { // from the start on: a busy machine may take long to come to it
		defer time.AfterFunc(c.Limit, cancel).Stop()
	}
	_ = cmd.Wait() // the state tells
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	e := &End{Status: cmd.ProcessState.ExitCode(), Out: out.Bytes(), Said: said.String(), Late: limited.Err() != nil,
		State: cmd.ProcessState}
	if len(c.Args) > 0 {
		e.verb = c.Args[0]
	}
	return e, nil
}

// Processor returns the processor time of the command and of all that it started and waited for.
func (e *End) Processor() time.Duration { return e.State.UserTime() + e.State.SystemTime() }

// answers are the exit statuses with which beagle prints a result: done, and of beagle verify not
// faster or undecided, wrong, not compiling, forbidden.
var answers = []int{0, 1, 3, 4, 5}

// Decode reads the JSON that the command printed. It fails if the command's status is no answer.
func (e *End) Decode(v any) error {
	if !slices.Contains(answers, e.Status) || e.Status != 0 && len(e.Out) == 0 {
		return fmt.Errorf("beagle %s ended with status %d\n%s", e.verb, e.Status, tail.Of([]byte(e.Said)))
	}
	if err := json.Unmarshal(e.Out, v); err != nil {
		return fmt.Errorf("beagle %s printed no JSON: %w\n%s", e.verb, err, tail.Of([]byte(e.Said)))
	}
	return nil
}
