package rollout

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beagle-go/beagle/probe/wire"
)

// A service calls a function of two versions from several goroutines, as generated code does.
type service struct {
	p         *process
	s         Switch
	candidate func(n int) (int, error)
	wg        sync.WaitGroup
	stop      chan struct{}
	calls     atomic.Int64
	panics    atomic.Int64
}

func double(n int) (int, error) {
	for i := range 20 {
		n += i
	}
	return 2 * n, nil
}

func (v *service) call(n int) (out int, err error) {
	if !v.s.On() {
		return double(n)
	}
	c := v.s.Enter()
	defer c.Leave()
	defer func() {
		if c.Saves() {
			if recover() != nil {
				c.Forgiven()
				out, err = double(n)
				c.Saved()
			}
		}
	}()
	switch c.Arm {
	case Candidate:
		out, err = v.candidate(n)
	default:
		out, err = double(n)
	}
	c.Done(err != nil)
	if c.Check() {
		c.Compare(func() bool {
			x, e := double(n)
			return Same(x, out) && Same(e, err)
		})
	}
	return out, err
}

func (v *service) background(f func()) {
	v.wg.Add(1)
	go func() {
		defer v.wg.Done()
		f()
	}()
}

// uncalled returns a service that nobody calls.
func uncalled(candidate func(int) (int, error)) *service {
	v := &service{p: &process{tripped: map[*Switch]string{}, ended: map[*Switch]string{}}, candidate: candidate,
		stop: make(chan struct{})}
	v.p.register(&v.s, "m/p.F", "b1", ReturnsErrors, ComparesResults)
	return v
}

