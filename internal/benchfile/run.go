package benchfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/procgroup"
	"github.com/beagle-go/beagle/internal/profiles"
	"github.com/beagle-go/beagle/internal/scratch"
	"github.com/beagle-go/beagle/internal/source"
)

// A Bench is the test program of a target's package.
type Bench struct {
	unit    *source.Unit
	of      *beagle.Target // the function that is compared
	scratch *scratch.Dir
	program string
}

// Build compiles the tests of a unit's package, to profile them below a function, which may be
// another one that these call. The file at that path has this text instead of its text on disk;
// without a path the package stays as it is. pgo names a profile for the compiler, "" for none.
func Build(ctx context.Context, u *source.Unit, of *beagle.Target, path, text, pgo string) (*Bench, error) {
	dir, err := scratch.New("benchfile")
	if err != nil {
		return nil, err
	}
	b := &Bench{unit: u, of: of, scratch: dir, program: filepath.Join(dir.Path, "bench.test")}
	// Without go vet and debug information: it runs once, and profiles of Go have their names.
	args := append([]string{"test", "-c", "-vet=off", "-buildvcs=false", "-ldflags=-s -w", "-o", b.program},
		source.TagFlags(u.Target.Tags)...)
	if pgo != "" {
		args = append(args, "-pgo="+pgo)
	}
	if path != "" {
		overlay, err := source.WriteOverlay(dir.Path, map[string]string{path: text})
		if err != nil {
			b.Close()
			return nil, err
		}
		args = append(args, "-overlay="+overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir = u.Target.PkgDir
	procgroup.Own(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("the tests of %s do not build: %s", u.Target.PkgPath, bytes.TrimSpace(out)),
			Remedy: "make go vet pass there first",
		}
	}
	return b, nil
}

// Close removes the program.
func (b *Bench) Close() { b.scratch.Remove() }

// A Run holds the result of one benchmark.
type Run struct {
	Nanos   float64 // a round of the loop
	Busy    float64 // the same of the processor's time, which no other process makes longer
	Seconds float64 // of a processor that the benchmark had
	Table   *hotspots.Table
	Subtree *hotspots.Subtree
	Part    *beagle.BenchmarkPart // nil when no loop is seen to call the target
	all     []*hotspots.Profile   // of its rounds
	lacking []string              // callees of production that the program does not have
	empty   error                 // says why a round has no profile; others may have one
}

// Lacks notes which callees of production the program does not have. It looks for functions that
// are no methods, since the names of methods have several forms. "[" begins an instance.
func (b *Bench) Lacks(run *Run, production *hotspots.Subtree) error {
	program, err := os.ReadFile(b.program)
	for name := range production.Callees {
		base := name[strings.LastIndexByte(name, '/')+1:]
		has := func(end string) bool { return bytes.Contains(program, []byte("\x00"+name+end)) }
		if strings.Count(base, ".") == 1 && !strings.Contains(base, "[") && !has("\x00") && !has("[") {
			run.lacking = append(run.lacking, name)
		}
	}
	return err
}

// call returns the time of a call, without what the benchmark does between calls.
func (r *Run) call() float64 { return r.Nanos * r.Subtree.Share }

// busy returns the processor's time of a call, without what the benchmark does between calls.
func (r *Run) busy() float64 { return r.Busy * r.Subtree.Share }

// An unreached is the error of a benchmark that does not call the function that is compared.
type unreached struct{ *beagle.UsageError }

func (e unreached) Unwrap() error { return e.UsageError }

var nanosPerOp = regexp.MustCompile(`(?m)\s([0-9]+)\s+([0-9.]+) ns/op`)

// maxRounds bounds how often a benchmark runs for one profile on a machine that is busy otherwise.
const maxRounds = 12

// Profile runs benchmarks until they have used this many seconds of a processor, and returns where
// the time below the target went. pattern is in the form of -bench, and env is added to the
// environment.
func (b *Bench) Profile(ctx context.Context, pattern string, seconds float64, env ...string) (*Run, error) {
	run := &Run{}
	if err := b.extend(ctx, run, pattern, seconds, env); err != nil {
		return nil, err
	}
	return run, nil
}

// extend profiles benchmarks for more seconds, and adds their samples to a run.
func (b *Bench) extend(ctx context.Context, run *Run, pattern string, seconds float64, env []string) error {
	for left, round := seconds, 0; left > seconds/20 && round < maxRounds; round++ {
		p, used, err := b.runOnce(ctx, pattern, min(seconds, max(left, 0.2)), env, run)
		if err != nil {
			return err
		}
		run.all = append(run.all, p...)
		run.Seconds += used
		left -= used
	}
	if len(run.all) == 0 {
		return run.empty
	}
	for _, p := range run.all {
		p.Group = pattern // windows of one program: each sample weighs the same
	}
	var err error
	if run.Table, err = Rank(b.of, run.all); err != nil {
		return err
	}
	run.Subtree, err = run.Table.Subtree(b.of.Spec())
	if err != nil {
		return unreached{&beagle.UsageError{
			What: fmt.Sprintf("%s does not reach %s: none of its %d samples is there", pattern, b.of.Spec(),
				run.Table.Samples),
			Remedy: "benchmark what calls it, or give the profile more samples with --seconds",
		}}
	}
	run.Part = part(run.all, run.Subtree.Symbols)
	return nil
}

// runOnce runs benchmarks once. It returns their profile, and the processor's seconds that they
// had.
func (b *Bench) runOnce(ctx context.Context, pattern string, seconds float64, env []string, run *Run) (
	all []*hotspots.Profile, used float64, err error,
) {
	file := filepath.Join(b.scratch.Path, "cpu.pprof")
	cmd := exec.CommandContext(ctx, b.program, "-test.run=^$", "-test.bench="+pattern, "-test.cpu=1",
		"-test.benchtime="+strconv.FormatFloat(seconds, 'f', 3, 64)+"s", "-test.cpuprofile="+file)
	cmd.Dir = b.unit.Target.PkgDir
	cmd.Env = append(cmd.Environ(), env...)
	procgroup.Own(cmd)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		return nil, 0, &beagle.UsageError{
			What:   fmt.Sprintf("%s fails: %v\n%s", pattern, err, firstLines(string(out)+stderr.String())),
			Remedy: "run it with go test -bench, and mend it",
		}
	}
	m := nanosPerOp.FindSubmatch(out)
	if m == nil {
		return nil, 0, &beagle.UsageError{
			What:   fmt.Sprintf("no benchmark of %s matches %s", b.unit.Target.PkgPath, pattern),
			Remedy: "name one that go test -bench . lists",
		}
	}
	rounds, _ := strconv.ParseFloat(string(m[1]), 64)
	nanos, _ := strconv.ParseFloat(string(m[2]), 64)
	used = cmd.ProcessState.UserTime().Seconds()
	if busy := used * 1e9 / max(rounds, 1); run.Busy == 0 || busy < run.Busy { // the start of the program counts, too
		run.Busy = busy
	}
	if run.Nanos == 0 || nanos < run.Nanos { // what else runs here makes it slower only
		run.Nanos = nanos
	}
	all, err = profiles.Read(ctx, []string{file}, profiles.Options{})
	if empty := (*beagle.UsageError)(nil); errors.As(err, &empty) { // it had the processor for an instant
		run.empty, err = err, nil
	}
	return all, used, err
}

