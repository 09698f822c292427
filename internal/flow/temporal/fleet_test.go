package temporal

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/porttest"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/store"
)

// roleVariable makes a process of the test binary something else than a test.
const roleVariable = "BEAGLE_FLEET_ROLE"

// A role is the work of such a process.
type role struct {
	Home   string   `json:"home"`
	Server string   `json:"server"`
	Kinds  []string `json:"kinds"`
	Class  string   `json:"class"`

	// Simulated stages, whose evaluations take so long; and, for a process
	// that starts a run, its size.
	Simulate   bool          `json:"simulate"`
	Known      bool          `json:"known"` // real stages except the judge
	Pause      time.Duration `json:"pause"`
	Candidates int           `json:"candidates"`
	Batch      int           `json:"batch"`
	Strategy   string        `json:"strategy"`

	Patient bool `json:"patient"` // as users' workers are: much work is lost with one that is taken for dead
}

func TestMain(m *testing.M) {
	sandbox.Main()
	if os.Getenv(serviceVariable) != "" {
		runService()
	}
	// Workers are killed again and again, and each time the run waits until the server knows.
	patience := beatTimeout
	beatTimeout, beatEvery, taskTimeout = beatTimeout/9, beatEvery/3, taskTimeout/3
	flow.Brief()
	// Most tests wait for a server. -parallel overrides this.
	flag.Set("test.parallel", strconv.Itoa(runtime.GOMAXPROCS(0)+2))
	text := os.Getenv(roleVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var r role
	err := json.Unmarshal([]byte(text), &r)
	if r.Patient {
		beatTimeout = patience
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if r.Candidates > 0 {
			err = r.measure(ctx)
		} else {
			err = r.work(ctx)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (r *role) server() fleet.Server { return fleet.Server{Address: r.Server, Namespace: "default"} }

// work runs a worker until ctx ends.
func (r *role) work(ctx context.Context) error {
	s, err := store.Open(r.Home)
	if err != nil {
		return err
	}
	c, err := Dial(ctx, r.server())
	if err != nil {
		return err
	}
	defer c.Close()
	w := &Worker{Store: s, Kinds: r.Kinds, MachineKind: r.Class, Says: func(format string, args ...any) {
		fmt.Printf(format+"\n", args...)
	}}
	if r.Simulate {
		w.Open = func(watch flow.Watcher) Stages { return &sim{store: s, watch: watch, pause: r.Pause} }
	}
	if r.Known {
		w.Open = func(watch flow.Watcher) Stages {
			return &known{Activities: &flow.Activities{Store: s, Watch: watch}, pause: r.Pause}
		}
	}
	return w.Serve(ctx, c)
}

// serverVariable names the program of the server, which ci.sh builds: that
// takes minutes when nothing of it is in the build cache.
const serverVariable = "BEAGLE_DEVSERVER"

// A testFleet is a server, its workers and their store, in processes of their own.
type testFleet struct {
	t       *testing.T
	dir     string
	ip      string
	port    int
	server  *exec.Cmd
	workers int
}

func newFleet(t *testing.T, ip string) *testFleet {
	t.Helper()
	if os.Getenv(serverVariable) == "" {
		t.Skip(serverVariable +
			" names no Temporal server; 'bash internal/flow/temporal/ci.sh' builds one and runs this test")
	}
	f := &testFleet{t: t, dir: t.TempDir(), ip: ip}
	f.port = porttest.Free(t, ip)
	porttest.ForTemporal(t, f.db())
	f.serve()
	return f
}

func (f *testFleet) address() string { return fmt.Sprintf("%s:%d", f.ip, f.port) }
func (f *testFleet) home() string    { return filepath.Join(f.dir, "home") }
func (f *testFleet) db() string      { return filepath.Join(f.dir, "temporal.db") }

// serve starts the server, on the file of the one before.
func (f *testFleet) serve() {
	f.t.Helper()
	f.server = exec.Command(os.Getenv(serverVariable), "-db", f.db(), "-ip", f.ip, "-port", fmt.Sprint(f.port))
	f.server.Env = append(os.Environ(), "GOGC=400") // it is short of processor time, not of memory
	f.start(f.server, "serving")
}

// start starts a process, ends it with the test, and waits until it says that
// it is ready.
func (f *testFleet) start(c *exec.Cmd, ready string) {
	f.t.Helper()
	out, err := c.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(f.dir, fmt.Sprintf("%s-%d.log", filepath.Base(c.Path), time.Now().UnixNano())))
	if err != nil {
		f.t.Fatal(err)
	}
	c.Stderr = log
	if err := c.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { kill(c); log.Close() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), ready) {
			go func() {
				for lines.Scan() {
				}
			}()
			return
		}
	}
	text, _ := os.ReadFile(log.Name())
	f.t.Fatalf("%s ended before it was ready:\n%s", c.Path, text)
}

func kill(c *exec.Cmd) {
	c.Process.Kill()
	c.Wait()
}

// worker starts a worker, after the words of another command if there are
// any. Each has a scratch directory of its own, as a machine would.
func (f *testFleet) worker(r role, behind ...string) *exec.Cmd {
	f.t.Helper()
	r.Home, r.Server = f.home(), f.address()
	text, _ := json.Marshal(r)
	f.workers++
	tmp := filepath.Join(f.dir, fmt.Sprint("tmp", f.workers))
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		f.t.Fatal(err)
	}
	args := append(behind, os.Args[0])
	c := exec.Command(args[0], args[1:]...)
	c.Env = append(os.Environ(), roleVariable+"="+string(text), "TMPDIR="+tmp)
	last := "queue " // the last that a worker says before it works
	if len(r.Kinds) > 0 {
		last = "takes work from"
	}
	f.start(c, last)
	return c
}

func (f *testFleet) driver() *Driver {
	return &Driver{
		Store:       openAt(f.home()),
		Server:      fleet.Server{Address: f.address(), Namespace: "default"},
		MachineKind: "test",
	}
}

// leftovers returns the processes that live on in the fleet's directories.
func (f *testFleet) leftovers(except ...*exec.Cmd) []string {
	var out []string
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		exe, _ := os.Readlink(filepath.Join(p, "exe"))
		cwd, _ := os.Readlink(filepath.Join(p, "cwd"))
		line, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		if !strings.Contains(exe+" "+cwd+" "+string(line), filepath.Join(f.dir, "tmp")) {
			continue
		}
		mine := false
		for _, c := range except {
			mine = mine || p == fmt.Sprintf("/proc/%d", c.Process.Pid)
		}
		if !mine {
			out = append(out, filepath.Base(p)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return out
}
