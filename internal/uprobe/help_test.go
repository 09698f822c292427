//go:build linux

package uprobe

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/probe/wire"
)

var tell sync.Once

// privileged skips a test that the kernel does not let attach anything. The reason is printed once,
// also without -v: a test that was not made must not look like one that passed.
func privileged(t *testing.T) {
	t.Helper()
	k, err := loadKernel(nil, nil)
	if err != nil {
		tell.Do(func() { fmt.Fprintf(os.Stderr, "internal/uprobe: tests with uprobes are skipped: %v\n", err) })
		t.Skip(err)
	}
	k.close()
}

// Services that tests of this run have built, by the flags.
var (
	building sync.Mutex
	built    = map[string]string{}
	programs []string
)

func TestMain(m *testing.M) {
	if pid := os.Getenv(childVariable); pid != "" {
		if err := child(pid); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	status := m.Run()
	for _, dir := range programs {
		os.RemoveAll(dir)
	}
	os.Exit(status)
}

// build builds the service of testdata with flags of go build.
func build(t *testing.T, flags ...string) (program string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a service")
	}
	building.Lock()
	defer building.Unlock()
	if program = built[strings.Join(flags, " ")]; program != "" {
		return program
	}
	dir, err := os.MkdirTemp("", "beagle-uprobe-test-") // a test's own directory is too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	programs = append(programs, dir)
	probe, err := filepath.Abs("../../probe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS("testdata/service")); err != nil {
		t.Fatal(err)
	}
	mod := "module example.com/service\n\ngo 1.26.0\n\nrequire github.com/beagle-go/beagle/probe v0.0.0\n\n" +
		"replace github.com/beagle-go/beagle/probe => " + probe + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600); err != nil {
		t.Fatal(err)
	}
	program = compile(t, dir, filepath.Join(dir, "service"), flags...)
	built[strings.Join(flags, " ")] = program
	return program
}

// compile builds the module of a directory.
func compile(t *testing.T, dir, program string, flags ...string) string {
	t.Helper()
	c := exec.Command("go", append(append([]string{"build", "-o", program}, flags...), ".")...)
	c.Dir, c.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// start runs a program until the test ends.
func start(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(program, args...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Env = append(os.Environ(), "BEAGLE_PROBE_RAW=1", "BEAGLE_PROBE_SOCKET="+program+".%p",
		"BEAGLE_PROBE_TOKEN="+program+".token")
	if err := os.WriteFile(program+".token", []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the service says %q: %v", line, err)
	}
	return c
}

const token = "a token of the tests alone"

// serve finds functions of a process and serves them, without a socket.
func serve(t *testing.T, pid int, symbols string, names ...string) *Server {
	t.Helper()
	b, err := Open(pid, symbols)
	if err != nil {
		t.Fatal(err)
	}
	var all []*Function
	for _, n := range names {
		found, err := b.Find(n)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	v, err := NewServer(b, all, Cost{Emulated: 700, Stepped: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() { v.Run(done); close(stopped) }()
	t.Cleanup(func() { close(done); <-stopped })
	return v
}

// do carries out a request that must not be refused.
func do(t *testing.T, v *Server, q wire.Request) (wire.Reply, []byte) {
	t.Helper()
	r, payload, err := v.carryOut(&q)
	if err != nil {
		t.Fatalf("%s: %v", q.Verb, err)
	}
	return r, payload
}

// patience is for machines that do other things: a test that works needs a fraction of it.
const patience = 2 * time.Minute

// collect captures at least n calls, or all that come when the process ends.
func collect(t *testing.T, v *Server, q wire.Start, n int) ([]wire.Event, *wire.Status) {
	t.Helper()
	if q.Rate == 0 {
		q.Rate = 1000
	}
	q.Events, q.Bytes = 4096, 16<<20
	lease := ""
	r, _ := do(t, v, wire.Request{Verb: wire.VerbStart, Start: &q})
	lease = r.Lease
	var all []wire.Event
	for began := time.Now(); len(all) < n && time.Since(began) < patience; time.Sleep(tick) {
		if _, _, err := v.carryOut(&wire.Request{Verb: wire.VerbBeat, Lease: lease}); err != nil {
			t.Logf("ended: %v", err)
			break
		}
		var payload []byte
		r, payload = do(t, v, wire.Request{Verb: wire.VerbPull})
		events, err := wire.ReadEvents(payload)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, events...)
	}
	do(t, v, wire.Request{Verb: wire.VerbStop, Lease: lease})
	return all, r.Status
}

// fields returns the arguments of a call without holes.
func fields(t *testing.T, b []byte) []rt.Value {
	t.Helper()
	v, err := rt.ParseValue(b)
	if err != nil {
		t.Fatalf("%x: %v", b, err)
	}
	return v.Elems
}
