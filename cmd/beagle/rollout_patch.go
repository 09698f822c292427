package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inject"
	"github.com/beagle-go/beagle/internal/scratch"
	"github.com/beagle-go/beagle/internal/source"
)

// rolloutPatch prints a patch with both versions behind a switch, for people to merge.
func rolloutPatch(ctx context.Context, o *rolloutFlags) (int, error) {
	candidate, err := filepath.Abs(o.rest[0])
	if err != nil {
		return exitUsage, err
	}
	// Write the patch into a scratch directory, and compile it there.
	v, err := hiddenVersions(ctx, o.dir, candidate, o.rest[1])
	if err != nil {
		return exitUsage, err
	}
	dir, err := scratch.New("patch")
	if err != nil {
		return exitNo, err
	}
	defer dir.Remove()
	p, err := inject.WritePatch(ctx, inject.Options{Dir: o.dir, Versions: v}, dir.Path)
	if err != nil {
		return exitUsage, err
	}
	if err := o.compiles(ctx, p, dir.Path); err != nil {
		return exitNo, err
	}
	// Print it.
	for _, f := range p.Files {
		fmt.Fprint(o.std.out, source.Diff(f.Path, f.Before, f.After))
	}
	note := "apply it with 'git apply', in the directory of go.mod, and build with -ldflags=-funcalign=64"
	if !p.Required {
		note += ", and add the switch to go.mod: 'go get github.com/beagle-go/beagle/probe'"
	}
	fmt.Fprintf(o.std.err, "rollout %s: the patched package compiles with its tests; build %s\n%s\n", v.Spec, v.Build,
		note)
	return exitOK, nil
}

// compiles has the go command compile the patched package with its tests. Nothing of the candidate
// runs.
func (o *rolloutFlags) compiles(ctx context.Context, p *inject.Patch, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w",
		"-o", filepath.Join(dir, "compiled"), "-overlay="+p.Overlay, p.Package)
	cmd.Dir, cmd.Env = o.dir, os.Environ()
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return &beagle.UsageError{What: "the patched package does not compile: " + strings.TrimSpace(string(text)),
			Remedy: "use beagle build --rollout, whose names cannot clash with yours"}
	}
	return err
}
