package rollout

import (
	"crypto/rand"
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/beagle-go/beagle/probe"
	"github.com/beagle-go/beagle/probe/wire"
)

// A process holds the switches and the rollout that runs.
type process struct {
	mu       sync.Mutex
	switches []*Switch
	tripped  map[*Switch]string // why the original runs for good
	ended    map[*Switch]string
	run      *run
	last     *run // whose last block its controller may still fetch
}

var thisProcess = &process{tripped: map[*Switch]string{}, ended: map[*Switch]string{}}

// An Option describes the versions behind a switch.
type Option func(*Switch)

// ReturnsErrors promises that Done gets the errors.
func ReturnsErrors(s *Switch) { s.errors = true }

// ComparesResults says that the routed function asks [Call.Check]: both versions may run.
func ComparesResults(s *Switch) { s.checks = true }

// HasContext says that the routed function asks [Switch.EnterContext] or [Switch.EnterRequest], so
// that calls get the arm of their request.
func HasContext(s *Switch) { s.contexts = true }

// Register makes a switch known. build identifies the versions: a controller that means other ones
// is refused.
func Register(s *Switch, function, build string, options ...Option) {
	thisProcess.register(s, function, build, options...)
}

// register adds a function with versions. The first one adds the verbs of rollouts to the probe.
func (p *process) register(s *Switch, function, build string, options ...Option) {
	s.name, s.build = function, build
	for _, o := range options {
		o(s)
	}
	n := min(64, max(1, runtime.GOMAXPROCS(0)))
	s.timed.Store(drawOne(timeEvery))
	s.shards = make([]shard, 1<<bits.Len(uint(2*n-1)))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.switches = append(p.switches, s)
	if len(p.switches) > 1 {
		return
	}
	for verb, carry := range map[string]func(*wire.Request) (*wire.RolloutReply, error){
		wire.VerbRolloutStatus: p.status, wire.VerbRolloutStart: p.start, wire.VerbRolloutBeat: p.beat,
		wire.VerbRolloutStop: p.stop,
	} {
		probe.Extend(verb, func(q *wire.Request, r *wire.Reply) (err error) {
			r.Rollout, err = carry(q)
			return err
		})
	}
}

// status lists the switches.
func (p *process) status(*wire.Request) (*wire.RolloutReply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reply(), nil
}

func (p *process) reply() *wire.RolloutReply {
	r := &wire.RolloutReply{}
	for _, s := range p.switches {
		r.Switches = append(r.Switches, wire.RolloutSwitch{Function: s.name, Build: s.build, Errors: s.errors,
			Checks: s.checks, Requests: requests.told.Load(), Times: true,
			Contexts: s.contexts, Carried: requests.carried.Load(), Running: p.run != nil && p.run.function == s,
			Tripped: p.tripped[s], Ended: p.ended[s]})
	}
	return r
}

// start begins a rollout. A candidate that was taken out of service once is not started again.
func (p *process) start(q *wire.Request) (*wire.RolloutReply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Find the function, and check that it can be rolled out as asked.
	if q.Rollout == nil {
		return nil, fmt.Errorf("%s names nothing to start", q.Verb)
	}
	o, err := complete(*q.Rollout)
	if err != nil {
		return nil, err
	}
	s := p.find(o.Function)
	switch {
	case s == nil:
		return nil, fmt.Errorf("this program has no versions of %q: build it with beagle build --rollout", o.Function)
	case s.build != o.Build:
		return nil, fmt.Errorf("this program has build %q of %s, not %q: start a rollout of that build", s.build,
			s.name, o.Build)
	case o.Unit == wire.UnitRequest && !s.contexts:
		return nil, fmt.Errorf("%s has no context of its request, so that its calls cannot get the request's arm: "+
			"use slices", s.name)
	case o.Unit == wire.UnitRequest && !requests.carried.Load():
		return nil, fmt.Errorf("no request has drawn an arm in this process: begin requests with " +
			"rollouthttp.Handler or rollout.BeginContext, or use slices")
	}
	// Begin the rollout.
	r, err := p.begin(s, o)
	if err != nil {
		return nil, err
	}
	// Watch it, and let versions take turns.
	requests.slow.Store(int64(o.Slow * 1e6))
	go r.watch()
	if o.Unit == wire.UnitRequest {
		go r.draws()
	} else {
		go r.turns()
	}
	reply := p.reply()
	reply.Lease, reply.Stream = r.lease, r.stream
	return reply, nil
}

// begin makes the only run, which runs the original at first. The caller holds the mutex.
func (p *process) begin(s *Switch, o wire.RolloutOrders) (*run, error) {
	if why := s.faults.Load(); why != nil && p.tripped[s] == "" && p.run == nil {
		p.tripped[s] = *why // by a call that ended after its rollout
	}
	switch {
	case p.tripped[s] != "":
		return nil, fmt.Errorf("this process runs the original for good: %s", p.tripped[s])
	case p.run != nil && p.run.fixed:
		return nil, fmt.Errorf("a feature flag holds the switch of this process: take it back there first")
	case p.run != nil:
		return nil, fmt.Errorf("another controller holds the switch: stop it, or wait %.0f s after it died",
			p.run.orders.Lease+1)
	}
	host, _ := os.Hostname()
	now := time.Now()
	r := &run{
		process: p, function: s, orders: o,
		lease: rand.Text(), pod: fmt.Sprintf("%s/%d", host, os.Getpid()),
		beat: now, ends: now.Add(seconds(o.TTL)), over: make(chan struct{}),
		told: requests.told.Load(), span: span{began: now},
	}
	r.stream = r.pod + "/" + r.lease[:8]
	p.run = r
	delete(p.ended, s)
	r.start.candidate, r.start.original = s.sum(Candidate), s.sum(Original)
	was := newReader().read(s, Original, &requests.tallies)
	r.start.heap, r.start.goroutines = was.heap, was.goroutines
	return r, nil
}

