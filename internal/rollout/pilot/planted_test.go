package pilot

import (
	"context"
	"errors"
	"hash/crc32"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/probe"
	probed "github.com/beagle-go/beagle/probe/rollout"
	"github.com/beagle-go/beagle/probe/rollout/rollouthttp"
	"github.com/beagle-go/beagle/probe/wire"
)

// plantedVariable has the test binary be a service whose candidate is the bad one of that name.
const plantedVariable = "BEAGLE_PLANTED"

func TestMain(m *testing.M) {
	if name := os.Getenv(plantedVariable); name != "" {
		plantedService(name)
	}
	os.Exit(m.Run())
}

var payload = make([]byte, 2048)

// work returns the function on trial: some microseconds.
func work(n int) (sum uint32, err error) {
	payload := payload[:1024+n%1024]
	return crc32.ChecksumIEEE(payload) ^ crc32.Checksum(payload, castagnoli), nil
}

var castagnoli = crc32.MakeTable(crc32.Koopman)

// Bad candidates keep these alive.
var (
	keptMu sync.Mutex
	kept   [][]byte
	sink   atomic.Pointer[[]byte]
	calls  atomic.Int64
)

var errPlanted = errors.New("planted")

// A planted candidate is bad: off says what must switch it off, and most bounds the requests that
// it answers before.
type planted struct {
	off       string
	most      float64
	candidate func(n int) (uint32, error)
}

// bad are the candidates. The process takes some out by itself; others the judge rolls back.
var bad = map[string]planted{
	"panics on one call in 20,000": {"panicked", 300_000, func(n int) (uint32, error) {
		if n%20_000 == 77 {
			panic("planted")
		}
		return work(n)
	}},
	"gives another result on one call in 100": {"another result", 300_000, func(n int) (uint32, error) {
		sum, err := work(n)
		if n%100 == 7 {
			sum++
		}
		return sum, err
	}},
	"fails one call in ten": {"failed|errors is worse|another result", 300_000, func(n int) (uint32, error) {
		if n%10 == 7 {
			return 0, errPlanted
		}
		return work(n)
	}},
	"fails one call in 100": {"errors is worse|another result", 300_000, func(n int) (uint32, error) {
		if n%100 == 7 {
			return 0, errPlanted
		}
		return work(n)
	}},
	// Slices in which a call hangs may show as slow first: in nine blocks of nine, once.
	"hangs on one call in 50,000": {"did not return|no data|could not be used|slow is worse", 300_000,
		func(n int) (uint32, error) {
			if n%50_000 == 77 {
				select {}
			}
			return work(n)
		}},
	"is forty times as slow on one class": {"is worse", 300_000, func(n int) (uint32, error) {
		if n%20 == 7 {
			for range 39 {
				work(n)
			}
		}
		return work(n)
	}},
	"is 50 % slower": {"is worse", 300_000, func(n int) (uint32, error) {
		if n%2 == 0 {
			work(n)
		}
		return work(n)
	}},
	"sleeps on one call in 500": {"slow is worse|is worse", 300_000, func(n int) (uint32, error) {
		if n%500 == 7 {
			time.Sleep(3 * time.Millisecond)
		}
		return work(n)
	}},
	"leaks memory": {"the live heap grew|alloc-bytes is worse", 300_000, func(n int) (uint32, error) {
		if n%20 == 0 {
			keptMu.Lock()
			kept = append(kept, make([]byte, 16<<10))
			keptMu.Unlock()
		}
		return work(n)
	}},
	"leaks goroutines": {"goroutines|is worse", 300_000, func(n int) (uint32, error) {
		if n%50 == 0 {
			go func() { select {} }()
		}
		return work(n)
	}},
	"allocates a kilobyte a call": {"is worse", 300_000, func(n int) (uint32, error) {
		b := make([]byte, 1024+n%8)
		sink.Store(&b)
		return work(n)
	}},
	"contends for a lock": {"is worse", 300_000, func(n int) (uint32, error) {
		keptMu.Lock()
		defer keptMu.Unlock()
		for range 3 {
			work(n)
		}
		return work(n)
	}},
	"becomes slow after a while": {"is worse", 300_000, func(n int) (uint32, error) {
		if calls.Add(1) > 200_000 {
			work(n)
			work(n)
		}
		return work(n)
	}},
}

var plantedSwitch probed.Switch

// routed is work as generated code has it.
func routed(n int) (out uint32, err error) {
	if !plantedSwitch.On() {
		return work(n)
	}
	c := plantedSwitch.Enter()
	defer c.Leave()
	defer func() {
		if c.Saves() {
			if recover() != nil {
				c.Forgiven()
				out, err = work(n)
				c.Saved()
			}
		}
	}()
	if c.Arm == probed.Candidate {
		out, err = candidate(n)
	} else {
		out, err = work(n)
	}
	c.Done(err != nil)
	if c.Check() {
		c.Compare(func() bool {
			x, e := work(n)
			return probed.Same(x, out) && probed.Same(e, err)
		})
	}
	return out, err
}

