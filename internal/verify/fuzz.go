package verify

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
)

// goFuzz lets the standard fuzzer compare the two versions, seeded with the
// corpus.
func goFuzz(ctx context.Context, j *Job) (*Finding, error) {
	if j.Budget.Fuzz < 0 {
		j.note("left out")
		return nil, nil
	}
	vs := []harness.Variant{{ID: "original", Source: j.Env.Unit.Target.Source}, {ID: j.Candidate.ID, Source: j.Candidate.Source}}
	path, err := j.Env.Builder.Fuzz(ctx, vs)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		j.note("no fuzz binary could be built: %v", err)
		return nil, nil
	}
	defer os.Remove(path)
	dir, err := os.MkdirTemp(j.Env.Dir, "fuzz")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := copyFile(filepath.Join(dir, "seeds"), j.learned.files["quick"]); err != nil {
		return nil, err
	}
	r, err := j.Env.Box.Run(ctx, j.fuzzCommand(path, dir))
	if err != nil {
		return nil, err
	}
	if r.Ended == sandbox.Canceled {
		return nil, context.Cause(ctx)
	}
	out := string(r.Stdout) + "\n" + string(r.Stderr)
	j.result.Cases = executions(out)
	j.result.Millis = float64((r.User + r.System).Milliseconds())
	if r.OK() {
		return nil, nil
	}
	return j.fuzzed(ctx, &r, dir, out)
}

func (j *Job) fuzzCommand(path, dir string) sandbox.Command {
	l := j.learned
	env := []string{rt.FuzzSeeds + "=" + filepath.Join(dir, "seeds"), rt.FuzzPanics + "=" + j.panics()}
	l.mu.Lock()
	if l.cap > 0 {
		env = append(env, rt.FuzzCap+"="+strconv.FormatInt(l.cap, 10))
	}
	if l.capLen > 0 {
		env = append(env, rt.FuzzCapLen+"="+strconv.Itoa(l.capLen))
	}
	l.mu.Unlock()
	return sandbox.Command{
		Profile: sandbox.Fuzz, Path: path, Env: env,
		Args: []string{"-test.run=^$", "-test.fuzz=^FuzzBeagle$", "-test.fuzztime=" + j.Budget.Fuzz.String(),
			"-test.fuzzcachedir=" + filepath.Join(dir, "cache"), "-test.fuzzminimizetime=0x", "-test.parallel=2"},
		Dir: dir, Write: []string{dir},
		Limits: sandbox.Limits{Wall: j.Budget.Fuzz + 40*time.Second},
	}
}

var execsLine = regexp.MustCompile(`execs: (\d+)`)

func executions(out string) int {
	all := execsLine.FindAllStringSubmatch(out, -1)
	if len(all) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(all[len(all)-1][1])
	return n
}

// fuzzed reads why a fuzz run failed.
func (j *Job) fuzzed(ctx context.Context, r *sandbox.Result, dir, out string) (*Finding, error) {
	d := barked(out)
	switch {
	case d != nil && d.Kind == "slow":
		j.note("stopped where the original is too slow")
		return nil, nil
	case d != nil:
		if d.Kind != "hang" && d.Kind != "memory" {
			if err := j.confirm(ctx, d); err != nil {
				return nil, err
			}
		}
		switch d.Kind {
		case "hang":
			return &Finding{Status: beagle.Hung, Reason: d.Got, Diff: d}, nil
		case "memory":
			d.Kind = "crash"
			return &Finding{Status: beagle.Crashed, Reason: d.Got, Diff: d}, nil
		}
		return j.differs(d), nil
	case strings.Contains(out, "fuzzing process hung or terminated unexpectedly"):
		return j.fuzzCrash(ctx, dir, out)
	case r.Ended == sandbox.Wall:
		j.note("the fuzzer did not stop in time")
		return nil, nil
	case timeIsOver(out):
		return nil, nil
	}
	return nil, fmt.Errorf("the fuzzer failed (%s, status %d): %s", r.Ended, r.Code, last(out, 2000))
}

// fuzzCrash: a worker died. Who is to blame shows when the harness repeats the
// input, which the fuzzer has written down.
func (j *Job) fuzzCrash(ctx context.Context, dir, out string) (*Finding, error) {
	data, ok := crasher(dir)
	if !ok {
		j.note("a worker of the fuzzer died: %s", last(out, 300))
		return nil, nil
	}
	q := &rt.Replay{Variant: j.idx, Bytes: data, Panics: j.panics()}
	reply := new(rt.ReplayReply)
	exit, err := j.bin.Run(ctx, j.Env.Box, &rt.Request{Replay: q}, reply, harness.RunOptions{CPU: -1})
	switch {
	case err != nil:
		return nil, err
	case exit == nil && reply.Diff != nil:
		return j.differs(reply.Diff), nil
	case exit != nil && exit.Variant == j.idx:
		return j.fatal(ctx, exit, q)
	}
	j.note("stopped at an input that the original does not survive")
	return nil, nil
}

// crasher reads the input that the fuzzer wrote down.
func crasher(dir string) ([]byte, bool) {
	files, _ := filepath.Glob(filepath.Join(dir, "testdata", "fuzz", "FuzzBeagle", "*"))
	if len(files) == 0 {
		return nil, false
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return nil, false
	}
	_, rest, ok := strings.Cut(string(text), "\n[]byte(")
	if !ok {
		return nil, false
	}
	data, err := strconv.Unquote(strings.TrimSuffix(strings.TrimSpace(rest), ")"))
	return []byte(data), err == nil
}

func copyFile(dst, src string) error {
	text, err := os.ReadFile(src)
	if err != nil {
		return err
	}
	return os.WriteFile(dst, text, 0o644)
}

func last(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) > n {
		s = "..." + s[len(s)-n:]
	}
	return s
}

// single writes a file of one record.
func (j *Job) single(args []byte) (path string, remove func(), err error) {
	path = filepath.Join(j.Env.Dir, "single-"+j.Candidate.ID)
	return path, func() { os.Remove(path) }, rt.WriteRecords(path, []rt.Record{{Args: args, Weight: 1}})
}

// timeIsOver reports whether a fuzz run that found nothing was only told that its
// time is over: up to Go 1.26 the end of -fuzztime may be reported as a failure on
// a busy machine (golang/go#75804).
func timeIsOver(out string) bool {
	return strings.Contains(out, "context deadline exceeded") && !strings.Contains(out, "Failing input written")
}
