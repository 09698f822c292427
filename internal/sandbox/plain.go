//go:build !linux

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/beagle-go/beagle/internal/procgroup"
)

type kernel struct{}

// Main is the first call of every main function and TestMain. Here it does
// nothing: there are no walls to put up.
func Main() { doorOpen = true }

// Leave is the last call of a main function. Here nothing outlives Run.
func Leave() {}

func probe(bool) (*Sandbox, error) {
	return &Sandbox{missing: []string{"no sandbox on " + runtime.GOOS +
		": candidates have all rights of your user, and only their time and output are limited; use Linux for code " +
		"that you do not trust"}}, nil
}

// Run runs a command in a work directory of its own, under the limits of wall
// time and output.
func (s *Sandbox) Run(ctx context.Context, c Command) (Result, error) {
	if err := lookProgram(&c); err != nil {
		return Result{}, fmt.Errorf("sandbox: %w", err)
	}
	if err := c.checkMachine(); err != nil {
		return Result{}, fmt.Errorf("sandbox: %w", err)
	}
	// A directory of its own, with links to the files.
	home, err := os.MkdirTemp("", "beagle-box-")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(home)
	for _, f := range c.Files {
		if err := os.Symlink(f.Host, filepath.Join(home, f.Name)); err != nil {
			return Result{}, err
		}
	}
	// Wall time and output stop the whole process group.
	l := c.Limits.withDefaults(defaults[c.Profile])
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if l.Wall > 0 {
		defer time.AfterFunc(l.Wall, func() { stop(errWall) }).Stop()
	}
	stdout, stderr := &capped{limit: l.Output, stop: stop}, &capped{limit: l.Output, stop: stop}
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Env, cmd.Dir, cmd.Stdin = c.environment(home), pick(c.Dir, home), bytes.NewReader(c.Stdin)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = stdout, stderr, time.Second
	procgroup.Own(cmd)
	start := time.Now()
	err = cmd.Run()
	if cmd.ProcessState == nil {
		return Result{}, fmt.Errorf("sandbox: %w", err)
	}
	// Tell an end by a limit from an end by itself.
	r := Result{Code: cmd.ProcessState.ExitCode(), Stdout: stdout.bytes(), Stderr: stderr.bytes(),
		Wall: time.Since(start),
		User: cmd.ProcessState.UserTime(), System: cmd.ProcessState.SystemTime()}
	cause := context.Cause(ctx)
	if err == nil || r.Code >= 0 && !errors.Is(cause, errOutput) {
		cause = nil
	}
	if r.Code < 0 {
		r.Signal = cmd.ProcessState.String()
	}
	r.Ended = explainEnd(&r, l, cause)
	return r, nil
}
