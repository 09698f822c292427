package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	compileGoal = 100.0 // processor seconds of compilers and the linker
	memoryGoal  = 1.0   // GB, of a compiler process
	sizeGoal    = 40.0  // MB of the binary
)

// firstBuild compiles beagle from an empty build cache, as `go run ./cmd/beagle` does on a machine
// that has the modules and nothing else.
func firstBuild(ctx context.Context, l *lab) (*section, error) {
	b := &fromNothing{lab: l, dir: filepath.Join(l.dir, "build")}
	defer os.RemoveAll(b.dir)
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return nil, err
	}
	binary := filepath.Join(b.dir, "beagle")
	imports, err := b.goCommand(ctx, "list", "-f", `{{join .Imports "\n"}}`, "./cmd/beagle").Output()
	if err != nil {
		return nil, fmt.Errorf("list what beagle imports: %w", err)
	}
	// Build the packages first and the binary second, so that the linker's memory is not counted as
	// the compiler's.
	compiler, err := b.build(ctx, "packages", strings.Fields(string(imports))...)
	if err != nil {
		return nil, err
	}
	linker, err := b.build(ctx, "binary", "-o", binary, "./cmd/beagle")
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(binary)
	if err != nil {
		return nil, err
	}
	return b.section(float64(compiler)/1e9, float64(linker)/1e9, float64(info.Size())/1e6), nil
}

// fromNothing is a build with a cache of its own.
type fromNothing struct {
	*lab
	dir     string
	actions []buildAction
}

// A buildAction is the go command's account of one step of a build.
type buildAction struct {
	Mode, Package   string
	CmdUser, CmdSys time.Duration // processor time of the commands that it ran
}

func (a buildAction) seconds() float64 { return (a.CmdUser + a.CmdSys).Seconds() }

func (b *fromNothing) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir, c.Stderr = b.root, os.Stderr
	c.Env = append(os.Environ(), "GOCACHE="+filepath.Join(b.dir, "cache"))
	return c
}

// build runs go build and returns the memory of its largest process in bytes.
func (b *fromNothing) build(ctx context.Context, name string, args ...string) (peak int64, err error) {
	graph := filepath.Join(b.dir, name+".json")
	args = append([]string{"build", "-buildvcs=false", "-debug-actiongraph=" + graph}, args...)
	c := b.goCommand(ctx, args...)
	if err := c.Run(); err != nil {
		return 0, fmt.Errorf("build the %s: %w", name, err)
	}
	data, err := os.ReadFile(graph)
	if err != nil {
		return 0, err
	}
	var actions []buildAction
	if err := json.Unmarshal(data, &actions); err != nil {
		return 0, fmt.Errorf("the go command's graph of actions: %w", err)
	}
	b.actions = append(b.actions, actions...)
	return peakOf(c.ProcessState.SysUsage()), nil
}

// section compares the figures with the goals. Memory is in GB, the size in MB.
func (b *fromNothing) section(compiler, linker, size float64) *section {
	s := new(section)
	all, packages := 0.0, 0
	for _, a := range b.actions {
		all += a.seconds()
		if a.Mode == "build" && a.CmdUser > 0 {
			packages++
		}
	}
	s.limit("processor seconds of a first build", all, compileGoal)
	s.limit("memory of a compiler process, GB", compiler, memoryGoal)
	s.limit("the binary, MB", size, sizeGoal)
	s.text = table([]string{"what", "figure", "goal"}, [][]string{
		{"packages compiled", fmt.Sprint(packages), ""},
		{"processor seconds of compilers and the linker", fmt.Sprintf("%.1f", all), fmt.Sprint(compileGoal)},
		{"memory of the largest compiler process, GB", fmt.Sprintf("%.2f", compiler), fmt.Sprint(memoryGoal)},
		{"memory of the linker, GB", fmt.Sprintf("%.2f", linker), ""},
		{"the binary, MB", fmt.Sprintf("%.1f", size), fmt.Sprint(sizeGoal)},
	})
	slices.SortStableFunc(b.actions, func(x, y buildAction) int { return cmp.Compare(y.seconds(), x.seconds()) })
	var rows [][]string
	for _, a := range b.actions[:min(10, len(b.actions))] {
		rows = append(rows, []string{a.Mode + " `" + a.Package + "`", fmt.Sprintf("%.1f", a.seconds())})
	}
	s.text += "\nThe ten most expensive steps:\n\n" + table([]string{"step", "processor seconds"}, rows)
	return s
}
