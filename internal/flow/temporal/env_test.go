package temporal

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/semaphore"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/internal/store"
)

// An env is a run in the SDK's test environment: virtual time, no server.
type env struct {
	t     *testing.T
	sim   *sim
	task  Task
	runs  int // workflow executions, one more than times continued as new
	limit atomic.Int64
	delay func(*testsuite.TestWorkflowEnvironment)
}

func newEnv(t *testing.T, spec flow.Spec) *env {
	t.Helper()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	digest, err := s.PutJSON(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SaveRun(store.Run{ID: "run", State: store.Running}); err != nil {
		t.Fatal(err)
	}
	return &env{
		t:    t,
		sim:  &sim{store: s},
		task: Task{Run: "run", Spec: digest, MachineKind: "class", Limits: limitsOf(&spec)},
	}
}

// run carries the run through all its executions.
func (e *env) run() error {
	for {
		err := e.once()
		var again *workflow.ContinueAsNewError
		if !errors.As(err, &again) {
			return err
		}
		if e.task = (Task{}); converter.GetDefaultDataConverter().FromPayloads(again.Input, &e.task) != nil {
			e.t.Fatal("the run continues as new with something else than a task")
		}
	}
}

func (e *env) once() error {
	e.runs++
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(silent)
	w := suite.NewTestWorkflowEnvironment()
	w.SetDataConverter(&meter{DataConverter: converter.GetDefaultDataConverter(), most: &e.limit})
	w.SetTestTimeout(soon)
	w.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: maxYield})
	acts := &activities{store: e.sim.store, stop: context.Background(), quiet: semaphore.NewWeighted(everybody),
		own: "llm/here", alive: func(ctx context.Context, said []flow.Event) error {
			activity.RecordHeartbeat(ctx, said)
			return nil
		}, desks: &desks{open: func(watch flow.Watcher) Stages {
			e.sim.watch = watch
			return e.sim
		}}}
	register(w, e.sim.store, acts, true)
	register(w, e.sim.store, acts, false)
	if e.delay != nil {
		e.delay(w)
	}
	w.ExecuteWorkflow(runWorkflow, e.task)
	if !w.IsWorkflowCompleted() {
		e.t.Fatal("the workflow did not end")
	}
	return w.GetWorkflowError()
}

func (e *env) result() *beagle.Result {
	e.t.Helper()
	r := new(beagle.Result)
	if ok, err := e.sim.store.Load("run", "result", r); err != nil || !ok {
		e.t.Fatalf("no result: %v", err)
	}
	return r
}

// A meter notes the largest payload that would go into a history.
type meter struct {
	converter.DataConverter
	most *atomic.Int64
}

func (m *meter) ToPayloads(v ...any) (*commonpb.Payloads, error) {
	p, err := m.DataConverter.ToPayloads(v...)
	for _, one := range p.GetPayloads() {
		if n := int64(len(one.Data)); n > m.most.Load() {
			m.most.Store(n)
		}
	}
	return p, err
}

// maxPayload is the size of the largest payload that a history may hold.
const maxPayload = 4 << 10

// TestParity: for a seed, the trajectory is that of a plain loop, however often
// the run continues as new; and every candidate is evaluated once.
func TestParity(t *testing.T) {
	budgets := map[string]int{"islands": 240, "best-of-n": 120, "rules-only-greedy": 120}
	for _, strategy := range sampletest.Of(t, slices.Sorted(maps.Keys(budgets)), 1) {
		candidates := budgets[strategy]
		spec := simSpec(candidates)
		spec.Strategy = strategy
		loop := &sim{store: openAt(t.TempDir())}
		want, err := plain(loop, "run", spec, func(*flow.Course) {})
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range []int{0, 3} {
			e := newEnv(t, spec)
			e.task.Block = block
			if err := e.run(); err != nil {
				t.Fatal(strategy, err)
			}
			r := e.result()
			if d := firstDifference(r.Attempts, want.Log.Attempts); d != "" {
				t.Errorf("%s, %d generations a history: %s", strategy, block, d)
			}
			if r.Candidates != want.Search.Spent || r.Search.Generations != want.Log.Generations ||
				r.Search.Stopped == "" {
				t.Errorf("%s: %d candidates in %+v, want %d in %d generations", strategy, r.Candidates, r.Search,
					want.Search.Spent, want.Log.Generations)
			}
			if block > 0 && e.runs < 3 {
				t.Errorf("%s: the run never continued as new", strategy)
			}
			if n := e.sim.evaluated.Load(); n < int64(r.Candidates) ||
				n > loop.evaluated.Load()+int64(len(r.Attempts))/10 {
				t.Errorf("%s: %d assessments of %d candidates; the loop made %d", strategy, n, r.Candidates,
					loop.evaluated.Load())
			}
			if most := e.limit.Load(); most > maxPayload {
				t.Errorf("%s: a payload of %d bytes, at most %d may be in a history", strategy, most, maxPayload)
			}
		}
	}
}

