package temporal

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/ledger"
	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
	"github.com/beagle-go/beagle/probe"
	probed "github.com/beagle-go/beagle/probe/rollout"
	"github.com/beagle-go/beagle/probe/rollout/rollouthttp"
	"github.com/beagle-go/beagle/probe/wire"
)

// serviceVariable makes the test binary a service with two versions of a function.
const serviceVariable = "BEAGLE_TEST_SERVICE"

var (
	gateway    probed.Switch
	payload    = make([]byte, 2048)
	polynomial = crc32.MakeTable(crc32.Koopman)
)

// sum does its work three times in the original, and once in the candidate.
func sum(n, times int) (out uint32) {
	for range times {
		out = crc32.Checksum(payload[:1024+n%1024], polynomial)
	}
	return out
}

func switched(n int) uint32 {
	if !gateway.On() {
		return sum(n, 3)
	}
	c := gateway.Enter()
	defer c.Leave()
	times := 3
	if c.Arm == probed.Candidate {
		times = 1
	}
	out := sum(n, times)
	c.Done(false)
	return out
}

// runService answers requests until it is killed.
func runService() {
	probed.Register(&gateway, "m/p.Sum", "b1")
	probe.FromEnvironment()
	h := rollouthttp.Handler(http.HandlerFunc(func(_ http.ResponseWriter, _ *http.Request) {
		for n := range 8 {
			switched(n)
		}
	}))
	for n := 0; ; n++ {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		if n%50 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

// A site is a service under a rollout that a workflow drives.
type site struct {
	*testFleet
	clients []*capture.Client
	base    pilot.Base
	driver  *Driver
}

// newSite starts a server and a service, and writes the order of a rollout.
func newSite(t *testing.T, plan rollout.Plan) *site {
	t.Helper()
	s := &site{testFleet: newFleet(t, "127.0.0.1")}
	dir, err := os.MkdirTemp("", "site") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	token, socket := filepath.Join(dir, "token"), filepath.Join(dir, "s")
	if err := os.WriteFile(token, []byte("0123456789abcdef0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serviceVariable+"=1", probe.EnvSocket+"="+socket, probe.EnvToken+"="+token)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(cmd) })
	if s.clients, err = capture.New([]string{socket}, token); err != nil {
		t.Fatal(err)
	}
	until(t, "the service", func() bool {
		held, err := pilot.Look(t.Context(), s.clients, "p.Sum")
		return err == nil && held.Requests
	})
	plan.Function, plan.Build = "m/p.Sum", "b1"
	plan.Guardrails = []rollout.Guardrail{{Metric: rollout.ErrorRate, Margin: 0.01}}
	e, err := rollout.New(plan)
	if err != nil {
		t.Fatal(err)
	}
	s.base, s.driver = pilot.Base{Store: openAt(s.home()), ID: "x"}, s.testFleet.driver()
	order := pilot.Order{At: []string{socket}, Token: token, Service: "web",
		Limits: wire.RolloutOrders{Slice: 5, Turns: 2}}
	if err := errors.Join(s.base.Save(&pilot.Flight{Experiment: *e}), s.base.Keep(order)); err != nil {
		t.Fatal(err)
	}
	return s
}

// until waits for what other processes do.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for start := time.Now(); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Since(start) > soon {
			t.Fatalf("%s does not come", what)
		}
	}
}

func (s *site) worker() *exec.Cmd { return s.testFleet.worker(role{Kinds: []string{fleet.Rollout}}) }

// fly follows the rollout in the background.
func (s *site) fly(ctx context.Context) chan error {
	end := make(chan error, 1)
	go func() { end <- s.driver.Rollout(ctx, "x") }()
	return end
}

// flight returns the state of the rollout in the store.
func (s *site) flight() *pilot.Flight {
	s.t.Helper()
	f, err := s.base.Load()
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

// beyond waits for the given number of further blocks.
func (s *site) beyond(more int) {
	s.t.Helper()
	want := s.flight().State.Blocks + more
	until(s.t, "more blocks", func() bool { return s.flight().State.Blocks >= want || s.flight().Over() })
}

// gate returns the switch in the service.
func (s *site) gate() wire.RolloutSwitch {
	s.t.Helper()
	held, err := pilot.Look(s.t.Context(), s.clients, "p.Sum")
	if err != nil {
		s.t.Fatal(err)
	}
	return *held
}

func (s *site) changes() []ledger.Change {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.home(), "ledger.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	all, rerr := ledger.Read(bytes.NewReader(text))
	if err := errors.Join(err, rerr); err != nil {
		s.t.Fatal(err)
	}
	return all
}

// endless is a plan under which nothing is decided.
var endless = rollout.Plan{Ramp: []float64{0.3}, StepBlocks: 1e6, MostBlocks: 1e9}

// TestRolloutStops kills the worker of a rollout. The service goes back to the original by itself,
// and the next worker goes on. Then a person stops it: nothing has shipped.
func TestRolloutStops(t *testing.T) {
	drawn(t)
	t.Parallel() // it waits for a lease to end
	s := newSite(t, endless)
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	worker := s.worker()
	end := s.fly(ctx)
	s.beyond(10)
	if g := s.gate(); !g.Running {
		t.Errorf("while a worker is there: %+v", g)
	}
	if st, err := s.driver.RolloutStatus(ctx, "x"); err != nil || st.State != "running" || st.Round == 0 || st.Waits {
		t.Errorf("%+v, %v", st, err)
	}
	kill(worker)
	until(t, "the original", func() bool { return !s.gate().Running })
	if g := s.gate(); !strings.Contains(g.Ended, "no heartbeat") || g.Tripped != "" {
		t.Errorf("without a worker: %+v", g)
	}
	before := s.flight().State
	if before.Phase != rollout.Ramping {
		t.Errorf("without a worker: %s, %s", before.Phase, before.Cause)
	}
	s.worker()
	s.beyond(10)
	if g := s.gate(); !g.Running {
		t.Errorf("with the next worker: %+v", g)
	}
	if err := s.driver.StopRollout(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	if err := <-end; err != nil {
		t.Fatal(err)
	}
	f := s.flight()
	if f.State.Phase != rollout.RolledBack || f.State.Cause != "a person stopped it" || len(s.changes()) != 0 {
		t.Errorf("%s, %s, ledger %+v", f.State.Phase, f.State.Cause, s.changes())
	}
	if g := s.gate(); g.Running || !strings.Contains(g.Ended, "a controller stopped it") {
		t.Errorf("after the end: %+v", g)
	}
	if st, err := s.driver.RolloutStatus(ctx, "x"); err != nil || st.State != "completed" {
		t.Errorf("after the end: %+v, %v", st, err)
	}
	if left, _ := filepath.Glob(s.base.Path("news-*")); len(left) > 1 {
		t.Errorf("%d files of news are left", len(left))
	}
}

// TestRolloutShips kills workers, who follows, and the server of a rollout of a better version. It
// ships once, when the evidence is there, and every block counts once.
func TestRolloutShips(t *testing.T) {
	drawn(t)
	t.Parallel() // it waits for a server to notice what was killed
	s := newSite(t, rollout.Plan{Ramp: []float64{0.3}, StepBlocks: 60, Horizon: 200, HoldoutBlocks: 60,
		MostBlocks: 1e5})
	s.driver.Block = 7 // rounds in a history
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	worker := s.worker()
	following, leave := context.WithCancel(ctx)
	end := s.fly(following)
	s.beyond(5)
	leave()
	var away *fleet.Detached
	if err := <-end; !errors.As(err, &away) {
		t.Errorf("who stops following gets %v", err)
	}
	kill(worker)
	if phase := s.flight().State.Phase; phase != rollout.Ramping {
		t.Errorf("after few blocks: %s", phase)
	}
	s.worker()
	s.beyond(5)
	kill(s.server)
	s.serve()
	if err := <-s.fly(ctx); err != nil {
		t.Fatal(err)
	}
	f := s.flight()
	if f.State.Phase != rollout.Released {
		t.Errorf("%s: %s", f.State.Phase, f.State.Cause)
	}
	ships := 0
	for _, d := range f.Log.Told {
		if d.Action == rollout.Ship {
			ships++
		}
	}
	if all := s.changes(); ships != 1 || len(all) != 1 || all[0].Service != "web" || all[0].Reverted != "" {
		t.Errorf("%d decisions to ship, ledger %+v", ships, all)
	}
	if g := s.gate(); g.Running {
		t.Errorf("after the end: %+v", g)
	}
	if f.State.Blocks < 120 {
		t.Errorf("it shipped after %d blocks", f.State.Blocks)
	}
}

// TestRolloutEntry enters the same news twice, as after the death of a worker, and news of another
// round: they count once.
func TestRolloutEntry(t *testing.T) {
	e, err := rollout.New(rollout.Plan{Function: "m/p.Sum", Build: "b1"})
	if err != nil {
		t.Fatal(err)
	}
	a := &rollouts{store: openAt(t.TempDir()), stop: t.Context()}
	base := pilot.Base{Store: a.store, ID: "x"}
	if err := errors.Join(base.Save(&pilot.Flight{Experiment: *e}), base.Keep(pilot.Order{})); err != nil {
		t.Fatal(err)
	}
	block := rollout.Block{ID: "p", Seq: 1, Received: time.Now()} // without slices: it is refused, and counted
	first, err := keepNews(base, &pilot.News{Seats: []pilot.Seat{{Lease: "l"}},
		Round: rollout.Round{Heard: []rollout.ProcessNews{{Process: "p", Blocks: []rollout.Block{block}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		at, err := a.Enter(t.Context(), Entry{Rollout: "x", News: first})
		if f, lerr := base.Load(); err != nil || lerr != nil || at.Round != 1 || !at.Begun || f.State.Refused != 1 {
			t.Fatalf("%+v, %v; %v, %+v", at, err, lerr, f)
		}
	}
	for _, stale := range []Entry{{Rollout: "x", Round: 0, News: "other"}, {Rollout: "x", Round: 2, News: first},
		{Rollout: "x", Round: 1, News: "news-none.json"}} {
		if at, err := a.Enter(t.Context(), stale); err == nil {
			t.Errorf("%+v was entered: %+v", stale, at)
		}
	}
	if at, err := a.Enter(t.Context(), Entry{Rollout: "x", Round: 1}); err != nil || !at.Over ||
		at.Phase != rollout.RolledBack {
		t.Errorf("a person's end: %+v, %v", at, err)
	}
}