// Rank makes the table of profiles with all functions of the target's module.
func Rank(of *beagle.Target, all []*hotspots.Profile) (*hotspots.Table, error) {
	checkout, err := profiles.Checkout(of.Dir, nil, all)
	if err != nil {
		return nil, err
	}
	return hotspots.Rank(all, hotspots.Options{Kind: hotspots.CPU, Checkout: checkout})
}

// Halves returns the part below the target in the earlier and in the later half of production's
// profiles. It returns none if all began at the same time, as those of several instances do, or if
// one half does not reach the target.
func Halves(of *beagle.Target, all []*hotspots.Profile) (out [2]*hotspots.Subtree, err error) {
	var cpu []*hotspots.Profile
	for _, p := range all {
		if p.Kind == hotspots.CPU {
			cpu = append(cpu, p)
		}
	}
	inorder.By(cpu, func(a, b *hotspots.Profile) int { return a.Start.Compare(b.Start) })
	cut := 0 // the nearest to the middle of where a later profile begins
	for k := 1; k < len(cpu); k++ {
		if cpu[k-1].Start.Before(cpu[k].Start) && max(k, len(cpu)-k) < max(cut, len(cpu)-cut) {
			cut = k
		}
	}
	if cut == 0 {
		return out, nil
	}
	for i, half := range [][]*hotspots.Profile{cpu[:cut], cpu[cut:]} {
		t, err := Rank(of, half)
		if err != nil {
			return out, err
		}
		below, err := t.Subtree(of.Spec())
		var missing *beagle.UsageError
		if errors.As(err, &missing) {
			return [2]*hotspots.Subtree{}, nil
		}
		if err != nil {
			return out, err
		}
		out[i] = below
	}
	return out, nil
}

func firstLines(text string) string {
	lines := strings.SplitN(strings.TrimSpace(text), "\n", 6)
	return strings.Join(lines[:min(len(lines), 5)], "\n")
}