// TestForgetful: a run whose every step is taken by another process takes the
// same way: the search is played back from the store.
func TestForgetful(t *testing.T) {
	spec := simSpec(120)
	e := newEnv(t, spec)
	if err := e.run(); err != nil {
		t.Fatal(err)
	}
	var stood RunState
	if ok, err := e.sim.store.Load("run", lastStateName, &stood); !ok || err != nil {
		t.Fatal(ok, err)
	}
	k := &keeper{store: e.sim.store}
	p, err := k.take("run", stood.State)
	if err != nil {
		t.Fatal(err)
	}
	if d := firstDifference(p.c.Log.Attempts, e.result().Attempts); d != "" ||
		p.c.Search.Spent != e.result().Candidates {
		t.Errorf("played back: %s, %d spent", d, p.c.Search.Spent)
	}
	if _, err := k.take("run", "no such state"); err == nil || !strings.Contains(err.Error(), "run") {
		t.Errorf("a state that is not there: %v", err)
	}
}

var many = flag.Int("many", 1000, "candidates of the run of TestMany")

// TestMany: thousands of candidates leave neither large payloads nor a large process behind. With
// histories of the same length, no payload grows with the candidates: those of a quarter as many
// are as large. -many 10000 is the size of the largest runs.
func TestMany(t *testing.T) {
	n := *many
	some := runMany(t, n/4)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	e := runMany(t, n)
	runtime.GC()
	runtime.ReadMemStats(&after)
	r := e.result()
	t.Logf("%d candidates in %d generations and %d histories; largest payload %d bytes; heap grew by %d MB; %v a "+
		"candidate",
		r.Candidates, r.Search.Generations, e.runs, e.limit.Load(),
		(int64(after.HeapAlloc)-int64(before.HeapAlloc))>>20, time.Since(start)/time.Duration(r.Candidates))
	const digits = 64 // numbers in a payload get longer
	if most := e.limit.Load(); r.Candidates != n || most > maxPayload || most > some.limit.Load()+digits {
		t.Errorf("%d candidates of %d, payloads up to %d bytes, of a quarter as many %d", r.Candidates, n, most,
			some.limit.Load())
	}
}

// manyBlock is the number of generations in a history of runMany.
const manyBlock = 2

// runMany carries a run of n candidates through its histories.
func runMany(t *testing.T, n int) *env {
	t.Helper()
	spec := simSpec(n)
	spec.Strategy, spec.Batch = "best-of-n", 48
	e := newEnv(t, spec)
	e.task.Block = manyBlock
	if err := e.run(); err != nil {
		t.Fatal(err)
	}
	if e.runs < n/spec.Batch/manyBlock {
		t.Errorf("%d candidates in %d histories", n, e.runs)
	}
	return e
}

// TestRetry: work that fails is tried again, and what was found before is not
// looked for again.
func TestRetry(t *testing.T) {
	e := newEnv(t, simSpec(40))
	calls := map[string]int{}
	e.sim.fail = func(stage string) error {
		if calls[stage]++; calls[stage] < attempts {
			return fmt.Errorf("%s fails for the %dth time", stage, calls[stage])
		}
		return nil
	}
	if err := e.run(); err != nil {
		t.Fatal(err)
	}
	if r := e.result(); r.Candidates != 40 || e.sim.evaluated.Load() < 40 ||
		e.sim.evaluated.Load() > int64(len(r.Attempts))*5/4 {
		t.Errorf("%d candidates, %d assessments", r.Candidates, e.sim.evaluated.Load())
	}
}

