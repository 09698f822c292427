package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/flow/local"
	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/internal/store"
)

// soon bounds a wait for work of a machine that may be busy.
const soon = 10 * time.Minute

// A following is a run that is followed in the background.
type following struct {
	result *beagle.Result
	err    error
	done   chan struct{}
}

func (f *testFleet) follow(ctx context.Context, id string, spec flow.Spec) *following {
	out := &following{done: make(chan struct{})}
	go func() {
		defer close(out.done)
		out.result, out.err = f.driver().Start(ctx, id, spec)
	}()
	return out
}

func (f *following) over() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// evaluations returns the times at which the verdicts of a store were written: one that is made
// again is written again.
func evaluations(home string) map[string]time.Time {
	out := map[string]time.Time{}
	filepath.WalkDir(filepath.Join(home, "cache", "evaluated"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				out[path] = info.ModTime()
			}
		}
		return nil
	})
	return out
}

// redone counts the verdicts of before that were made again.
func redone(before, after map[string]time.Time) int {
	n := 0
	for path, made := range before {
		if !after[path].Equal(made) {
			n++
		}
	}
	return n
}

// serverTests run on a real server, which is killed or cut off, or wait for it. A run tries some of
// them.
var serverTests = []string{"TestKillsSimulated", "TestWholeRun", "TestCancelKills", "TestCutOff",
	"TestNothingIsPaidTwice", "TestCampaign", "TestCampaignCancel", "TestRolloutStops", "TestRolloutShips"}

const serverTestsDrawn = 3

// drawn skips a test on a server that this run leaves to others.
func drawn(t *testing.T) {
	t.Helper()
	if !slices.Contains(sampletest.Of(t, serverTests, serverTestsDrawn), t.Name()) {
		t.Skip("not drawn; -sample.all tries all tests on a server that is killed, cut off or waited for")
	}
}

