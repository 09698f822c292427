package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/temporal"
	"github.com/beagle-go/beagle/internal/flow/tools"
	"github.com/beagle-go/beagle/internal/hotspots/flame"
	"github.com/beagle-go/beagle/internal/hotspots/sketch"
	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/uprobe"
	"github.com/beagle-go/beagle/internal/verify"
)

// TestMain lets scripts call beagle as a command of their own.
func TestMain(m *testing.M) {
	sandbox.Main()
	// Many scripts wait for services and clocks. -parallel overrides this.
	flag.Set("test.parallel", strconv.Itoa(runtime.GOMAXPROCS(0)+1))
	testscript.Main(m, map[string]func(){
		"beagle":          func() { collectLess(); brief(); plant(); os.Exit(run(os.Args[1:], stdio{os.Stdout, os.Stderr})) },
		"beagle-temporal": func() { brief(); os.Exit(temporal.Main()) },
		"beagle-uprobe":   func() { os.Exit(uprobe.Main(os.Args[1:])) },
		"beagle-mcp":      func() { brief(); os.Exit(tools.Main(os.Args[1:])) },
		"beagle-flame":    func() { os.Exit(flame.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"scripted-agent":  scriptedAgent,
	})
}

// briefVariable has the commands of scripts judge versions briefly. The first search of TestReadme
// judges them as users' searches do in one of three runs.
const briefVariable = "BRIEF_CHECKS"

func brief() {
	if os.Getenv(briefVariable) != "" {
		flow.Brief()
	}
}

// plant puts a check that panics where a script asks for it: before all others, or,
// for "quick", into a search's check, for the first version that comes to it.
func plant() {
	what := os.Getenv("PLANTED_PANIC")
	var once sync.Once
	var first string
	planted := verify.Check{Name: "planted", Run: func(_ context.Context, j *verify.Job) (*verify.Rejection, error) {
		once.Do(func() { first = j.Candidate.ID })
		if what == "quick" && j.Candidate.ID != first {
			return nil, nil
		}
		panic("planted")
	}}
	switch what {
	case "":
	case "quick":
		verify.QuickLadder = slices.Insert(verify.QuickLadder, 0, planted)
	default:
		verify.ReadingLadder = slices.Insert(verify.ReadingLadder, 0, planted)
	}
}

// TestScripts runs the command as its users do: testdata/script/*.txtar.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, scripts(t, "testdata/script"))
}

// servicesDrawn is the number of scripts of testdata/service that a run tries: each takes up to a
// minute.
const servicesDrawn = 1

// TestServiceScripts runs captures, campaigns and rollouts on services that run.
func TestServiceScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, sampletest.Of(t, scripts(t, "testdata/service"), servicesDrawn))
}

// scripts returns the scripts of a directory.
func scripts(t *testing.T, dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %s: %v", dir, err)
	}
	return files
}

func runScripts(t *testing.T, files []string) {
	testscript.Run(t, testscript.Params{
		Files:               files,
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":   status,
			"until":    untilStatus,
			"ships":    ships,
			"harmless": harmless,
			"await":    await,
			"profile":  writeProfile,
			"armed":    armed,
			"attached": attached,
			"number":   number,
			"history":  writeHistory,
			"blocks":   writeBlocks,
			"resting":  resting,
		},
		Setup:     setup,
		Condition: condition,
	})
}

// setup lets scripts build without a network, and share the build cache:
// without it each would compile the standard library anew.
func setup(e *testscript.Env) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	e.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
	e.Setenv("GOFLAGS", "-mod=mod")
	e.Setenv("GOPROXY", "off")
	e.Setenv("GOWORK", "off")
	if probe, err := filepath.Abs("../../probe"); err == nil {
		e.Setenv("PROBE_MODULE", probe) // for services that import the probe
	}
	if simd, err := filepath.Abs("../../simd"); err == nil {
		e.Setenv("SIMD_MODULE", simd) // for modules that replace simd
	}
	if model, err := filepath.Abs("../../internal/forecast/toto/testdata/published"); err == nil {
		e.Setenv("TOTO_MODEL", model) // small, with random weights
	}
	e.Setenv(briefVariable, "1")
	e.Setenv("DOUBT", strings.Join(doubts, "|"))
	home := filepath.Join(e.WorkDir, "home")
	e.Setenv("BEAGLE_HOME", home)
	return shareArchives(home)
}