// TestFailure: what fails for good ends the run, with the reason in the index,
// and what the user must mend is not tried twice.
func TestFailure(t *testing.T) {
	calls := 0
	for _, c := range []struct {
		err   error
		calls int
	}{{errors.New("no disk"), attempts}, {&beagle.UsageError{What: "no such function", Remedy: "name another"}, 1}} {
		e := newEnv(t, simSpec(40))
		calls = 0
		e.sim.fail = func(stage string) error {
			if stage == "prepare" {
				calls++
				return c.err
			}
			return nil
		}
		err := e.run()
		r, lerr := e.sim.store.Run("run")
		if err == nil || lerr != nil || r.State != store.Failed || !strings.Contains(c.err.Error(), r.Note) ||
			calls != c.calls {
			t.Errorf("%v: the run ends with %v, its entry is %+v (%v), %d calls, want %d", c.err, err, r, lerr,
				calls, c.calls)
		}
	}
}

// TestCancel: a canceled run ends its activity, notes that it was canceled, and
// goes on where it stood when it is started again.
func TestCancel(t *testing.T) {
	spec := simSpec(60)
	want, err := plain(&sim{store: openAt(t.TempDir())}, "run", spec, func(*flow.Course) {})
	if err != nil {
		t.Fatal(err)
	}
	e := newEnv(t, spec)
	e.task.Block = 2 // so that it is canceled in the middle
	e.delay = func(w *testsuite.TestWorkflowEnvironment) {
		if e.runs == 2 {
			w.RegisterDelayedCallback(w.CancelWorkflow, 0)
		}
	}
	err = e.run()
	r, lerr := e.sim.store.Run("run")
	if !temporal.IsCanceledError(err) || lerr != nil || r.State != store.Canceled {
		t.Fatalf("the run ends with %v, its entry is %+v (%v)", err, r, lerr)
	}
	stood, err := (&Driver{Store: e.sim.store}).lastState("run")
	if err != nil || stood.State == "" || stood.Done {
		t.Fatalf("it stood at %+v (%v)", stood, err)
	}
	e.task.RunState, e.delay = stood, nil
	if err := e.run(); err != nil {
		t.Fatal(err)
	}
	if d := firstDifference(e.result().Attempts, want.Log.Attempts); d != "" {
		t.Errorf("after the cancellation: %s", d)
	}
}

// TestEnough: a signal ends the search, also one that comes just before the run
// continues as new, and what was found is judged.
func TestEnough(t *testing.T) {
	e := newEnv(t, simSpec(400))
	e.task.Block = 1
	e.delay = func(w *testsuite.TestWorkflowEnvironment) {
		if e.runs == 3 {
			w.RegisterDelayedCallback(func() { w.SignalWorkflow(enoughSignal, nil) }, 0)
		}
	}
	if err := e.run(); err != nil {
		t.Fatal(err)
	}
	if r := e.result(); r.Candidates == 0 || r.Candidates >= 400 || r.Search.Stopped != "asked to" {
		t.Errorf("%d candidates, stopped by %q", r.Candidates, r.Search.Stopped)
	}
}

// TestNobody: work that no worker takes, or whose workers stop, stays in its
// queue for longer than work that fails.
func TestNobody(t *testing.T) {
	e := newEnv(t, simSpec(40))
	tries := 0
	e.delay = func(w *testsuite.TestWorkflowEnvironment) {
		w.OnActivity(identifyActivity, mock.Anything, mock.Anything).
			Return(func(context.Context, Order) (Delivery, error) {
				switch tries++; {
				case tries <= attempts+2:
					return Delivery{}, temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
				case tries <= 6*attempts:
					return Delivery{}, temporal.NewApplicationError(errStopped.Error(), stoppedType)
				}
				digest, err := e.sim.store.PutJSON(beagle.Machine{})
				return Delivery{What: digest}, err
			})
	}
	if err := e.run(); err != nil {
		t.Fatal(err)
	}
	if tries != 6*attempts+1 {
		t.Errorf("tried %d times", tries)
	}
}
