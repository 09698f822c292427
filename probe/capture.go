package probe

import (
	"reflect"
	"runtime/debug"
	"time"
	"unsafe"

	"github.com/beagle-go/beagle/probe/wire"
)

// A Call is a captured call under way. The zero Call is one that is not captured.
type Call struct {
	a     *arming
	slot  *slot
	done  bool
	began int64  // in the form of elapsed; 0: the end of the call is not seen
	crowd *crowd // it is followed, and not captured
}

// Enter captures the arguments of a call whose gate said yes. The struct is read at once, and no
// reference to it is kept. [Leave] or [Call.End] must follow before the function returns.
func Enter[A any](s *Site, args *A) Call {
	a := s.armed.Load()
	if a == nil || s.about.argsType != reflect.TypeFor[A]() {
		return Call{}
	}
	return a.enter(hidePointer(unsafe.Pointer(args)))
}

// EnterAt is [Enter] for generated code. args must point to the struct that the site was registered
// with.
func EnterAt(s *Site, args unsafe.Pointer) Call {
	a := s.armed.Load()
	if a == nil {
		return Call{}
	}
	return a.enter(hidePointer(args))
}

// Leave captures the results of a call that returned. Questions about results see the arguments as
// they are now.
func Leave[A, R any](c *Call, args *A, results *R) {
	if c.a == nil || c.done {
		return
	}
	if c.done = true; c.crowd != nil {
		c.crowd.leave()
		return
	}
	c.a.lasted.add(c.began)
	about := &c.a.site.about
	if about.argsType == reflect.TypeFor[A]() && about.resultsType == reflect.TypeFor[R]() {
		c.a.leave(c.slot, hidePointer(unsafe.Pointer(args)), hidePointer(unsafe.Pointer(results)))
	}
	c.finish()
}

// LeaveAt is [Leave] for generated code. The pointers must be to the structs that the site was
// registered with.
func LeaveAt(c *Call, args, results unsafe.Pointer) {
	if c.a == nil || c.done {
		return
	}
	if c.done = true; c.crowd != nil {
		c.crowd.leave()
		return
	}
	c.a.lasted.add(c.began)
	c.a.leave(c.slot, hidePointer(args), hidePointer(results))
	c.finish()
}

// End ends the capture of a call, if Leave did not: then the call panics, or ends its goroutine. A
// function that captures no results runs it by defer, or at once.
func (c *Call) End() {
	if c.a == nil || c.done {
		return
	}
	if c.done = true; c.crowd != nil {
		c.crowd.leave()
		return
	}
	if c.a.site.about.returns {
		c.a.lasted.add(c.began)
		c.a.panicked.Add(1)
		if c.slot != nil {
			c.slot.event.Flags |= wire.NoReturn
		}
		c.a.ask(lateQuestions, frame{panicked: true})
	}
	c.finish()
}

// finish publishes the event.
func (c *Call) finish() {
	if c.slot == nil {
		return
	}
	c.a.recorded.Add(1)
	c.a.s.ring.publish(c.slot)
}

// hidePointer returns p in a way that the compiler does not see through. So a function's arguments
// need not move to the heap for the sake of a call that is captured once in a million.
//
//go:nosplit
func hidePointer(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}

// enter records the arguments in a slot. It returns a Call without a slot when only questions are
// asked, or when the call is dropped.
func (a *arming) enter(args unsafe.Pointer) (c Call) {
	s := a.s
	if s.over.Load() {
		return Call{}
	}
	if crowd := a.crowd.Load(); crowd != nil {
		return a.follow(crowd)
	}
	a.taken.Add(1)
	if a.quota.Add(-1) > 0 {
		a.site.open(a.ownPasses(), a.skip.Load())
	}
	c.a = a
	from := elapsed()
	a.ask(earlyQuestions, frame{args: args})
	if s.ring != nil && s.admit() {
		c.slot = a.record(args, from)
	}
	now := elapsed()
	a.addCost(time.Duration(now - from))
	if a.site.about.returns { // without the probe's own time
		c.began = now
	}
	return c
}

// cold is what a first call takes at most that was not interrupted.
const cold = 100 * time.Microsecond

// addCost moves the estimate of the median a step towards d. A mean would mostly show how often the
// kernel took the processor away. The first steps are large: after a first call that was
// interrupted, or an easy one, the session would capture too few calls for long, or too many.
func (a *arming) addCost(d time.Duration) {
	step := int64(min(2+a.taken.Load()/4, 16))
	m := a.nanos.Load()
	switch {
	case m == 0:
		m = int64(min(d, cold))
	case int64(d) > m:
		m += m/step + 1
	default:
		m -= m / step
	}
	a.nanos.Store(m)
}

// admit takes a call off the bound of all calls.
func (s *session) admit() bool {
	if s.start.Hits == 0 {
		return true
	}
	left := s.hits.Add(-1)
	if left <= 0 {
		s.over.Store(true)
	}
	return left >= 0
}

// record writes the arguments to a slot, or returns nil and counts why not. now is a time of
// elapsed.
func (a *arming) record(args unsafe.Pointer, now int64) *slot {
	s := a.s
	if s.bytes.Load() <= 0 {
		s.dropped.bytes.Add(1)
		return nil
	}
	slot := s.ring.claim()
	if slot == nil {
		s.dropped.full.Add(1)
		return nil
	}
	slot.event = wire.Event{Seq: s.seq.Add(1), Site: a.index, Time: began.UnixNano() + now}
	slot.buf, slot.args = slot.storage[:0], 0
	if !a.write(slot, a.site.about.args, args) {
		s.ring.release(slot)
		return nil
	}
	slot.args = len(slot.buf)
	s.bytes.Add(-int64(len(slot.buf)))
	return slot
}

// leave adds the results to the slot.
func (a *arming) leave(slot *slot, args, results unsafe.Pointer) {
	a.ask(lateQuestions, frame{args: args, results: results})
	if slot == nil {
		return
	}
	if a.write(slot, a.site.about.results, results) {
		slot.event.Flags |= wire.HasResults
		a.s.bytes.Add(-int64(len(slot.buf) - slot.args))
	}
}

// write appends a value to a slot, which it leaves unchanged if that fails. Memory that another
// goroutine writes may mislead it into reading anywhere: such a fault becomes a panic, which ends
// here.
func (a *arming) write(slot *slot, c *coder, p unsafe.Pointer) (ok bool) {
	s, from := a.s, len(slot.buf)
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			s.dropped.fault.Add(1)
			ok = false
		}
		if !ok {
			slot.buf = slot.buf[:from]
		}
	}()
	e := encoder{o: &s.options, buf: slot.buf[from:from:cap(slot.buf)]}
	e.structure(c, p)
	flags := e.flags
	slot.buf = slot.buf[:from+len(e.buf)]
	if e.full {
		s.dropped.large.Add(1)
		return false
	}
	if flags&wire.Followed != 0 {
		scratch := s.scratch.Get().(*[]byte)
		defer s.scratch.Put(scratch)
		defer clear((*scratch)[:cap(*scratch)])
		if !e.stable(*scratch, c, p) {
			s.dropped.torn.Add(1)
			return false
		}
	}
	if from > 0 {
		flags &^= wire.Shared // among results: a function may return parts of one argument
	}
	slot.event.Flags |= flags
	return true
}
