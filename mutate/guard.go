package mutate

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Guard runs the functions of mutators, so that a mistake in one of them does not end a search.
// It gives up a function that panics, that takes longer than Time, or during which memory grows by
// more than Memory. It reports each as a [Fault].
//
// Go cannot stop a goroutine from outside. A function that the Guard gave up runs on until it asks
// its [Pass] for anything; there it ends. A function that never asks keeps a processor busy and
// keeps its memory, and the Guard reports it to Stuck. A function that recurses without end and
// never asks overflows the stack, which ends the process.
//
// The zero value is ready to use. Several goroutines may use a Guard at once.
type Guard struct {
	Time   time.Duration // the limit for one function; 0 means CallTime
	Memory uint64        // limit for the growth of memory during the call, in bytes; 0 means CallMemory
	Stuck  func(Fault)   // receives each fault whose function still runs a second later; may be nil

	mu     sync.Mutex
	faults []Fault
	calls  []*call // the running calls, the oldest first, including those given up
}

// These are the bounds of a function unless a Guard sets others.
const (
	CallTime   = 20 * time.Second
	CallMemory = 400 << 20 // less than the stack of one goroutine may take
)

const (
	beforeSample = 20 * time.Millisecond // the time before the watcher looks at a function's memory
	sampleEvery  = 10 * time.Millisecond
	stuckAfter   = time.Second
	maxFaults    = 3 // after as many faults, the Guard does not call a mutator again
)

// A Fault says that a function of a mutator panicked or was given up.
type Fault struct {
	Mutator  string
	Function string // Find, Params, or Rewrite
	Reason   string // "panicked: index out of range [3] with length 3"
	Stack    string // of a panic
}

func (f *Fault) Error() string { return f.Function + " " + f.Reason }

// Faults returns the faults so far, in the order in which the Guard found them.
func (g *Guard) Faults() []Fault {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.faults)
}

// tasks are calls of mutators, by number. They share a goroutine. When the Guard gives up a task,
// the rest get another goroutine.
type tasks struct {
	of []*Mutator // the mutators of each task
	// do runs a task and returns a function that keeps its result.
	do     func(p *Pass, task int) (keep func())
	faults []*Fault // the fault of each task that failed
}

// A call is the goroutine that runs tasks.
type call struct {
	gaveUp atomic.Bool

	mu    sync.Mutex
	next  int // the first task that is not done: the running one, if any
	fault Fault
	since time.Time // the start of the running function

	// These fields hold the watcher's notes on the function that it looked at last.
	looked time.Time     // since
	at     time.Time     // the time of the last look
	took   time.Duration // the function's time, without pauses of the whole process
	base   uint64        // memory in use before
}

// abandonedCall is the value of the panic that ends a call after the Guard gave it up.
type abandonedCall struct{}

// carryOut runs tasks, and returns the fault of each that failed. With a nil Guard nothing bounds
// them.
func (p *Pass) carryOut(of []*Mutator, do func(p *Pass, task int) (keep func())) []*Fault {
	t := &tasks{of: of, do: do, faults: make([]*Fault, len(of))}
	for next := 0; next < len(of); {
		if p.Guard == nil {
			do(p, next)()
			next++
			continue
		}
		next = p.Guard.run(p, t, next)
	}
	return t.faults
}

// run runs tasks from a given one on, until all are done or the Guard gives one up. It returns the
// first task that is left.
func (g *Guard) run(p *Pass, t *tasks, from int) (next int) {
	c, done := g.begin(from), make(chan struct{})
	q := p.forCall(c)
	go func() {
		defer close(done) // deferred, since a function may end its goroutine
		defer g.end(c)
		for task := from; task < len(t.of) && c.try(g, q, t, task); task++ {
		}
	}()
	timer := time.NewTimer(beforeSample)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return c.next
		case <-timer.C:
			if reason := g.whyGiveUp(c); reason == "" || !c.giveUp(t, reason) {
				timer.Reset(sampleEvery)
				continue
			}
			f := t.faults[c.next]
			g.note(*f)
			go g.hear(done, *f)
			return c.next + 1
		}
	}
}

// try runs a task. It returns false if the Guard gave the call up.
func (c *call) try(g *Guard, q *Pass, t *tasks, task int) (ok bool) {
	m := t.of[task]
	var keep func()
	defer func() {
		fault := c.finish(t, keep, recover())
		if fault != nil {
			g.note(*fault)
		}
		ok = !c.gaveUp.Load()
	}()
	if c.noteRunning(m.Name); g.tired(m.Name) {
		panic(tired{})
	}
	keep = t.do(q, task)
	return true
}

