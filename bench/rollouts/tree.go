//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/beagle-go/beagle/internal/procgroup"
)

// An edit makes a copy of metricsd report its requests.
type edit struct{ file, old, new string }

const probeImport = `	"github.com/beagle-go/beagle/probe/rollout"` + "\n"

// edits stand for an author's changes by hand: a request of the agent is a datagram, one of the
// intake a parcel of series that a client posted.
var edits = []edit{
	{"agent/worker.go", "import (\n", "import (\n" + probeImport},
	{"agent/worker.go", "	w.Counters.Datagrams.Add(1)\n",
		"	defer rollout.Begin().End(false)\n	w.Counters.Datagrams.Add(1)\n"},
	{"intake/processor.go", "import (\n", "import (\n" + probeImport},
	{"intake/processor.go", "		for i := range parcel.Series {\n",
		"		request := rollout.Begin()\n		for i := range parcel.Series {\n"},
	{"intake/processor.go", "		p.counts.series.Add(uint64(len(parcel.Series)))\n",
		"		p.counts.series.Add(uint64(len(parcel.Series)))\n		request.End(false)\n"},
}

// tree returns the path of the copy of metricsd.
func (l *lab) tree() string { return l.file("tree") }

// copyTree makes the copy. An edit that does not fit exactly once is an error: the source has
// changed.
func (l *lab) copyTree(ctx context.Context) error {
	from := filepath.Join(l.root, "metricsd")
	if err := os.RemoveAll(l.tree()); err != nil {
		return err
	}
	// Copy the files, without programs and pages.
	err := filepath.WalkDir(from, func(at string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(from, at)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (rel == "bench" || rel == "docs" || rel == "demo"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(l.tree(), rel), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(l.tree(), rel), text, 0o644)
	})
	if err != nil {
		return err
	}
	// Make the edits.
	for _, e := range edits {
		if err := e.apply(l.tree()); err != nil {
			return err
		}
	}
	// Let the copy find the repository's modules.
	const module = "github.com/beagle-go/beagle/"
	_, err = l.command(ctx, "edit", l.tree(), "go", "mod", "edit", "-require="+module+"probe@v0.0.0",
		"-replace="+module+"probe="+filepath.Join(l.root, "probe"),
		"-replace="+module+"simd="+filepath.Join(l.root, "simd"))
	return err
}

func (e edit) apply(dir string) error {
	file := filepath.Join(dir, filepath.FromSlash(e.file))
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := strings.Count(string(text), e.old); n != 1 {
		return fmt.Errorf("%s holds %q %d times, not once: this command must be brought up to date", e.file, e.old, n)
	}
	return os.WriteFile(file, []byte(strings.Replace(string(text), e.old, e.new, 1)), 0o644)
}

// prepare builds Beagle and the plain metricsd, unless an earlier run has.
func (l *lab) prepare(ctx context.Context) error {
	if _, err := os.Stat(l.file("bin", "metricsd")); err == nil {
		return nil
	}
	l.say("building Beagle and metricsd")
	if err := l.copyTree(ctx); err != nil {
		return err
	}
	if _, err := l.command(ctx, "beagle", l.root, "go", "build", "-o", l.file("bin", "beagle"),
		"./cmd/beagle"); err != nil {
		return err
	}
	_, err := l.command(ctx, "metricsd", l.tree(), "go", "build", "-o", l.file("bin", "metricsd"), ".")
	return err
}

// env returns the environment of every program of the lab: a store of its own, no workspace around
// the copy, and no profile for the compiler.
func (l *lab) env(dir string) []string {
	env := append(os.Environ(), "BEAGLE_HOME="+l.file("home"), "BEAGLE_PROBE_TOKEN="+l.file("token"),
		"GOFLAGS=-pgo=off")
	if dir != l.root {
		env = append(env, "GOWORK=off", "GOFLAGS=-pgo=off -mod=mod")
	}
	return env
}

// command runs a program in a directory and returns what it printed. Its errors go to a log.
func (l *lab) command(ctx context.Context, name, dir, program string, args ...string) ([]byte, error) {
	out, status, err := l.statusOf(ctx, name, dir, program, args...)
	if err == nil && status != 0 {
		err = fmt.Errorf("%s ended with status %d: %s", name, status, l.lastWords(name))
	}
	return out, err
}

// statusOf is command for programs whose exit status is an answer.
func (l *lab) statusOf(ctx context.Context, name, dir, program string, args ...string) ([]byte, int, error) {
	log, err := os.Create(l.file("logs", name+".log"))
	if err != nil {
		return nil, 0, err
	}
	defer log.Close()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, l.env(dir), &out, log
	gently(cmd)
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, 0, ctx.Err()
	case err != nil && !errors.As(err, &exit):
		return nil, 0, fmt.Errorf("%s: %w", name, err)
	}
	return out.Bytes(), cmd.ProcessState.ExitCode(), nil
}

// gently ends a program by SIGINT, as Ctrl-C does, and by force if it does not end.
func gently(cmd *exec.Cmd) {
	procgroup.Lead(cmd)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 20 * time.Second
}

// lastWords returns the end of a log.
func (l *lab) lastWords(name string) string {
	data, err := os.ReadFile(l.file("logs", name+".log"))
	if err != nil {
		return err.Error()
	}
	text := strings.TrimSpace(string(data))
	return text[max(0, len(text)-600):]
}