// TestKillsSimulated kills and stops workers and kills the server while a run goes on, with
// simulated stages: the trajectory is that of the plain loop.
func TestKillsSimulated(t *testing.T) {
	drawn(t)
	t.Parallel() // it waits for a server to notice what was killed
	f := newFleet(t, "127.0.0.1")
	spec := simSpec(120)
	want, err := plain(&sim{store: openAt(t.TempDir())}, "run", spec, func(*flow.Course) {})
	if err != nil {
		t.Fatal(err)
	}
	r := role{Kinds: fleet.Kinds, Class: "test", Simulate: true, Pause: 30 * time.Millisecond}
	worker := f.worker(r)
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	run := f.follow(ctx, "run", spec)
	kept := map[string]time.Time{}
	for n := range 5 {
		for before := len(evaluations(f.home())); len(evaluations(f.home())) < before+8 && !run.over(); {
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(rand.N(300 * time.Millisecond))
		switch n {
		case 0, 3:
			kill(worker)
		case 4: // told to stop, it gives its work back
			worker.Process.Signal(syscall.SIGTERM)
			if err := worker.Wait(); err != nil {
				t.Errorf("a worker that was told to stop ends with %v", err)
			}
		default:
			kill(f.server)
			f.serve()
			continue
		}
		maps.Copy(kept, evaluations(f.home()))
		worker = f.worker(r)
	}
	<-run.done
	if run.err != nil {
		t.Fatal(run.err)
	}
	if d := firstDifference(run.result.Attempts, want.Log.Attempts); d != "" {
		t.Errorf("the trajectory is not that of the plain loop: %s", d)
	}
	if n := redone(kept, evaluations(f.home())); n > 0 {
		t.Errorf("%d of %d verdicts were made again", n, len(kept))
	}
}

// realSpec returns the spec of a short run on a real function.
func realSpec(t *testing.T) flow.Spec {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	s := flow.Defaults()
	s.Dir, s.Target, s.Candidates, s.Batch, s.Seed = root, "./examples/tags.isNormalizedASCIITag", 16, 8, 3
	s.Measure, s.Fuzz = 2*time.Second, time.Second
	return s
}

// TestWholeRun evolves a real function on a real server, of which a worker and
// the server are killed, and compares with the local driver.
func TestWholeRun(t *testing.T) {
	drawn(t)
	f := newFleet(t, "127.0.0.1")
	spec := realSpec(t)
	r := role{Kinds: fleet.Kinds, Class: "test"}
	worker := f.worker(r)
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	run := f.follow(ctx, "fleet", spec)
	waitFor(t, run, func() bool { return len(evaluations(f.home())) >= 3 })
	kill(worker)
	kept := evaluations(f.home())
	worker = f.worker(r)
	waitFor(t, run, func() bool { return len(evaluations(f.home())) >= 10 })
	kill(f.server)
	f.serve()
	<-run.done
	if run.err != nil {
		t.Fatal(run.err)
	}
	if n := redone(kept, evaluations(f.home())); n > 0 {
		t.Errorf("%d of %d verdicts were made again", n, len(kept))
	}
	kill(worker)
	same(t, f, run.result)
}

// same lets the local driver take the same way, from the same inputs with the
// same verdicts.
func same(t *testing.T, f *testFleet, got *beagle.Result) {
	t.Helper()
	s := openAt(f.home())
	for _, name := range []string{"spec", "prepared"} {
		var v json.RawMessage
		if ok, err := s.Load(got.Run, name, &v); err != nil || !ok {
			t.Fatal(ok, err)
		}
		if err := s.Save("local", name, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SaveRun(store.Run{ID: "local", State: store.Stopped}); err != nil {
		t.Fatal(err)
	}
	before := evaluations(f.home())
	want, err := (&local.Driver{Store: s}).Resume(context.Background(), "local")
	if err != nil {
		t.Fatal(err)
	}
	if d := firstDifference(got.Attempts, want.Attempts); d != "" {
		t.Errorf("the trajectory is not that of the local driver: %s", d)
	}
	if after := evaluations(f.home()); len(after) != len(before) || redone(before, after) > 0 {
		t.Errorf("the local driver made %d verdicts anew", len(after)-len(before)+redone(before, after))
	}
	if got.Best.ID != want.Best.ID || got.Search != want.Search || got.Outcome != want.Outcome {
		t.Errorf("%s %s after %+v, the local driver %s %s after %+v", got.Outcome, got.Best.ID, got.Search,
			want.Outcome, want.Best.ID, want.Search)
	}
}

func waitFor(t *testing.T, run *following, done func() bool) {
	t.Helper()
	for !done() {
		if run.over() {
			t.Fatalf("the run ended early: %v", run.err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestCancelKills: a canceled run leaves no process behind, and can be taken up
// again.
func TestCancelKills(t *testing.T) {
	drawn(t)
	if runtime.GOOS != "linux" {
		t.Skip("it looks for processes in /proc")
	}
	f := newFleet(t, "127.0.0.1")
	worker := f.worker(role{Kinds: fleet.Kinds, Class: "test"})
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	run := f.follow(ctx, "fleet", realSpec(t))
	waitFor(t, run, func() bool { return len(f.leftovers(worker)) > 0 })
	if err := f.driver().Cancel(ctx, "fleet", false); err != nil {
		t.Fatal(err)
	}
	<-run.done
	var canceled *fleet.Canceled
	if !errors.As(run.err, &canceled) {
		t.Errorf("the run ended with %v", run.err)
	}
	if left := f.leftovers(worker); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if r, err := openAt(f.home()).Run("fleet"); err != nil || r.State != store.Canceled {
		t.Errorf("the entry is %+v (%v)", r, err)
	}
	detached, leave := context.WithCancel(ctx)
	leave()
	if _, err := f.driver().Resume(detached, "fleet"); err == nil {
		t.Error("followed although nobody waits")
	}
}

// TestCutOff: of three workers one loses the network in the middle of a
// measurement; another takes its work, and nothing is lost.
func TestCutOff(t *testing.T) {
	drawn(t)
	t.Parallel() // it waits for a server to notice what was killed
	if os.Getuid() != 0 {
		t.Skip("it takes root to make a network namespace")
	}
	const ip, space, link = "10.231.7.1", "beagle-test", "beagle0"
	ipCommand := func(args ...string) error { return exec.Command("ip", args...).Run() }
	if err := ipCommand("netns", "add", space); err != nil {
		t.Skipf("a network namespace cannot be made here: ip netns add: %v", err)
	}
	t.Cleanup(func() { ipCommand("link", "del", link); ipCommand("netns", "del", space) })
	for _, args := range [][]string{
		{"link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space},
		{"addr", "add", ip + "/24", "dev", link}, {"link", "set", link, "up"},
		{"-n", space, "addr", "add", "10.231.7.2/24", "dev", "eth0"}, {"-n", space, "link", "set", "eth0", "up"}, {"-n", space, "link", "set", "lo", "up"},
	} {
		if err := ipCommand(args...); err != nil {
			t.Skipf("a network namespace cannot be connected here: ip %v: %v", args, err)
		}
	}
	f := newFleet(t, ip)
	spec := simSpec(40)
	want, err := plain(&sim{store: openAt(t.TempDir())}, "run", spec, func(*flow.Course) {})
	if err != nil {
		t.Fatal(err)
	}
	f.worker(role{
		Kinds:    slices.DeleteFunc(slices.Clone(fleet.Kinds), func(k string) bool { return k == benchKind }),
		Class:    "test",
		Simulate: true,
	})
	bench := role{Kinds: []string{benchKind}, Class: "test", Simulate: true, Pause: 200 * time.Millisecond}
	away := f.worker(bench, "ip", "netns", "exec", space)
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	run := f.follow(ctx, "run", spec)
	waitFor(t, run, func() bool { return len(evaluations(f.home())) >= 5 }) // the one in the namespace measures, alone
	if err := ipCommand("link", "set", link, "down"); err != nil {
		t.Fatal(err)
	}
	ipCommand("addr", "replace", ip+"/32", "dev", "lo") // the server stays where it is
	t.Cleanup(func() { ipCommand("addr", "del", ip+"/32", "dev", "lo") })
	f.worker(bench)
	<-run.done
	if run.err != nil {
		t.Fatal(run.err)
	}
	if d := firstDifference(run.result.Attempts, want.Log.Attempts); d != "" {
		t.Errorf("the trajectory is not that of the plain loop: %s", d)
	}
	if away.ProcessState != nil {
		t.Error("the worker that was cut off has ended")
	}
}
