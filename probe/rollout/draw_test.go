package rollout

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/probe/wire"
)

// callIn is [service.call] as generated for a function with a context.
func (v *service) callIn(ctx context.Context, n int) (out int, err error) {
	if !v.s.On() {
		return double(n)
	}
	c := v.s.EnterContext(ctx)
	defer c.Leave()
	if c.Arm == Candidate {
		out, err = v.candidate(n)
	} else {
		out, err = double(n)
	}
	c.Done(err != nil)
	return out, err
}

// answer answers a request by three calls.
func (v *service) answer(ctx context.Context) {
	ctx, r := BeginContext(ctx)
	failed := true
	defer func() {
		if recover() != nil {
			v.panics.Add(1)
		}
		r.End(failed)
	}()
	for n := range 3 {
		v.callIn(ctx, n+int(v.calls.Add(1)))
	}
	failed = false
}

// answering returns a service that answered one request. More come from the test alone.
func answering(t *testing.T, candidate func(int) (int, error)) *service {
	t.Helper()
	v := &service{p: &process{tripped: map[*Switch]string{}, ended: map[*Switch]string{}}, candidate: candidate,
		stop: make(chan struct{})}
	v.p.register(&v.s, "m/p.F", "b1", ReturnsErrors, HasContext)
	v.answer(t.Context())
	t.Cleanup(v.end)
	return v
}