var candidate = work

// plantedService answers requests from four clients until it is killed.
func plantedService(name string) {
	if name != same {
		candidate = bad[name].candidate
	}
	probed.Register(&plantedSwitch, "m/p.Work", "b1", probed.ReturnsErrors, probed.ComparesResults)
	probe.FromEnvironment()
	var next atomic.Int64
	h := rollouthttp.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 4 {
			if _, err := routed(int(next.Add(1))); err != nil {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
		}
	}))
	for range 4 {
		go func() {
			for n := 0; ; n++ {
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
				if n%50 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
		}()
	}
	time.Sleep(20 * time.Minute) // a test that was killed leaves no service for long
	os.Exit(1)
}

// service starts the test binary as a service.
func service(t *testing.T, name string) *capture.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "planted") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), plantedVariable+"="+name, probe.EnvSocket+"="+socket, probe.EnvToken+"="+token)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	clients, err := capture.New([]string{socket}, token)
	if err != nil {
		t.Fatal(err)
	}
	for range 6000 { // generous: the machine is shared
		if s, err := Look(t.Context(), clients, "p.Work"); err == nil && s.Requests {
			return clients[0]
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the service does not answer")
	return nil
}

// flyPlanted rolls the candidate of a service out, for a bounded number of blocks.
func flyPlanted(t *testing.T, c *capture.Client, blocks int) (*rollout.Experiment, rollout.Decision) {
	t.Helper()
	plan, _ := Plan(rollout.Plan{Ramp: []float64{0.1, 0.25}, StepBlocks: 20, Horizon: 300, MostBlocks: 100_000,
		SlowMillis: 2}, &wire.RolloutSwitch{Function: "m/p.Work", Build: "b1", Requests: true, Errors: true})
	e, err := rollout.New(plan)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute) // generous: the machine is shared
	defer cancel()
	enough := func(e *Flight) error {
		if e.State.Blocks >= blocks {
			cancel()
		}
		return nil
	}
	p := &Pilot{Crew: Crew{Clients: []*capture.Client{c}, Beat: 200 * time.Millisecond},
		Flight: &Flight{Experiment: *e}, Limits: wire.RolloutOrders{Slice: 4, Turns: 3, Stuck: 1}, Save: enough}
	d, err := p.Run(ctx)
	e = &p.Flight.Experiment
	if err != nil && e.State.Blocks < blocks {
		t.Fatalf("%v; %+v; %+v", err, d, e.Standings())
	}
	return e, d
}

// same is a candidate with which nothing is wrong.
const same = "is the same"

// TestSameService: the safeguards let a candidate pass with which nothing is wrong. Each may err in
// a few of 100 rollouts. A run tries two, and the whole test three. Where two of them err, three
// more are tried, of which one may, and then three more. That all of these err is no chance.
func TestSameService(t *testing.T) {
	if testing.Short() {
		t.Skip("runs services for some seconds each")
	}
	rolledBack := func(rollouts int) (causes []string) {
		for range rollouts {
			c := service(t, same)
			if e, d := flyPlanted(t, c, 80); e.State.Phase == rollout.RolledBack {
				causes = append(causes, d.Cause)
			}
		}
		return causes
	}
	rollouts := 2
	if sampletest.All() {
		rollouts = 3
	}
	for _, n := range []int{rollouts, 3, 3} {
		causes := rolledBack(n)
		if len(causes) < 2 {
			return
		}
		t.Logf("%d of %d were rolled back: %q", len(causes), n, causes)
	}
	t.Error("a candidate with which nothing is wrong is rolled back time and again")
}

// drawn is the number of bad candidates that a run tries.
const drawn = 2

// TestPlantedService: in a real service under load each bad candidate is off within its budget. A
// run tries a few of them, drawn anew each time.
func TestPlantedService(t *testing.T) {
	if testing.Short() {
		t.Skip("runs services for some seconds each")
	}
	for _, name := range sampletest.Of(t, slices.Sorted(maps.Keys(bad)), drawn) {
		row := bad[name]
		t.Run(name, func(t *testing.T) {
			e, d := flyPlanted(t, service(t, name), 100_000)
			said := false
			for _, word := range strings.Split(row.off, "|") {
				said = said || strings.Contains(d.Cause, word)
			}
			if e.State.Phase != rollout.RolledBack || !said {
				t.Errorf("%s: %s, want %q", e.State.Phase, d.Cause, row.off)
			}
			if n := e.State.Exposure.Requests; n > row.most {
				t.Errorf("it answered %.0f requests, more than %.0f", n, row.most)
			}
			t.Logf("off after %.0f requests and %d blocks: %s", e.State.Exposure.Requests, e.State.Blocks, d.Cause)
		})
	}
}
