//go:build unix

package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// workEnv has this test binary be a benchmark: a file to which each iteration adds a letter, or
// twoLoops.
const (
	workEnv  = "BEAGLE_TEST_TURNS"
	twoLoops = "two loops"
)

func TestMain(m *testing.M) {
	path := os.Getenv(workEnv)
	switch {
	case path == "":
		os.Exit(m.Run())
	case path == twoLoops:
		Loop("b", 1)
		Loop("b", 1)
		os.Exit(0)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	letter := []byte{byte('a' + plan.Turns.Own)}
	Loop("b", 1)
	for {
		Tick()
		f.Write(letter)
	}
}

// startTurns starts processes that take turns.
func startTurns(t *testing.T, work string, of int) (cmds []*exec.Cmd, reports []string) {
	t.Helper()
	dir := t.TempDir()
	for i := range of {
		if err := syscall.Mkfifo(filepath.Join(dir, strconv.Itoa(i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range of {
		report := filepath.Join(dir, "report"+strconv.Itoa(i))
		text, err := json.Marshal(Plan{Mode: Alternate, Version: i, Report: report,
			Budget: int64(50 * time.Millisecond), Slice: int64(time.Millisecond),
			Seed: 3, Turns: &Turns{Dir: dir, Own: i, Of: of}})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), PlanEnv+"="+string(text), workEnv+"="+work, "GOMAXPROCS=1")
		cmd.Stderr = &bytes.Buffer{}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds, reports = append(cmds, cmd), append(reports, report)
	}
	return cmds, reports
}

// TestTurns has three processes take turns: each slice is of the same number of iterations, no
// process runs in the slice of another, and all report the same number of slices.
func TestTurns(t *testing.T) {
	work := filepath.Join(t.TempDir(), "work")
	cmds, reports := startTurns(t, work, 3)
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("process %d: %v: %s", i, err, cmd.Stderr)
		}
	}
	calls, counts := 0, []int{}
	for i, path := range reports {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines, n := strings.Split(strings.TrimSpace(string(text)), "\n"), 0
		for k, text := range lines {
			var l Line
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				t.Fatal(err)
			}
			if l.Done != (k == len(lines)-1) {
				t.Errorf("process %d, line %d: done %v", i, k, l.Done)
			}
			if l.Slices != nil {
				if calls == 0 {
					calls = l.Slices.Calls
				}
				if l.Slices.Calls != calls {
					t.Errorf("slices of %d and of %d iterations", calls, l.Slices.Calls)
				}
				n += len(l.Slices.Wall[0])
			}
		}
		counts = append(counts, n)
	}
	if counts[0] == 0 || slices.Max(counts) != slices.Min(counts) {
		t.Errorf("the processes had %v slices", counts)
	}
	// The last in a round may be the first in the next one.
	text, err := os.ReadFile(work)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.TrimLeft(text, "a") // process 0 sought the length of a slice
	for len(text) > 0 {
		run := len(text) - len(bytes.TrimLeft(text, string(text[:1])))
		if run%calls != 0 && run < len(text) {
			t.Fatalf("%c ran %d iterations, and slices are of %d", text[0], run, calls)
		}
		text = text[run:]
	}
}

func TestTwoLoops(t *testing.T) {
	cmds, _ := startTurns(t, twoLoops, 1)
	err := cmds[0].Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitPlan {
		t.Fatalf("%v: %s", err, cmds[0].Stderr)
	}
	if said := cmds[0].Stderr.(*bytes.Buffer).String(); !strings.Contains(said, "two loops") {
		t.Errorf("it says %q", said)
	}
}

func TestBaton(t *testing.T) {
	for _, n := range []int{stop, 0, 1, 255, 256, maxCalls, 1 << 40} {
		if got := decode(encode(n)); got != n {
			t.Errorf("%d is read as %d", n, got)
		}
	}
}

// TestLoopTimesWork: calls before a loop over the iterations, and after it, are preparation: no
// slice of theirs counts, and the budget waits.
func TestLoopTimesWork(t *testing.T) {
	was := plan
	defer func() { plan, clock, timing, word = was, timer{}, false, 0 }()
	plan = Plan{Mode: Time, Versions: []int{0, 1}, Slice: 1, Budget: int64(time.Hour)}
	clock = timer{}
	clock.begin()
	clock.told = time.Now().Add(time.Hour) // no rounds are reported, and forgotten
	call := func(n int) {
		for range n {
			Turn()
		}
	}
	slices := func() int { return clock.slices }
	call(20)
	if slices() == 0 {
		t.Fatal("without a loop all calls count")
	}
	Loop("b", 1)
	if call(1); slices() != 0 || clock.calls != firstCalls {
		t.Errorf("%d rounds of %d calls, of the preparation", slices(), clock.calls)
	}
	call(20)
	rounds, began := slices(), clock.timeBudget.began
	Over()
	if call(1000); rounds == 0 || slices() != rounds {
		t.Errorf("%d rounds, and %d with what came after the loop", rounds, slices())
	}
	time.Sleep(time.Millisecond)
	Loop("b", 2)
	if call(20); slices() <= rounds || clock.timeBudget.began.Sub(began) < time.Millisecond {
		t.Errorf("%d rounds after %d, and %v more time", slices(), rounds, clock.timeBudget.began.Sub(began))
	}
}