// requesting has two goroutines answer requests.
func requesting(t *testing.T, candidate func(int) (int, error)) *service {
	t.Helper()
	v := answering(t, candidate)
	for range 2 {
		v.background(func() {
			for n := 0; ; n++ {
				select {
				case <-v.stop:
					return
				default:
					v.answer(t.Context())
				}
				if n%256 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	return v
}

var byRequests = wire.RolloutOrders{Function: "p.F", Build: "b1", Unit: wire.UnitRequest, Share: 0.2, Slice: 5,
	Turns: 2, Arms: [][]string{{wire.Candidate, wire.Original, wire.Placebo}}}

// TestDrawnRequests checks that arms run side by side in one block, that each counts the same
// number of requests, and that figures of the whole process belong to no arm.
func TestDrawnRequests(t *testing.T) {
	v := requesting(t, double)
	lease := v.start(t, byRequests)
	count := map[string]float64{}
	blocks := 0
	v.await(t, lease, true, func(r *wire.RolloutReply) bool {
		for _, b := range r.Blocks {
			blocks++
			for _, s := range b.Slices {
				c := s.Counts
				count[s.Arm] += c.Requests
				if c.CPUNanos+c.AllocBytes+c.GCNanos+c.HeapBytes != 0 || c.RequestNanos <= 0 || c.Errors != 0 ||
					!s.Start.Equal(b.Slices[0].Start) {
					t.Errorf("block %d: %+v", b.Seq, s)
				}
			}
		}
		return blocks >= 20
	})
	mean := (count[wire.Candidate] + count[wire.Original] + count[wire.Placebo]) / 3
	for arm, n := range count {
		if math.Abs(n-mean) > 6*math.Sqrt(mean) {
			t.Errorf("%s has %.0f requests of %.0f", arm, n, 3*mean)
		}
	}
	// At half of the traffic the candidate has more requests than are compared.
	o := byRequests
	o.Share = 0.5
	if _, err := v.p.beat(&wire.Request{Lease: lease, Rollout: &o}); err != nil {
		t.Fatal(err)
	}
	before := v.s.sum(Candidate)
	var last wire.RolloutBlock
	v.await(t, lease, true, func(r *wire.RolloutReply) bool {
		if n := len(r.Blocks); n > 0 {
			last = r.Blocks[n-1]
		}
		return v.s.sum(Candidate).entered-before.entered > 30_000 && last.Seq > 0
	})
	if x, y := last.Slices[0].Counts.Requests, last.Slices[1].Counts.Requests; math.Abs(x-y) > 7*math.Sqrt(x+y) {
		t.Errorf("%.0f and %.0f requests count", x, y)
	}
	if _, err := v.p.stop(&wire.Request{Lease: lease}); err != nil || v.s.On() || requests.draw.Load() != nil {
		t.Error("it runs after a stop", err)
	}
}

// TestOneArmOfARequest checks that all calls of a request get the arm that it drew, by context and
// by token. A call without a request gets the original.
func TestOneArmOfARequest(t *testing.T) {
	v := requesting(t, double)
	v.start(t, byRequests)
	v.waitForDraw(t)
	seen := map[Arm]int{}
	for range 2000 {
		ctx, r := BeginContext(t.Context())
		seen[r.arm]++
		for range 3 {
			c, d := v.s.EnterContext(context.WithValue(ctx, v, 1)), v.s.EnterRequest(r)
			if c.Arm != r.arm || d.Arm != r.arm {
				t.Fatalf("a request of arm %d has calls of %d and %d", r.arm, c.Arm, d.Arm)
			}
			c.Done(false)
			c.Leave()
			d.Done(false)
			d.Leave()
		}
		r.End(false)
		for _, c := range []Call{v.s.Enter(), v.s.EnterContext(t.Context())} {
			if c.Arm != Original {
				t.Fatal("a call without a request runs the candidate")
			}
			c.Done(false)
			c.Leave()
		}
	}
	for arm, want := range map[Arm]int{Candidate: 400, Placebo: 400, Original: 1200} {
		if n := seen[arm]; n < want-150 || n > want+150 {
			t.Errorf("%d of 2000 requests get arm %d", n, arm)
		}
	}
}

func (v *service) waitForDraw(t *testing.T) {
	t.Helper()
	v.await(t, "", false, func(*wire.RolloutReply) bool { return requests.draw.Load() != nil && v.s.On() })
}

// TestRequestsRefused checks that nothing starts where calls cannot get the arm of their request.
func TestRequestsRefused(t *testing.T) {
	v := serve(t, double)
	if _, err := v.p.start(&wire.Request{Rollout: &byRequests}); err == nil ||
		!strings.Contains(err.Error(), "no context of its request") {
		t.Error(err)
	}
	v.s.contexts = true
	if _, err := v.p.start(&wire.Request{Rollout: &byRequests}); err == nil ||
		!strings.Contains(err.Error(), "no request has drawn an arm") {
		t.Error(err)
	}
	o := byRequests
	o.Unit = "user"
	if _, err := v.p.start(&wire.Request{Rollout: &o}); err == nil || !strings.Contains(err.Error(), "invalid unit") {
		t.Error(err)
	}
}

// TestPlantedByRequests checks that the process takes bad candidates out although other arms run
// beside them.
func TestPlantedByRequests(t *testing.T) {
	hang := make(chan struct{})
	for _, row := range []struct {
		name, why string
		candidate func(int) (int, error)
	}{
		{"panics", "panicked", func(n int) (int, error) {
			if n%1000 == 7 {
				panic("planted")
			}
			return double(n)
		}},
		{"fails", "calls of the candidate failed", func(n int) (int, error) {
			x, _ := double(n)
			return x, errors.New("planted")
		}},
		{"hangs", "did not return", func(n int) (int, error) {
			if n%50_000 == 99 {
				<-hang
			}
			return double(n)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := requesting(t, row.candidate)
			o := byRequests
			if row.name == "hangs" {
				t.Cleanup(func() { close(hang) })
				o.Stuck = 0.5
			}
			r := v.await(t, v.start(t, o), true, ended)
			if got := r.Switches[0].Tripped; !strings.Contains(got, row.why) || v.s.On() {
				t.Errorf("tripped by %q, want %q", got, row.why)
			}
		})
	}
}

// TestSlowOriginal checks that no call counts as hung where calls of both versions take long. The
// test is the watch, and moves its clock.
func TestSlowOriginal(t *testing.T) {
	v := answering(t, double)
	o, err := complete(byRequests)
	if err != nil {
		t.Fatal(err)
	}
	o.Stuck = 0.05
	v.p.mu.Lock()
	r, err := v.p.begin(&v.s, o)
	v.p.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	d := newDraw(o, r)
	if !r.deal(d) {
		t.Fatal("the rollout does not begin")
	}
	leave := func(calls ...Call) {
		for _, c := range calls {
			c.Done(false)
			c.Leave()
		}
	}
	var under [][2]Call
	now := r.span.began
	for range 100 {
		now = now.Add(10 * time.Millisecond)
		if why := r.hung(now, o); why != "" {
			t.Fatal(why)
		}
		w := v.s.word.Load()
		under = append(under, [2]Call{v.s.enter(w, Request{arm: Candidate, drew: d}),
			v.s.enter(w, Request{arm: Original, drew: d})})
		if len(under) > 15 {
			leave(under[0][:]...)
			under = under[1:]
		}
	}
	for _, pair := range under {
		leave(pair[1])
	}
	if why := r.hung(now.Add(time.Second), o); why == "" {
		t.Error("calls of the candidate alone take long, and none counts as hung")
	}
	for _, pair := range under {
		leave(pair[0])
	}
}

// TestRequestsOfAReading has a request that is counted before the first reading, and fails and is
// slow after it. It does not fail more requests than there are: the judge refuses such a block.
func TestRequestsOfAReading(t *testing.T) {
	a, b := reading{all: 7, failed: 3, slow: 3, nanos: 70}, reading{all: 9, failed: 6, slow: 6, nanos: 90}
	want := wire.RolloutCounts{Requests: 2, Errors: 2, Slow: 2, RequestNanos: 20, Slices: 1}
	var drawn, slice wire.RolloutSlice
	byRequest(&drawn, a, b)
	sliceDifference(&slice, a, b, true)
	for _, c := range []wire.RolloutCounts{drawn.Counts, slice.Counts} {
		if !reflect.DeepEqual(c, want) {
			t.Errorf("%+v, want %+v", c, want)
		}
	}
}

// TestAtOnce checks that a look at counters that was interrupted is taken again.
func TestAtOnce(t *testing.T) {
	looks := 0
	atOnce(func() {
		if looks++; looks < 3 {
			time.Sleep(2 * moment)
		}
	})
	if looks < 3 || looks > 10 {
		t.Errorf("%d looks, of which two were interrupted", looks)
	}
}

// TestChooser checks that a chooser may give arms. Where it cannot, the request runs the original,
// does not count, and the reply says why.
func TestChooser(t *testing.T) {
	v := requesting(t, double)
	defer Choose(nil)
	Choose(func(context.Context) (Arm, error) { return Candidate, nil })
	lease := v.start(t, byRequests)
	v.waitForDraw(t)
	if _, r := BeginContext(t.Context()); r.arm != Candidate {
		t.Errorf("arm %d", r.arm)
	}
	Choose(func(context.Context) (Arm, error) { return Candidate, errors.New("the provider is down") })
	for range 100 {
		if _, r := BeginContext(t.Context()); r.arm != Original || r.in != nil {
			t.Fatalf("arm %d, counted %v", r.arm, r.in != nil)
		}
	}
	r, err := v.p.beat(&wire.Request{Lease: lease})
	if err != nil || r.NoArm < 100 || r.NoArmWhy != "the provider is down" {
		t.Errorf("%v, %d requests without an arm: %s", err, r.NoArm, r.NoArmWhy)
	}
}

// TestRequestsOfAnotherDraw checks that a request keeps its arm when the shares change, and that
// its calls stop counting. Calls of a request of another rollout, or of one that began while slices
// took turns, run the original.
func TestRequestsOfAnotherDraw(t *testing.T) {
	v := requesting(t, double)
	slices := Begin()
	slices.arm = Candidate
	lease := v.start(t, byRequests)
	v.waitForDraw(t)
	first := requests.draw.Load()
	drawn := Request{arm: Candidate, in: &first.tallies, drew: first}
	count := func(r Request) (arm Arm, compared bool) {
		c := v.s.EnterRequest(r)
		defer c.Leave()
		c.Done(false)
		for i := range v.s.shards {
			for slot := range arms {
				compared = compared || c.c == &v.s.shards[i].of[slot]
			}
		}
		return c.Arm, compared
	}
	want := func(what string, r Request, arm Arm, compared bool) {
		t.Helper()
		if a, c := count(r); a != arm || c != compared {
			t.Errorf("%s: the call runs the %v, and counts: %v", what, a, c)
		}
	}
	want("of this draw", drawn, Candidate, true)
	want("not counted", Request{arm: Candidate, drew: first}, Candidate, false)
	want("begun under slices", slices, Original, false)
	o := byRequests
	o.Share = 0.4
	if _, err := v.p.beat(&wire.Request{Lease: lease, Rollout: &o}); err != nil {
		t.Fatal(err)
	}
	v.await(t, lease, true, func(*wire.RolloutReply) bool { return requests.draw.Load() != first })
	want("of an earlier draw", drawn, Candidate, false)
	if _, err := v.p.stop(&wire.Request{Lease: lease}); err != nil {
		t.Fatal(err)
	}
	v.start(t, byRequests)
	v.waitForDraw(t)
	want("of another rollout", drawn, Original, false)
}

// TestMissesOfAnotherRollout checks that a controller learns why requests of its own rollout got no
// arm, and nothing of a later rollout.
func TestMissesOfAnotherRollout(t *testing.T) {
	v := answering(t, double)
	defer Choose(nil)
	Choose(func(context.Context) (Arm, error) { return Original, errors.New("down at first") })
	was := v.start(t, byRequests)
	v.waitForDraw(t)
	BeginContext(t.Context())
	if _, err := v.p.stop(&wire.Request{}); err != nil { // another controller, without the lease
		t.Fatal(err)
	}
	Choose(func(context.Context) (Arm, error) { return Original, errors.New("down again") })
	is := v.start(t, byRequests)
	v.waitForDraw(t)
	for range 10 {
		BeginContext(t.Context())
	}
	if r, err := v.p.beat(&wire.Request{Lease: was}); err == nil && r.NoArmWhy == "down again" {
		t.Errorf("the first rollout is told of %d requests of the second: %s", r.NoArm, r.NoArmWhy)
	}
	if r, err := v.p.beat(&wire.Request{Lease: is}); err != nil || r.NoArm < 10 || r.NoArmWhy != "down again" {
		t.Errorf("%v, the second rollout is told of %d requests: %s", err, r.NoArm, r.NoArmWhy)
	}
}

func BenchmarkByRequest(b *testing.B) {
	v := &service{p: &process{tripped: map[*Switch]string{}, ended: map[*Switch]string{}}, candidate: double}
	v.p.register(&v.s, "m/p.F", "b1", HasContext)
	complete, _ := complete(byRequests)
	requests.draw.Store(newDraw(complete, new(run)))
	defer requests.draw.Store(nil)
	v.s.word.Store(perRequest)
	b.Run("begin", func(b *testing.B) {
		for b.Loop() {
			_, r := BeginContext(b.Context())
			r.End(false)
		}
	})
	ctx, _ := BeginContext(b.Context())
	b.Run("call", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			v.callIn(ctx, n)
		}
	})
	b.Run("call, five contexts deep", func(b *testing.B) {
		type key int
		for n := range key(5) {
			ctx = context.WithValue(ctx, n, n)
		}
		for n := 0; b.Loop(); n++ {
			v.callIn(ctx, n)
		}
	})
}

// TestFix checks that a process runs one version until the flag is taken back. A bad version is
// taken out for good, and the flag's holder learns of it.
func TestFix(t *testing.T) {
	v := serve(t, double)
	stop, err := v.p.fix("p.F", Candidate, func(why string) { t.Errorf("taken out: %s", why) })
	if err != nil {
		t.Fatal(err)
	}
	before := v.s.sum(Candidate).entered
	v.await(t, "", false, func(*wire.RolloutReply) bool { return v.s.sum(Candidate).entered > before+1000 })
	if _, err := v.p.start(&wire.Request{Rollout: &threeArms}); err == nil || !strings.Contains(err.Error(), "flag") {
		t.Errorf("a controller starts beside the flag: %v", err)
	}
	stop()
	if v.s.On() {
		t.Error("the candidate runs after the flag was taken back")
	}
	if _, err := v.p.fix("p.G", Candidate, nil); err == nil {
		t.Error("versions of nothing are fixed")
	}

	bad := serve(t, func(int) (int, error) { panic("planted") })
	told := make(chan string, 1)
	if _, err := bad.p.fix("p.F", Candidate, func(why string) { told <- why }); err != nil {
		t.Fatal(err)
	}
	if why := <-told; !strings.Contains(why, "panicked") || bad.s.On() {
		t.Errorf("taken out by %q", why)
	}
	if _, err := bad.p.fix("p.F", Candidate, nil); err == nil || !strings.Contains(err.Error(), "for good") {
		t.Errorf("it is fixed again: %v", err)
	}
}
