package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// service measures a benchmark of the service at two revisions: the working tree and an older one,
// whose benchmark is that of the working tree. Each turn is three processes: the old, the new, and
// the old once more. The time of a process is the processor's, user and system, less that of the
// same process with one operation.
func service(o *options, args []string) error {
	was := o.flags.String("was", "HEAD", "the older revision")
	pkg := o.flags.String("package", "agent", "the package, beside metricsd/go.mod")
	bench := o.flags.String("bench", "", "the benchmark")
	file := o.flags.String("file", "bench_test.go", "the file of the benchmark, which the older revision gets too")
	n := o.flags.Int("n", 1000, "operations of a process")
	each := o.flags.Int("each", 1, "what one operation holds: messages, series")
	if err := o.flags.Parse(args); err != nil {
		return err
	}
	if *bench == "" {
		return errors.New("no benchmark; give -bench")
	}
	// Build both programs before the turns: a build beside a measurement would disturb it.
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	b := builder{root: root, pkg: *pkg, file: *file}
	if b.scratch, err = os.MkdirTemp("", "posts"); err != nil {
		return err
	}
	defer os.RemoveAll(b.scratch)
	programs, err := b.both(*was)
	if err != nil {
		return err
	}
	names := []string{"before", "after", "before, again"}
	all := make([][]float64, len(names))
	// Run old, new, old in turns: the two old rows are the same program, so their difference is the
	// noise.
	for turn := range o.turns {
		for i := range names {
			w := (i + turn) % len(names)
			c, err := process(programs[w%2], *bench, *n)
			if err != nil {
				return err
			}
			all[w] = append(all[w], c/float64(*each))
		}
	}
	t := &table{
		Name:    *bench + " of metricsd/" + *pkg,
		Columns: []string{"revision", "ns of processor time", "share of before"},
	}
	for i, name := range names {
		t.add(name, median(all[i]), ratioOf(all[i], all[0]))
	}
	return o.print(t)
}

// A builder builds a package's tests at two revisions.
type builder struct{ root, pkg, file, scratch string }

// both builds the benchmark's program at the old revision and at the working tree. The older one
// gets the working tree's benchmark laid over its file, so that both do the same.
func (b *builder) both(was string) ([2]string, error) {
	old := filepath.Join(b.scratch, "tree")
	if err := command1("git", "-C", b.root, "worktree", "add", "--detach", old, was); err != nil {
		return [2]string{}, err
	}
	defer command1("git", "-C", b.root, "worktree", "remove", "--force", old)
	oldRoot := filepath.Join(old, "metricsd")
	overlay := filepath.Join(b.scratch, "overlay.json")
	content, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(oldRoot, b.pkg, b.file): filepath.Join(b.root, b.pkg, b.file),
	}})
	if err == nil {
		err = os.WriteFile(overlay, content, 0o600)
	}
	if err != nil {
		return [2]string{}, err
	}
	programs := [2]string{filepath.Join(b.scratch, "before.test"), filepath.Join(b.scratch, "after.test")}
	return programs, errors.Join(b.build(oldRoot, programs[0], "-overlay", overlay), b.build(b.root, programs[1]))
}

func (b *builder) build(root, to string, flags ...string) error {
	args := append([]string{"-C", root, "test", "-pgo=off", "-c", "-o", to}, flags...)
	return command1("go", append(args, "./"+b.pkg)...)
}

func command1(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// process returns the processor time of one operation among n, in nanoseconds.
func process(program, bench string, n int) (float64, error) {
	one, err := processOf(program, bench, 1)
	if err != nil {
		return 0, err
	}
	all, err := processOf(program, bench, n)
	return (all - one) / float64(n-1), err
}

func processOf(program, bench string, n int) (float64, error) {
	c := exec.Command(program, "-test.run", "^$", "-test.bench", bench, "-test.benchtime", strconv.Itoa(n)+"x")
	c.Dir = filepath.Dir(program)
	c.Env = append(os.Environ(), "GOMAXPROCS=1")
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "ns/op") {
		return 0, fmt.Errorf("%s -test.bench %s: no benchmark was run: %v\n%s", program, bench, err, out)
	}
	return float64((c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Nanoseconds()), nil
}
