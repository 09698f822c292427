package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/mcp"
	"github.com/beagle-go/beagle/internal/store"
)

// production returns the tools for production: the verbs of the command line, at the processes
// and profiles that the flags name.
func (o *mcpOptions) production(spec *flow.Spec) (mcp.Production, error) {
	home, err := store.Home()
	if err != nil {
		return mcp.Production{}, err
	}
	keep := filepath.Join(home, "captures")
	if err := os.MkdirAll(keep, 0o700); err != nil {
		return mcp.Production{}, err
	}
	return mcp.Production{
		Capture: len(o.at) > 0, PIDs: o.pids, Sources: len(o.sources) > 0, Keep: keep,
		Run: func(ctx context.Context, tell mcp.Progress, verb string, args ...string) (string, int, error) {
			return o.verb(ctx, spec, tell, verb, args)
		},
	}, nil
}

// verb carries out a verb as its command does.
func (o *mcpOptions) verb(
	ctx context.Context, spec *flow.Spec, tell mcp.Progress, verb string, args []string,
) (string, int, error) {
	var c *command
	before := []string{"-C", spec.Dir}
	if len(spec.Tags) > 0 && verb != "hotspots" {
		before = append(before, "--tags", strings.Join(spec.Tags, ","))
	}
	switch verb {
	case "capture":
		c = captureCommand
		if slices.Contains(args, "--pid") {
			break // the kernel needs no token
		}
		before = append(before, "--at", strings.Join(o.at, ","))
		if o.token != "" {
			before = append(before, "--token", o.token)
		}
	case "hotspots":
		c, args = hotspotsCommand, o.named(args, "")
	case "bench":
		c, args = benchCommand, o.named(args, "--profile")
		if spec.CorpusFile != "" {
			before = append(before, "--corpus", spec.CorpusFile) // a later --corpus counts
		}
	default:
		return "", exitNo, fmt.Errorf("no tool does %s", verb)
	}
	var out bytes.Buffer
	status, err := c.run(ctx, c, append(before, args...), stdio{&out, &tellLines{tell: tell, stage: verb}})
	return out.String(), status, err
}

// named puts the server's sources in the place of the word that stands for them, each behind a flag
// if there is one.
func (o *mcpOptions) named(args []string, flag string) (out []string) {
	for _, a := range args {
		if a != mcp.ServerSources {
			out = append(out, a)
			continue
		}
		for i, s := range o.sources {
			if i > 0 && flag != "" {
				out = append(out, flag)
			}
			out = append(out, s)
		}
	}
	return out
}

// tellLines reports each line that is written as progress.
type tellLines struct {
	mu    sync.Mutex
	tell  mcp.Progress
	stage string
	rest  []byte
}

func (w *tellLines) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
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