func serve(t *testing.T, candidate func(int) (int, error)) *service {
	t.Helper()
	v := uncalled(candidate)
	for g := range 4 {
		v.background(func() {
			for n := g; ; n++ {
				select {
				case <-v.stop:
					return
				default:
				}
				func() {
					defer func() {
						if recover() != nil {
							v.panics.Add(1)
						}
					}()
					v.call(n)
				}()
				if v.calls.Add(1)%512 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	t.Cleanup(v.end)
	return v
}

// end stops the rollout and all callers, and takes back what both set for the whole process: it
// would reach the next test.
func (v *service) end() {
	v.p.stop(new(wire.Request))
	close(v.stop)
	v.wg.Wait()
	requests.told.Store(false)
	requests.carried.Store(false)
}

var threeArms = wire.RolloutOrders{Function: "p.F", Build: "b1", Share: 0.3, Slice: 5, Turns: 2,
	Arms: [][]string{{wire.Candidate, wire.Original, wire.Placebo}}}

func (v *service) start(t *testing.T, o wire.RolloutOrders) string {
	t.Helper()
	r, err := v.p.start(&wire.Request{Verb: wire.VerbRolloutStart, Rollout: &o})
	if err != nil {
		t.Fatal(err)
	}
	return r.Lease
}

// await waits until the process says that nothing runs, and returns its last reply.
func (v *service) await(t *testing.T, lease string, beating bool,
	done func(*wire.RolloutReply) bool) *wire.RolloutReply {
	t.Helper()
	const most = 5 * time.Minute // generous: the machine is shared
	for began := time.Now(); time.Since(began) < most; time.Sleep(20 * time.Millisecond) {
		var r *wire.RolloutReply
		var err error
		if beating {
			r, err = v.p.beat(&wire.Request{Lease: lease})
		} else {
			r, err = v.p.status(nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if done(r) {
			return r
		}
	}
	r, _ := v.p.status(nil)
	t.Fatalf("it did not happen within %v: %+v", most, r.Switches[0])
	return nil
}

func ended(r *wire.RolloutReply) bool { return !r.Switches[0].Running }

// TestTurns checks that arms take turns, and that their calls are counted by arm. On a busy machine
// the callers may get no processor during a slice of a few milliseconds.
func TestTurns(t *testing.T) {
	v := serve(t, double)
	lease := v.start(t, threeArms)
	var blocks []wire.RolloutBlock
	called, worked := map[string]bool{}, map[string]bool{}
	v.await(t, lease, true, func(r *wire.RolloutReply) bool {
		for _, b := range r.Blocks {
			blocks = append(blocks, b)
			for _, s := range b.Slices {
				called[s.Arm] = called[s.Arm] || s.Counts.Requests > 0
				worked[s.Arm] = worked[s.Arm] || s.Counts.CPUNanos > 0
			}
		}
		every := true
		for _, arm := range threeArms.Arms[0] {
			every = every && called[arm] && worked[arm]
		}
		return len(blocks) >= 10 && every
	})
	for i, b := range blocks {
		if b.Seq != int64(i+1) || len(b.Slices) != 3 || len(b.Planned) != 3 {
			t.Fatalf("block %d: %+v", i, b)
		}
		for _, s := range b.Slices {
			if s.Counts.Slices != 2 || s.Build != "b1" || !s.End.After(s.Start) || s.Panics+s.Mismatches != 0 ||
				s.Counts.Errors != 0 {
				t.Fatalf("block %d: %+v", i, s)
			}
		}
	}
	if _, err := v.p.stop(&wire.Request{Lease: lease}); err != nil || v.s.On() {
		t.Error("it runs after a stop", err)
	}
}

// TestPlanted checks that the process itself takes every bad candidate out, and says why.
func TestPlanted(t *testing.T) {
	var leak [][]byte
	var mu sync.Mutex
	hang := make(chan struct{})
	free := sync.OnceFunc(func() { close(hang) })
	defer free()
	for _, row := range []struct {
		name, why string // of several reasons, with |, any may be the first
		candidate func(int) (int, error)
	}{
		{"panics", "panicked where the original does not", func(n int) (int, error) {
			if n%1000 == 7 {
				panic("planted")
			}
			return double(n)
		}},
		{"wrong rarely", "another result", func(n int) (int, error) {
			x, err := double(n)
			if n%257 == 0 {
				x++
			}
			return x, err
		}},
		{"fails", "calls of the candidate failed|another result", func(n int) (int, error) {
			x, err := double(n)
			if n%10 == 0 {
				err = errors.New("planted")
			}
			return x, err
		}},
		{"hangs", "did not return", func(n int) (int, error) {
			if n%100_000 == 99 {
				<-hang
			}
			return double(n)
		}},
		{"leaks", "the live heap grew", func(n int) (int, error) {
			if n%20 == 0 {
				mu.Lock()
				leak = append(leak, make([]byte, 16<<10))
				mu.Unlock()
			}
			return double(n)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := serve(t, row.candidate)
			o := threeArms
			if row.name == "hangs" {
				t.Cleanup(free) // before the service is waited for
				o.Stuck = 1
			}
			lease := v.start(t, o)
			r := v.await(t, lease, true, ended)
			says := func(text string) bool {
				return slices.ContainsFunc(strings.Split(row.why, "|"),
					func(w string) bool { return strings.Contains(text, w) })
			}
			if got := r.Switches[0].Tripped; !says(got) {
				t.Errorf("tripped by %q, want %q", got, row.why)
			}
			if len(r.Blocks) == 0 || !says(r.Blocks[len(r.Blocks)-1].Slices[0].Tripped) {
				t.Errorf("the last block does not say why: %+v", r.Blocks)
			}
			if v.s.On() {
				t.Error("the switch is on")
			}
			if _, err := v.p.start(&wire.Request{Rollout: &o}); err == nil || !strings.Contains(err.Error(),
				"for good") {
				t.Errorf("it starts again: %v", err)
			}
			if n := v.panics.Load(); n != 0 {
				t.Errorf("%d panics reached the service", n)
			}
		})
		mu.Lock()
		leak = nil
		mu.Unlock()
		runtime.GC() // the heap of the next rollout's start would be larger
	}
}

// TestTripIsLast checks that a block which ends after the trip does not follow the trip's block.
func TestTripIsLast(t *testing.T) {
	v := serve(t, double)
	lease := v.start(t, threeArms)
	v.p.mu.Lock()
	r := v.p.run
	r.trip("planted", time.Now())
	v.p.finish(r, "planted", true)
	v.p.mu.Unlock()
	r.publish(&wire.RolloutBlock{ID: r.stream})
	blocks := v.await(t, lease, true, ended).Blocks
	if len(blocks) == 0 || blocks[len(blocks)-1].Slices[0].Tripped != "planted" {
		t.Errorf("the last block is not the trip's: %+v", blocks)
	}
	for i, b := range blocks {
		if b.Seq != int64(i+1) {
			t.Errorf("block %d has number %d", i+1, b.Seq)
		}
	}
}

// TestBothPanic checks that the candidate is not at fault where the original panics too. The panic
// goes on.
func TestBothPanic(t *testing.T) {
	v := uncalled(func(int) (int, error) { panic("candidate") })
	v.s.word.Store(uint32(Candidate) + 1)
	got := func() (p any) {
		defer func() { p = recover() }()
		c := v.s.Enter()
		defer c.Leave()
		defer func() {
			if c.Saves() {
				if recover() != nil {
					c.Forgiven()
					panic("original")
				}
			}
		}()
		v.candidate(1)
		return nil
	}()
	if fmt.Sprint(got) != "original" || v.s.faults.Load() != nil {
		t.Errorf("got %v, fault %v", got, v.s.faults.Load())
	}
}

// TestEnds checks that the time to live and a missing heartbeat bring the original back, and that a
// new controller may start again.
func TestEnds(t *testing.T) {
	for _, row := range []struct {
		why string
		set func(*wire.RolloutOrders)
	}{
		{"no heartbeat", func(o *wire.RolloutOrders) { o.Lease = 0.3 }},
		{"time to live", func(o *wire.RolloutOrders) { o.TTL = 0.3 }},
	} {
		t.Run(row.why, func(t *testing.T) {
			v := serve(t, double)
			o := threeArms
			row.set(&o)
			lease := v.start(t, o)
			r := v.await(t, lease, false, ended)
			if !strings.Contains(r.Switches[0].Ended, row.why) || r.Switches[0].Tripped != "" || v.s.On() {
				t.Errorf("%+v", r.Switches[0])
			}
			v.start(t, o)
		})
	}
}

// TestOneController checks that a second controller waits until the first one stops.
func TestOneController(t *testing.T) {
	v := serve(t, double)
	lease := v.start(t, threeArms)
	if _, err := v.p.start(&wire.Request{Rollout: &threeArms}); err == nil || !strings.Contains(err.Error(),
		"another controller") {
		t.Errorf("a second controller: %v", err)
	}
	if _, err := v.p.stop(&wire.Request{Lease: lease}); err != nil {
		t.Fatal(err)
	}
	v.start(t, threeArms)
}

// TestRefused checks that orders for other versions, or invalid ones, start nothing.
func TestRefused(t *testing.T) {
	v := serve(t, double)
	for want, change := range map[string]func(*wire.RolloutOrders){
		"has no versions":           func(o *wire.RolloutOrders) { o.Function = "p.G" },
		"has build \"b1\"":          func(o *wire.RolloutOrders) { o.Build = "b2" },
		"invalid share":             func(o *wire.RolloutOrders) { o.Share = 1.5 },
		"invalid lease":             func(o *wire.RolloutOrders) { o.Lease = 60 },
		"candidate beside another":  func(o *wire.RolloutOrders) { o.Arms = [][]string{{"original", "placebo"}} },
		"each once":                 func(o *wire.RolloutOrders) { o.Arms = [][]string{{"candidate", "candidate"}} },
		"give the kinds of turns":   func(o *wire.RolloutOrders) { o.Arms = nil },
		"invalid turns":             func(o *wire.RolloutOrders) { o.Turns = -1 },
		"name original, candidate ": func(o *wire.RolloutOrders) { o.Base = "other" },
	} {
		o := threeArms
		change(&o)
		if _, err := v.p.start(&wire.Request{Rollout: &o}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := v.p.start(&wire.Request{}); err == nil {
		t.Error("no orders start something")
	}
	if _, err := v.p.beat(&wire.Request{Lease: "x"}); err == nil {
		t.Error("an unknown lease is renewed")
	}
}

// TestRequests checks that the requests of a program that reports them are counted instead of
// calls.
func TestRequests(t *testing.T) {
	v := serve(t, double)
	v.background(func() {
		for {
			select {
			case <-v.stop:
				return
			default:
				r := Begin()
				time.Sleep(200 * time.Microsecond)
				r.End(true)
			}
		}
	})
	for !requests.told.Load() {
		time.Sleep(time.Millisecond)
	}
	o := threeArms
	o.Slow = 0.1
	// A short slice may end before its first request does.
	var c wire.RolloutCounts
	r := v.await(t, v.start(t, o), true, func(r *wire.RolloutReply) bool {
		for _, b := range r.Blocks {
			for _, s := range b.Slices {
				c.Requests += s.Counts.Requests
				c.Errors += s.Counts.Errors
				c.Slow += s.Counts.Slow
			}
		}
		return c.Requests >= 100
	})
	// A request that ends while a slice does may be counted there and fail after it.
	const halves = 5
	if !r.Switches[0].Requests || math.Abs(c.Errors-c.Requests) > halves || math.Abs(c.Slow-c.Requests) > halves {
		t.Errorf("%+v", c)
	}
}

// TestFaultWhileRunning checks that a fault between the check and the store of a new arm wins.
func TestFaultWhileRunning(t *testing.T) {
	v := serve(t, double)
	v.start(t, threeArms)
	v.s.fault("planted")
	v.await(t, "", false, ended)
	for range 50 {
		if v.s.On() {
			t.Fatal("the switch is on after a fault")
		}
		time.Sleep(time.Millisecond)
	}
}

func BenchmarkRouted(b *testing.B) {
	v := &service{p: &process{tripped: map[*Switch]string{}, ended: map[*Switch]string{}}, candidate: double}
	v.p.register(&v.s, "m/p.F", "b1")
	for name, word := range map[string]uint32{"off": 0, "on": 1} {
		b.Run(name, func(b *testing.B) {
			v.s.word.Store(word)
			for n := 0; b.Loop(); n++ {
				v.call(n)
			}
		})
	}
}
