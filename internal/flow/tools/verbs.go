package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/beagle-go/beagle/internal/companion"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/mcp"
	"github.com/beagle-go/beagle/internal/store"
)

// productionOf returns the tools for production: the verbs of the command line, at the processes
// and profiles that an order names.
func productionOf(o flow.ToolOrder) (mcp.Production, error) {
	home, err := store.Home()
	if err != nil {
		return mcp.Production{}, err
	}
	keep := filepath.Join(home, "captures")
	if err := os.MkdirAll(keep, 0o700); err != nil {
		return mcp.Production{}, err
	}
	return mcp.Production{
		Capture: len(o.At) > 0, PIDs: o.PIDs, Sources: len(o.Sources) > 0, Keep: keep, Veiled: o.Veiled,
		Run: func(ctx context.Context, tell mcp.Progress, verb string, args ...string) (string, int, error) {
			args, err := verbArgs(o, verb, args)
			if err != nil {
				return "", 0, err
			}
			return runVerb(ctx, exec.CommandContext(ctx, o.Beagle, args...), tell, verb)
		},
	}, nil
}

// verbArgs returns the command line of a verb.
func verbArgs(o flow.ToolOrder, verb string, args []string) ([]string, error) {
	before := []string{verb, "-C", o.Spec.Dir}
	if len(o.Spec.Tags) > 0 && verb != "hotspots" {
		before = append(before, "--tags", strings.Join(o.Spec.Tags, ","))
	}
	switch verb {
	case "capture":
		if slices.Contains(args, "--pid") {
			break // the kernel needs no token
		}
		before = append(before, "--at", strings.Join(o.At, ","))
		if o.Token != "" {
			before = append(before, "--token", o.Token)
		}
	case "hotspots":
		args = expandSources(o.Sources, args, "")
	case "bench":
		args = expandSources(o.Sources, args, "--profile")
		if o.Spec.CorpusFile != "" {
			before = append(before, "--corpus", o.Spec.CorpusFile) // a later --corpus counts
		}
	default:
		return nil, fmt.Errorf("no tool does %s", verb)
	}
	return append(before, args...), nil
}

// expandSources puts the server's sources in the place of the word that stands for them, each
// behind a flag if there is one.
func expandSources(sources, args []string, flag string) (out []string) {
	for _, a := range args {
		if a != mcp.ServerSources {
			out = append(out, a)
			continue
		}
		for i, s := range sources {
			if i > 0 && flag != "" {
				out = append(out, flag)
			}
			out = append(out, s)
		}
	}
	return out
}

// patience bounds a verb's time to disarm probes when it is to stop.
const patience = 40 * time.Second

// runVerb runs a verb and passes on its progress.
func runVerb(ctx context.Context, cmd *exec.Cmd, tell mcp.Progress, verb string) (string, int, error) {
	var out bytes.Buffer
	lines := &tellLines{tell: tell, stage: verb}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, lines, patience
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", 0, ctx.Err()
	}
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return "", 0, err
	}
	status := cmd.ProcessState.ExitCode()
	switch bad := companion.Explained(lines.all.String(), verb); {
	case status == 0 || bad == nil:
		return out.String(), status, nil
	case status == 2:
		return "", status, bad
	default:
		return "", status, errors.New(bad.Error())
	}
}

// tellLines reports each line that is written as progress, and keeps all.
type tellLines struct {
	mu    sync.Mutex
	tell  mcp.Progress
	stage string
	rest  []byte
	all   strings.Builder
}

func (w *tellLines) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all.Write(p)
	w.rest = append(w.rest, p...)
	for {
		line, rest, found := bytes.Cut(w.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		w.rest = append([]byte(nil), rest...)
		if text := strings.TrimSpace(string(line)); text != "" {
			w.tell(w.stage, text)
		}
	}
}
