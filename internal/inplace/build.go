package inplace

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/gotool"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/inplace/live"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/tail"
)

// compile writes the overlay of a program and builds its binaries. It returns the versions that
// the compiler refuses, and why.
func (p *Place) compile(ctx context.Context, g *Program, texts map[int]string) (map[int]string, error) {
	o := maps.Clone(p.base)
	pkg := p.u.Target.PkgDir
	for i, text := range texts {
		if err := o.put(g.dir, filepath.Join(pkg, fmt.Sprintf("beagle_v%d.go", i)), text); err != nil {
			return nil, err
		}
	}
	shell := *p.shell
	shell.tape = p.tape
	text := shell.file(inorder.Keys(texts))
	if err := o.put(g.dir, filepath.Join(pkg, "beagle_dispatch.go"), text); err != nil {
		return nil, err
	}
	if err := p.hookSuites(o); err != nil {
		return nil, err
	}
	g.overlayText = filepath.Join(g.dir, "overlay.json")
	if err := o.write(g.overlayText); err != nil {
		return nil, err
	}
	return p.link(ctx, g)
}

// link runs the go command for each suite.
func (p *programs) link(ctx context.Context, g *Program) (map[int]string, error) {
	g.paths, g.why = make([]string, len(p.suites)), make([]string, len(p.suites))
	built := 0
	for i, s := range p.suites {
		path := filepath.Join(g.dir, fmt.Sprintf("suite%d-%d.test", i, g.link.Layout))
		refused, err := p.goTest(ctx, g.overlayText, g.link, s.pkg, path)
		if err != nil {
			return nil, err
		}
		if refused == "" {
			g.paths[i] = path
			built++
			continue
		}
		if blamed := blame(refused); len(blamed) > 0 {
			return blamed, nil
		}
		g.why[i] = refused
	}
	if built == 0 {
		return nil, fmt.Errorf("%w: %s", errRefused, strings.Join(g.why, "\n"))
	}
	return nil, nil
}

// BuildStarting does what Build does for versions that may keep the program from starting. It
// leaves those out.
func (p *Place) BuildStarting(ctx context.Context, vs []Version) (*Program, error) {
	g, err := p.Build(ctx, vs, Link{FuncAlign: alignment})
	if err != nil {
		return nil, err
	}
	if p.u.Scope.Group() {
		return g, p.startWhole(ctx, g)
	}
	// Start the program with all versions.
	why, err := p.start(ctx, g)
	if err != nil || why == "" {
		return g, err
	}
	g.Remove()
	// It does not start: try each version alone with the original.
	left, failed := slices.Clone(vs), map[int]string{}
	for i := 1; i < len(vs); i++ {
		one, err := p.Build(ctx, []Version{vs[0], vs[i]}, Link{})
		if err != nil {
			return nil, err
		}
		why, err := p.start(ctx, one)
		one.Remove()
		if err != nil {
			return nil, err
		}
		if why != "" {
			failed[i], left[i] = why, vs[0] // the original takes its place
		}
	}
	// Build once more without those that spoil the start.
	if g, err = p.Build(ctx, left, Link{FuncAlign: alignment}); err == nil {
		maps.Copy(g.Failed, failed)
	}
	return g, err
}

// alignment of functions in programs that screen, so that chance has less of a say.
const alignment = 64

// startTime bounds the start of a program without a test to run.
const startTime = 10 * time.Second

// start returns the reason why a program does not start, or "".
func (p *programs) start(ctx context.Context, g *Program) (string, error) {
	for i := range p.suites {
		if g.paths[i] == "" {
			continue
		}
		r, err := p.run(ctx, g, job{suite: i, plan: live.Plan{Mode: live.Run}, wall: startTime})
		if err != nil {
			return "", err
		}
		if !r.OK() {
			return "the program does not start: " + outputOf(r.Result), nil
		}
	}
	return "", nil
}

// Relink lays the same code out anew.
func (p *programs) Relink(ctx context.Context, g *Program, layout uint64) (*Program, error) {
	n := *g
	n.link.Layout = layout
	n.paths = nil
	if p.u.Scope.Group() {
		return &n, p.linkWhole(ctx, &n)
	}
	_, err := p.link(ctx, &n)
	return &n, err
}

// goTest builds the tests of one package. It returns the go command's message if it refused.
func (p *programs) goTest(
	ctx context.Context, over string, link Link, pkg *gotool.Listed, path string,
) (string, error) {
	args := append([]string{"test", "-c", "-vet=off", "-buildvcs=false", "-trimpath", "-overlay=" + over, "-o", path},
		p.tools.TagArgs()...)
	flags := harness.Link{FuncAlign: link.FuncAlign, Layout: link.Layout}.LinkerFlags()
	args = append(args, "-ldflags="+strings.Join(flags, " "))
	env := append(p.tools.Env(), source.Roomy...)
	if link.Race {
		args, env = append(args, "-race"), append(env, "CGO_ENABLED=1")
	}
	r, err := p.box.Run(ctx, sandbox.Command{
		Profile: sandbox.Build, Path: p.tools.Command(), Args: append(args, pkg.ImportPath), Dir: p.u.Target.PkgDir,
		Env: env, Read: p.read, Write: []string{p.dir, p.tools.GOCACHE},
	})
	switch {
	case err != nil:
		return "", err
	case r.Ended == sandbox.Canceled:
		return "", context.Cause(ctx)
	}
	if _, err := os.Stat(path); !r.OK() || err != nil {
		return outputOf(r), nil
	}
	return "", nil
}

// maxSaid bounds what messages repeat of a program's output.
const maxSaid = 600

func outputOf(r sandbox.Result) string {
	out := strings.TrimSpace(string(r.Stderr) + "\n" + string(r.Stdout))
	if out == "" {
		return fmt.Sprintf("it ended with %s %d %s", r.Ended, r.Code, r.Signal)
	}
	return tail.Short(out, maxSaid)
}

var atVersion = regexp.MustCompile(`(?m)beagle_v(\d+)\.go:(\d+)(?::\d+)?: (.*)$`)

// blame finds out from the compiler's messages which versions it means.
func blame(messages string) map[int]string {
	out := map[int]string{}
	for _, m := range atVersion.FindAllStringSubmatch(messages, -1) {
		i, err := strconv.Atoi(m[1])
		if err == nil && out[i] == "" {
			out[i] = "line " + m[2] + ": " + strings.ReplaceAll(m[3], suffix(i), "")
		}
	}
	return out
}
