package mutate

import (
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Guard runs the functions of mutators, so that a mistake in one of them ends
// no search. It returns from a function that panics, that takes longer than
// Time, or during which memory grows by more than Memory: that is a [Fault].
//
// Go cannot stop a goroutine from outside. A function that the Guard gave up
// goes on until it asks its [Pass] for anything: it ends there. One that never
// asks keeps a processor busy and keeps the memory that it takes; Stuck hears
// of it. A function that recurses without end and never asks overflows the
// stack, which ends the process.
//
// The zero value is ready to use. Several goroutines may use a Guard at once.
type Guard struct {
	Time   time.Duration // that a function may take; 0 means CallTime
	Memory uint64        // bytes by which memory may grow meanwhile; 0 means CallMemory
	Stuck  func(Fault)   // receives each fault whose function has not ended a second later; may be nil

	mu     sync.Mutex
	faults []Fault
	calls  []*call // under way, the oldest first, those given up included
}

// The bounds of a function unless a Guard says otherwise.
const (
	CallTime   = 20 * time.Second
	CallMemory = 400 << 20 // less than the stack of one goroutine may take
)

const (
	beforeSample = 20 * time.Millisecond // after which a function's use of memory is looked at
	sampleEvery  = 10 * time.Millisecond
	stuckAfter   = time.Second
	maxFaults    = 3 // after which a mutator is not called any more
)

// A Fault says that a function of a mutator panicked or was given up.
type Fault struct {
	Mutator  string
	Function string // Find, Params, or Rewrite
	Reason   string // "panicked: index out of range [3] with length 3"
	Stack    string // of a panic
}

func (f *Fault) Error() string { return f.Function + " " + f.Reason }

// Faults returns the faults so far, in the order in which they were found.
func (g *Guard) Faults() []Fault {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.faults)
}

// tasks are calls of mutators, by number. They share a goroutine, and get
// another one when a task was given up.
type tasks struct {
	of []*Mutator // of each task
	// do carries out a task, and returns a function that keeps its result.
	do     func(p *Pass, task int) (keep func())
	faults []*Fault // of each task that failed
}

// A call is the goroutine that does tasks.
type call struct {
	gaveUp atomic.Bool

	mu    sync.Mutex
	next  int // the first task that is left to do; while it is under way: next-1 is done
	fault Fault
	since time.Time // when the function under way was called

	// What the watcher notes about the function that it looked at last.
	looked time.Time     // since
	at     time.Time     // when it looked
	took   time.Duration // of the function, pauses of the whole process left out
	base   uint64        // memory in use before
}

// givenUp is what a call panics with that was given up.
type givenUp struct{}

// carryOut does tasks, and returns the fault of each that failed. With a nil
// Guard nothing bounds them.
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

// run does tasks from one on, until all are done or one is given up. It returns
// the first that is left.
func (g *Guard) run(p *Pass, t *tasks, from int) (next int) {
	c, done := g.begin(from), make(chan struct{})
	q := p.during(c)
	go func() {
		defer close(done) // also when a function ends its goroutine
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
			if reason := g.over(c); reason == "" || !c.giveUp(t, reason) {
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

// try does a task. It reports false when the call was given up.
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
	if c.of(m.Name); g.tired(m.Name) {
		panic(tired{})
	}
	keep = t.do(q, task)
	return true
}

// of notes whose functions are called now.
func (c *call) of(mutator string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = Fault{Mutator: mutator}
}

// tired is what stands for the call of a mutator that failed too often.
type tired struct{}

// enter notes which function of a mutator is called now.
func (p *Pass) enter(function string) {
	if c := p.call; c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.fault.Function, c.since = function, time.Now()
	}
}

// finish keeps the result of a task that ended, or notes why there is none. It
// returns what nobody knows yet.
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

// giveUp ends the wait for the function that the watcher looked at. It reports
// false when that has ended meanwhile.
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

// over returns why the function under way must be given up, or "".
func (g *Guard) over(c *call) string {
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
	// A machine that slept, or a process that did not get a processor, is no
	// fault of the function.
	c.took += min(now.Sub(c.at), 3*sampleEvery)
	c.at = now
	if c.took > limit {
		return fmt.Sprintf("took longer than %v", limit)
	}
	// Memory belongs to the process. The oldest call answers for it, and the
	// others start again when that one has ended.
	if c.took < beforeSample || !g.oldest(c) {
		c.base = 0
		return ""
	}
	used := inUse()
	if c.base == 0 || used < c.base {
		c.base = used
	}
	if used-c.base > most {
		return fmt.Sprintf("took more than %d MB of memory", most>>20)
	}
	return ""
}

// hear tells Stuck of a function that does not end after it was given up.
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

// inUse returns the bytes of the heap's objects and of the stacks.
func inUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() + samples[1].Value.Uint64()
}

// during returns the Pass as a call sees it.
func (p *Pass) during(c *call) *Pass {
	return &Pass{
		Src: p.Src, Fset: p.Fset, File: p.File, Pkg: p.Pkg, Info: p.Info, Func: p.Func,
		Target: p.Target, Facets: p.Facets, Weight: p.Weight, Guard: p.Guard,
		whole: p.base(), call: c,
	}
}

// base returns the Pass that holds what was found out about the candidate. It
// does not return to a call that was given up.
func (p *Pass) base() *Pass {
	if p.call != nil && p.call.gaveUp.Load() {
		panic(givenUp{})
	}
	if p.whole != nil {
		return p.whole
	}
	return p
}