// beat renews the lease, takes new orders, and hands out the blocks.
func (p *process) beat(q *wire.Request) (*wire.RolloutReply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.run
	if r == nil || r.lease != q.Lease {
		if p.last != nil && p.last.lease == q.Lease {
			return p.handOut(p.last), nil // its switch says that it does not run, and why
		}
		return nil, fmt.Errorf("this process does not know that rollout: it was started again, " +
			"or another controller came")
	}
	r.beat = time.Now()
	if q.Rollout != nil {
		o := *q.Rollout
		o.Function, o.Build, o.Unit = r.orders.Function, r.orders.Build, r.orders.Unit
		o, err := complete(o)
		if err != nil {
			return nil, err
		}
		r.orders = o
	}
	return p.handOut(r), nil
}

func (p *process) handOut(r *run) *wire.RolloutReply {
	reply := p.reply()
	reply.Blocks, reply.Dropped = r.blocks, r.dropped
	r.blocks, r.dropped = nil, 0
	reply.NoArm, reply.NoArmWhy = r.misses.take()
	return reply
}

// stop ends a rollout: any rollout if there is no lease.
func (p *process) stop(q *wire.Request) (*wire.RolloutReply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.run
	if r == nil || q.Lease != "" && r.lease != q.Lease {
		return p.reply(), nil
	}
	p.finish(r, "a controller stopped it", false)
	return p.handOut(r), nil
}

// finish runs the original from now on. The caller holds the mutex. "For good" means until the
// process is started again.
func (p *process) finish(r *run, why string, forGood bool) {
	if p.run != r {
		return
	}
	r.function.word.Store(0)
	requests.arm.Store(uint32(Original))
	requests.draw.Store(nil)
	close(r.over)
	p.run, p.last = nil, r
	p.ended[r.function] = why
	if forGood {
		p.tripped[r.function] = why
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// maxLease bounds the time in which a silent controller counts as alive.
const maxLease = 10.0

// complete sets defaults and refuses values out of bounds.
func complete(o wire.RolloutOrders) (wire.RolloutOrders, error) {
	// Set the defaults of numbers, and check their bounds.
	for _, b := range []struct {
		name           string
		v              *float64
		std, low, high float64
	}{
		{"slice", &o.Slice, 20, 1, 10_000}, {"guard", &o.Guard, 1, 0.001, 1000}, {"ttl", &o.TTL, 86400, 0.01,
			30 * 86400},
		{"lease", &o.Lease, maxLease, 0.01, maxLease}, {"most_errors", &o.MostErrors, 0.02, 1e-6, 1},
		{"most_heap", &o.MostHeap, 3, 1.01, 100}, {"stuck", &o.Stuck, 3, 0.05, 600}, {"slow", &o.Slow, 0, 0, 1e6},
		{"share", &o.Share, 0, 0.0001, 0.9999},
	} {
		if *b.v == 0 {
			*b.v = b.std
		}
		if !(*b.v >= b.low && *b.v <= b.high) {
			return o, fmt.Errorf("invalid %s %v: give %v to %v", b.name, *b.v, b.low, b.high)
		}
	}
	// Do the same for counts and names.
	if o.Turns == 0 {
		o.Turns = 10
	}
	if o.Turns < 1 || o.Turns > 10_000 {
		return o, fmt.Errorf("invalid turns %d: give 1 to 10000", o.Turns)
	}
	if o.Unit == "" {
		o.Unit = wire.UnitSlice
	}
	if o.Unit != wire.UnitSlice && o.Unit != wire.UnitRequest {
		return o, fmt.Errorf("invalid unit %q: give %s or %s", o.Unit, wire.UnitSlice, wire.UnitRequest)
	}
	// Check the arms.
	if len(o.Arms) == 0 || len(o.Arms) > 8 {
		return o, fmt.Errorf("invalid arms: give the kinds of turns")
	}
	for _, kind := range o.Arms {
		if _, err := armsOf(kind); err != nil {
			return o, err
		}
	}
	if o.Base == "" {
		o.Base = wire.Original
	}
	_, err := armsOf([]string{o.Base, wire.Candidate})
	if o.Base == wire.Candidate {
		err = nil
	}
	return o, err
}

var armNames = [arms]string{Original: wire.Original, Candidate: wire.Candidate, Placebo: wire.Placebo}

// String returns the arm's name.
func (a Arm) String() string {
	if a < arms {
		return armNames[a]
	}
	return "none"
}

// armsOf reads a kind of turn: different arms, the candidate among them.
func armsOf(names []string) (all []Arm, err error) {
	seen := [arms]bool{}
	for _, name := range names {
		found := false
		for arm, n := range armNames {
			if n == name && !seen[arm] {
				all, seen[arm], found = append(all, Arm(arm)), true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("invalid arms %q: name original, candidate and placebo, each once", names)
		}
	}
	if !seen[Candidate] || len(all) < 2 {
		return nil, fmt.Errorf("invalid arms %q: give the candidate beside another arm", names)
	}
	return all, nil
}

func armOf(name string) Arm {
	for arm, n := range armNames {
		if n == name {
			return Arm(arm)
		}
	}
	return Original
}
