package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A command is a program that a step ran, with the files that hold what it printed.
type command struct {
	Line      string  `json:"line"`
	Dir       string  `json:"dir"` // relative to the repository
	Status    int     `json:"status"`
	Seconds   float64 `json:"seconds"`
	Processor float64 `json:"processor_seconds"`
	Out       string  `json:"out"` // relative to the results
	Log       string  `json:"log"`
}

// A work is one attempt at a step.
type work struct {
	*demo
	dir      string
	commands []command
}

func (w *work) file(name string) string { return filepath.Join(w.dir, name) }

// env returns the environment of every program: the demo's own store, and no profile for the
// compiler, since building metricsd with its profile takes minutes.
func (d *demo) env() []string {
	return append(os.Environ(), "BEAGLE_HOME="+d.home(), "GOFLAGS=-pgo=off", "BEAGLE_PROBE_TOKEN="+d.token(),
		// Patches are applied to copies in here: git must not take the repository around it for
		// theirs.
		"GIT_CEILING_DIRECTORIES="+d.out)
}

func (d *demo) token() string { return filepath.Join(d.home(), "token") }

// beagle runs a beagle command in metricsd's directory. Statuses above 0 are results, not errors.
func (w *work) beagle(ctx context.Context, name string, args ...string) ([]byte, int, error) {
	return w.program(ctx, name, w.module, w.bin("beagle"), args...)
}

// must runs a command that has to succeed.
func (w *work) must(ctx context.Context, name, dir, program string, args ...string) ([]byte, error) {
	out, status, err := w.program(ctx, name, dir, program, args...)
	if err == nil && status != 0 {
		err = fmt.Errorf("%s: status %d: %s", name, status, lastLines(w.file(name+".log"), 4))
	}
	return out, err
}

// program runs a program to its end, and keeps its output. The program has a process group of its
// own. On an interrupt, or when its time is over, it gets one SIGINT. The end of its time is no
// error.
func (w *work) program(ctx context.Context, name, dir, program string, args ...string) ([]byte, int, error) {
	var out bytes.Buffer
	log, err := os.Create(w.file(name + ".log"))
	if err != nil {
		return nil, 0, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, program, args...)
	// The standard output is the result, and the standard error is the log.
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, w.env(), &out, log
	gently(cmd)
	start := time.Now()
	err = cmd.Run()
	var exit *exec.ExitError
	// When its time is over the program ends as on an interrupt: with the results so far.
	late := errors.Is(ctx.Err(), context.DeadlineExceeded)
	switch {
	case ctx.Err() != nil && !late:
		return nil, 0, ctx.Err()
	case cmd.ProcessState == nil || err != nil && !late && !errors.As(err, &exit):
		return nil, 0, cmp.Or(err, ctx.Err())
	}
	// The page lists the command as one could type it.
	c := command{
		Line: w.line(program, args), Dir: w.relative(w.root, dir), Status: cmd.ProcessState.ExitCode(),
		Seconds:   time.Since(start).Seconds(),
		Processor: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(),
		Out:       w.relative(w.out, w.file(name+".txt")), Log: w.relative(w.out, w.file(name+".log")),
	}
	w.commands = append(w.commands, c)
	return out.Bytes(), c.Status, os.WriteFile(w.file(name+".txt"), out.Bytes(), 0o644)
}

// gently ends a program and its children by SIGINT, as Ctrl-C does, and by force if they do not
// end.
func gently(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 30 * time.Second
}

// line returns a command as a person would type it, in the directory of the repository that it ran
// in.
func (w *work) line(program string, args []string) string {
	words := []string{strings.TrimPrefix(program, w.bin("")+"/")}
	for _, a := range args {
		a = strings.ReplaceAll(a, w.out, w.relative(w.module, w.out))
		if strings.ContainsAny(a, " '{}*") {
			a = "'" + a + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

// relative names a file as seen from a directory.
func (w *work) relative(from, file string) string {
	if r, err := filepath.Rel(from, file); err == nil {
		return r
	}
	return file
}

func lastLines(file string, n int) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}
