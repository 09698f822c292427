package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/procgroup"
	"github.com/beagle-go/beagle/internal/scratch"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/suite"
)

// external runs the command Against on a copy of the task's package, and takes the function from
// the resulting files. A command that fails, takes too long or leaves code that does not compile
// has found nothing: that is an answer, not an error.
func (r *Runner) external(ctx context.Context, t suite.Task, seed uint64) (*suite.Run, error) {
	run := &suite.Run{Seed: seed}
	// Copy the task's package.
	original, err := text(ctx, t.Dir, t.Target)
	if err != nil {
		return nil, err
	}
	run.Source = original
	place, err := scratch.New("suite")
	if err != nil {
		return nil, err
	}
	defer place.Remove()
	dir := filepath.Join(place.Path, t.Name)
	if err := copyPackage(t.Dir, dir); err != nil {
		return nil, err
	}
	// Run the command.
	r.say("  seed %d: %s", seed, r.Against)
	start := time.Now()
	said, err := r.command(ctx, t, seed, dir)
	run.Seconds = time.Since(start).Seconds()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		run.Reason = fmt.Sprintf("the command failed: %v%s", err, said)
		return run, nil
	}
	// Take the function from the files that it left.
	changed, err := text(ctx, dir, t.Target)
	switch {
	case err != nil:
		run.Reason = "what the command left does not load: " + oneLineOf(err)
	case changed == original:
		run.Reason = "the command left the function as it was"
	default:
		run.Source = changed
	}
	return run, nil
}

// text is the function of a package as a candidate file, with the helpers that
// only it uses.
func text(ctx context.Context, dir, target string) (string, error) {
	unit, err := source.Load(ctx, source.Options{Dir: dir, Spec: target})
	if err != nil {
		return "", err
	}
	return unit.Target.Source, nil
}

// oneLineOf returns what is wrong, without the remedy and in one line.
func oneLineOf(err error) string {
	var bad *beagle.UsageError
	if errors.As(err, &bad) {
		return bad.What
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// copyPackage makes a module of the Go files of a task: with its tests, and without the expert's
// version and the description.
func copyPackage(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(from, "*.go"))
	if err != nil {
		return err
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(path)), text, 0o644); err != nil {
			return err
		}
	}
	if data := filepath.Join(from, "testdata"); isDir(data) {
		if err := os.CopyFS(filepath.Join(to, "testdata"), os.DirFS(data)); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(to, "go.mod"),
		[]byte("module suite.test/"+filepath.Base(to)+"\n\ngo 1.26\n"), 0o644)
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// stopGrace is the time for a command to stop.
const stopGrace = 5 * time.Second

// command runs the optimiser in dir, and returns the end of its output. When its time is over, it
// and all its processes are stopped.
func (r *Runner) command(ctx context.Context, t suite.Task, seed uint64, dir string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, r.Limit)
	defer stop()
	file, err := declaring(dir, t.Target)
	if err != nil {
		return "", err
	}
	c := exec.CommandContext(ctx, "sh", "-c", r.Against)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOWORK=off", "BEAGLE_SUITE_TASK="+t.Name, "BEAGLE_SUITE_DIR="+dir,
		"BEAGLE_SUITE_FILE="+file,
		"BEAGLE_SUITE_FUNC="+t.Target, fmt.Sprintf("BEAGLE_SUITE_SEED=%d", seed),
		fmt.Sprintf("BEAGLE_SUITE_CANDIDATES=%d", r.Spec.Candidates),
		fmt.Sprintf("BEAGLE_SUITE_SECONDS=%.0f", r.Limit.Seconds()))
	procgroup.Own(c)
	c.WaitDelay = stopGrace
	out, err := c.CombinedOutput()
	if ctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("it was stopped after %v (--against-time)", r.Limit)
	}
	return lastLines(string(out)), err
}

// declaring is the file of a package that declares the target.
func declaring(dir, target string) (string, error) {
	unit, err := source.Load(context.Background(), source.Options{Dir: dir, Spec: target})
	if err != nil {
		return "", err
	}
	return unit.Target.File, nil
}

// lastLines shows the end of a command's output, after a colon.
func lastLines(s string) string {
	const most = 400
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	if len(s) > most {
		s = "..." + strings.ToValidUTF8(s[len(s)-most:], "") // the cut may lie within a character
	}
	return ": " + strings.ReplaceAll(s, "\n", "; ")
}