// noteRunning notes whose functions are running now.
func (c *call) noteRunning(mutator string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = Fault{Mutator: mutator}
}

// tired is the value of the panic in place of a call of a mutator that failed too often.
type tired struct{}

// enter notes which function of a mutator is running now.
func (p *Pass) enter(function string) {
	if c := p.call; c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.fault.Function, c.since = function, time.Now()
	}
}

// finish keeps the result of a task that ended, or notes why there is none. It returns a fault that
// is not recorded yet.
func (c *call) finish(t *tasks, keep func(), panicked any) *Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gaveUp.Load() {
		return nil
	}
	task := c.next
	c.next, c.since = c.next+1, time.Now()
	if keep != nil && panicked == nil {
		keep()
		return nil
	}
	f := c.fault
	t.faults[task] = &f
	switch panicked.(type) {
	case tired:
		f.Reason = "is not called any more"
		return nil
	case nil:
		f.Reason = "ended its goroutine"
	default:
		f.Reason, f.Stack = fmt.Sprintf("panicked: %v", panicked), string(debug.Stack())
	}
	return &f
}

// giveUp ends the wait for the function that the watcher looked at. It returns false if that
// function has ended by now.
func (c *call) giveUp(t *tasks, reason string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since != c.looked || c.next == len(t.of) {
		return false
	}
	c.gaveUp.Store(true)
	f := c.fault
	f.Reason = reason
	t.faults[c.next] = &f
	return true
}

// whyGiveUp returns why the Guard must give up the running function, or "".
func (g *Guard) whyGiveUp(c *call) string {
	limit, most := g.Time, g.Memory
	if limit == 0 {
		limit = CallTime
	}
	if most == 0 {
		most = CallMemory
	}
	c.mu.Lock()
	since := c.since
	c.mu.Unlock()
	now := time.Now()
	if since != c.looked {
		c.looked, c.at, c.took, c.base = since, since, 0, 0
	}
	// The function is not to blame for a machine that slept, or for a process without a processor.
	c.took += min(now.Sub(c.at), 3*sampleEvery)
	c.at = now
	if c.took > limit {
		return fmt.Sprintf("took longer than %v", limit)
	}
	// Memory belongs to the process. The oldest call answers for it; the other calls wait until
	// that one ends, and then count anew.
	if c.took < beforeSample || !g.oldest(c) {
		c.base = 0
		return ""
	}
	used := inUse()
	if c.base == 0 || used < c.base {
		c.base = used
	}
	if used > c.base+most {
		// Garbage does not count.
		runtime.GC()
		used = inUse()
	}
	if used > c.base+most {
		return fmt.Sprintf("took more than %d MB of memory", most>>20)
	}
	return ""
}

// hear reports a function to Stuck if it still runs after the Guard gave it up.
func (g *Guard) hear(done <-chan struct{}, f Fault) {
	select {
	case <-done:
	case <-time.After(stuckAfter):
		if g.Stuck != nil {
			g.Stuck(f)
		}
	}
}

// tired reports whether a mutator has failed too often to be called again.
func (g *Guard) tired(mutator string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for i := range g.faults {
		if g.faults[i].Mutator == mutator {
			n++
		}
	}
	return n >= maxFaults
}

func (g *Guard) note(f Fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = append(g.faults, f)
}

func (g *Guard) begin(next int) *call {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &call{next: next, since: time.Now()}
	g.calls = append(g.calls, c)
	return c
}

func (g *Guard) end(c *call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = slices.DeleteFunc(g.calls, func(d *call) bool { return d == c })
}

func (g *Guard) oldest(c *call) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.calls) > 0 && g.calls[0] == c
}

// inUse returns the bytes of the heap's objects, among them those that no collection has freed yet,
// and of the stacks.
func inUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() + samples[1].Value.Uint64()
}

// forCall returns the Pass as a call sees it.
func (p *Pass) forCall(c *call) *Pass {
	return &Pass{
		Src: p.Src, Fset: p.Fset, File: p.File, Pkg: p.Pkg, Info: p.Info, Func: p.Func,
		Background: p.Background, whole: p.base(), call: c,
	}
}

// base returns the Pass that holds the facts about the candidate. It panics in a call that the
// Guard gave up.
func (p *Pass) base() *Pass {
	if p.call != nil && p.call.gaveUp.Load() {
		panic(abandonedCall{})
	}
	if p.whole != nil {
		return p.whole
	}
	return p
}