// shareArchives gives a home the archives of harness programs that other tests compiled. They are
// kept by their content, as in Go's build cache. The homes of TestReadme begin without.
func shareArchives(home string) error {
	shared := os.Getenv("BEAGLE_HOME")
	if shared == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		shared = filepath.Join(cache, "beagle")
	}
	shared = filepath.Join(shared, "harness")
	for _, dir := range []string{shared, home} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return os.Symlink(shared, filepath.Join(home, "harness"))
}

// status runs a command that must end with a status: status 2 beagle evolve.
func status(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitStatus(ts, args[1:]); got != want {
		ts.Fatalf("%q ends with status %d, want %d", args[1:], got, want)
	}
}

// untilStatus runs a command until it ends with a status: until 1 beagle capture start. It is for
// commands that look at another process, which a busy machine may stop for a while.
func untilStatus(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	const most = 5 * time.Minute
	for start := time.Now(); time.Since(start) < most; {
		if exitStatus(ts, args[1:]) == want {
			return
		}
	}
	ts.Fatalf("%q never ends with status %d", args[1:], want)
}

// exitStatus runs a command and returns its status.
func exitStatus(ts *testscript.TestScript, command []string) int {
	err := ts.Exec(command[0], command[1:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}

// doubts are the words of a rollout that ends without a harm that is shown. On a machine that does
// much else they may be the right answer on a good candidate. Scripts have them as $DOUBT.
var doubts = []string{"inconclusive after", "though not beyond doubt", "the hold-out did not show the gain in",
	"got no traffic while another did"}

// ships starts a rollout of a good candidate: ships ARGUMENTS OF ROLLOUT START. It may end in
// doubt; a harm that is shown, and anything else, is an error.
func ships(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec("beagle", append([]string{"rollout", "start"}, args...)...)
	out := ts.ReadFile("stdout")
	doubt := slices.ContainsFunc(doubts, func(words string) bool { return strings.Contains(out, words) })
	if err != nil && !doubt {
		ts.Fatalf("the candidate is good, and did not ship: %v", err)
	}
}

// harmless rehearses a good candidate: harmless ARGUMENTS OF ROLLOUT REHEARSE. The judge errs now
// and then, so harm that a guardrail shows counts only three times in a row. All other harm is an
// error at once.
func harmless(ts *testscript.TestScript, _ bool, args []string) {
	const tries = 3
	for range tries {
		got := exitStatus(ts, append([]string{"beagle", "rollout", "rehearse"}, args...))
		out := ts.ReadFile("stdout")
		byChance := strings.Contains(out, "on the candidate: guardrail ")
		switch {
		case got == exitOK:
			return
		case got != exitNo || !byChance:
			ts.Fatalf("the rehearsal of a good candidate ends with status %d: %s", got, out)
		}
	}
	ts.Fatalf("a good candidate has harm %d times in a row", tries)
}

// writeProfile makes a profile of a sketch: profile sketch.txt cpu.pprof.
func writeProfile(ts *testscript.TestScript, _ bool, args []string) {
	made, err := sketch.Parse(ts.ReadFile(args[0]))
	ts.Check(err)
	data, err := made.Bytes()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o666))
}

// TestFullDisk checks that a full disk is said with what to do about it.
func TestFullDisk(t *testing.T) {
	c := &command{name: "evolve", run: func(context.Context, *command, []string, stdio) (int, error) {
		return exitOK, fmt.Errorf("store: write x: %w", &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
	}}
	var said bytes.Buffer
	if status := finish(stdio{&said, &said}, c, nil, t.Context()); status != exitNo ||
		!strings.Contains(said.String(), "make room") || !strings.Contains(said.String(), "BEAGLE_HOME") {
		t.Errorf("status %d: %s", status, said.String())
	}
}
