package rollout

import (
	"math"
	"reflect"
	"sync/atomic"
	"time"
	"unsafe"
)

// An Arm is one of the versions of a function.
type Arm uint8

// The arms.
const (
	Original  Arm = iota
	Candidate     // the version on trial
	Placebo       // a second copy of the original
	arms
)

// A Switch chooses the version of a function. The zero value is off; [Register] makes it known.
type Switch struct {
	word atomic.Uint32 // 0 when off, else the arm plus one

	name, build    string
	errors, checks bool
	shards         []shard
	faults         atomic.Pointer[string] // why the candidate is to stop; the first counts
}

// On reports whether a call has to be routed. While nothing runs it costs a load and a branch.
func (s *Switch) On() bool { return s.word.Load() != 0 }

// A shard is what one part of the goroutines counted. It fills cache lines of its own.
type shard struct {
	of [arms]counters
	_  [64]byte
}

type counters struct {
	entered    atomic.Uint64
	left       atomic.Uint64
	errors     atomic.Uint64
	panics     atomic.Uint64
	mismatches atomic.Uint64
	timed      atomic.Uint64
	nanos      atomic.Uint64
	_          [8]byte
}

// Every how many calls of a shard one is timed, and one is run on both versions.
const (
	timeEvery  = 128
	checkEvery = 1024
)

// A Call is a routed call under way.
type Call struct {
	Arm   Arm
	done  bool
	check bool
	s     *Switch
	c     *counters
	began time.Duration
}

var epoch = time.Now()

// Enter counts a call and says which version it gets. [Call.Leave] must follow by defer.
func (s *Switch) Enter() Call {
	var here byte
	place := uintptr(unsafe.Pointer(&here)) // stacks of goroutines lie apart
	arm := Original
	if w := s.word.Load(); w != 0 {
		arm = Arm(w - 1)
	}
	c := &s.shards[(place>>11^place>>17)&uintptr(len(s.shards)-1)].of[arm]
	call := Call{Arm: arm, s: s, c: c}
	n := c.entered.Add(1)
	if n%timeEvery == 0 {
		call.began = time.Since(epoch)
	}
	call.check = s.checks && n%checkEvery == timeEvery/2
	return call
}

// Done says that a version returned, and whether with an error.
func (c *Call) Done(failed bool) {
	c.done = true
	if c.began != 0 {
		c.c.timed.Add(1)
		c.c.nanos.Add(uint64(max(0, time.Since(epoch)-c.began-clock)))
	}
	if failed {
		c.c.errors.Add(1)
	}
}

// Leave ends a call. One that is not done panics, or ended its goroutine.
func (c *Call) Leave() {
	if !c.done {
		c.c.panics.Add(1)
		if c.Arm == Candidate {
			c.s.fault("the candidate panicked")
		}
	}
	c.c.left.Add(1)
}

// Saves reports whether the call is one of the candidate that panics. A deferred function recovers
// then and calls the original, where that can do no harm, and tells by [Call.Saved] what it did.
func (c *Call) Saves() bool { return !c.done && c.Arm == Candidate }

// Saved says that the original answered in place of the candidate, which panicked. Where the
// original panics too, its panic goes on, and the candidate is not at fault.
func (c *Call) Saved() {
	c.done = true
	c.c.panics.Add(1)
	c.s.fault("the candidate panicked where the original does not")
}

// Forgiven says that the original is about to be called in place of the candidate.
func (c *Call) Forgiven() { c.done = true }

// Check reports whether the call is to run on the original too.
func (c *Call) Check() bool { return c.check }

// Compare runs the original a second time. same returns whether its results are those of this call.
// A panic in it is a difference: this call returned.
func (c *Call) Compare(same func() bool) {
	ok := false
	defer func() {
		if !ok {
			_ = recover()
			c.c.mismatches.Add(1)
			if c.Arm == Candidate {
				c.s.fault("the candidate gave another result than the original")
			}
		}
	}()
	ok = same()
}

// fault has the candidate taken out of service, at once for new calls.
func (s *Switch) fault(why string) {
	s.faults.CompareAndSwap(nil, &why)
	s.word.Store(0)
}

// Same reports whether two results are equal. It is for [Call.Compare].
func Same(a, b any) bool {
	if x, ok := a.(error); ok && a != nil {
		y, ok := b.(error)
		return ok && x.Error() == y.Error()
	}
	if x, ok := a.(float64); ok {
		y, ok := b.(float64)
		return ok && (x == y && math.Signbit(x) == math.Signbit(y) || x != x && y != y)
	}
	if x, ok := a.(float32); ok {
		return Same(float64(x), float64(b.(float32)))
	}
	return reflect.DeepEqual(a, b)
}

// clock is what it costs to time a call of nothing: the least of some tries.
var clock = func() time.Duration {
	least := time.Duration(math.MaxInt64)
	for range 64 {
		began := time.Since(epoch)
		least = min(least, time.Since(epoch)-began)
	}
	return least
}()

// sum adds the shards up.
func (s *Switch) sum(arm Arm) (t tally) {
	for i := range s.shards {
		c := &s.shards[i].of[arm]
		t.left += c.left.Load() // before entered, so that no call seems to have left twice
		t.entered += c.entered.Load()
		t.errors += c.errors.Load()
		t.panics += c.panics.Load()
		t.mismatches += c.mismatches.Load()
		t.timed += c.timed.Load()
		t.nanos += c.nanos.Load()
	}
	return t
}

// A tally is what an arm did since the process began.
type tally struct{ entered, left, errors, panics, mismatches, timed, nanos uint64 }
