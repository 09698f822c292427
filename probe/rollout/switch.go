package rollout

import (
	"math"
	"reflect"
	"slices"
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
	word atomic.Uint32 // 0 when off, else the arm plus one, or perRequest; and oddBit

	name, build              string
	errors, checks, contexts bool
	shards                   []shard
	timed                    atomic.Uint64          // the bound of [chosen], in turns
	faults                   atomic.Pointer[string] // why the candidate is to stop; the first counts
}

// The word of a switch.
const (
	armBits    = 0xff
	perRequest = 0xff  // each request has its own arm
	oddBit     = 0x100 // of every other span of time, see [run.hung]
)

// On reports whether a call has to be routed. While nothing runs it costs a load and a branch.
func (s *Switch) On() bool { return s.word.Load() != 0 }

// A shard holds the counts of one part of the goroutines. It fills cache lines of its own.
type shard struct {
	of [2 * arms]counters // of calls that are compared, and from aside on of others
	_  [64]byte
}

// aside is the distance to the counters of calls that are not compared: those without a request,
// and those of requests that do not count.
const aside = arms

type counters struct {
	entered    [2]atomic.Uint64 // by the span of time in which they entered
	left       [2]atomic.Uint64
	errors     atomic.Uint64
	panics     atomic.Uint64
	mismatches atomic.Uint64
	times      histogram
}

// A Call is a routed call under way.
type Call struct {
	Arm   Arm
	done  bool
	check bool
	odd   uint8
	s     *Switch
	c     *counters
	began time.Duration
}

var epoch = time.Now()

// Enter counts a call and says which version it gets. [Call.Leave] must follow by defer.
//
// By requests a function that cannot tell its request runs the original; see [Switch.EnterContext].
func (s *Switch) Enter() Call { return s.enter(s.word.Load(), Request{}) }

// enter counts a call. By requests it runs the arm of its request.
func (s *Switch) enter(w uint32, own Request) Call {
	var here byte
	place := uintptr(unsafe.Pointer(&here)) // stacks of goroutines lie apart
	arm, slot, below := Original, Original, s.timed.Load()
	switch w & armBits {
	case 0:
	case perRequest:
		below = math.MaxUint64 / timeEveryRequests
		var counts bool
		arm, counts = own.armIn(requests.draw.Load())
		if slot = arm; !counts {
			slot += aside
		}
	default:
		arm = Arm(w&armBits - 1)
		slot = arm
	}
	odd := uint8(w >> 8 & 1)
	c := &s.shards[(place>>11^place>>17)&uintptr(len(s.shards)-1)].of[slot]
	call := Call{Arm: arm, s: s, c: c, odd: odd}
	timed, checked := chosen(c.entered[odd].Add(1), below)
	if timed {
		call.began = time.Since(epoch)
	}
	call.check = s.checks && checked
	return call
}

// Done says that a version returned, and whether with an error.
func (c *Call) Done(failed bool) {
	c.done = true
	if c.began != 0 {
		c.c.times.add(uint64(max(0, time.Since(epoch)-c.began-clock)))
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
	c.c.left[c.odd].Add(1)
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

// clock is the time of a routed call of nothing: two looks at the clock, and the code between them
// and a version. Without it the version of a short function would look more like the original than
// it is. It is the mean of the faster half of some tries, since a clock may have steps of 10 ns.
var clock = func() time.Duration {
	s := &Switch{shards: make([]shard, 1)}
	s.timed.Store(math.MaxUint64)
	s.word.Store(uint32(Original) + 1)
	tries := make([]time.Duration, 256)
	for i := range tries {
		tries[i] = idle(s)
	}
	slices.Sort(tries)
	sum := time.Duration(0)
	half := tries[:len(tries)/2]
	for _, d := range half {
		sum += d
	}
	return sum / time.Duration(len(half))
}()

// idle times a call of nothing as a routed function does; see versions.go of internal/inject.
func idle(s *Switch) (d time.Duration) {
	c := s.Enter()
	defer c.Leave()
	defer func() {
		if c.Saves() {
			c.Saved()
		}
	}()
	switch c.Arm {
	case Candidate:
		noVersion(1)
	case Placebo:
		noVersion(2)
	default:
		noVersion(0)
	}
	d = time.Since(epoch) - c.began
	c.done = true
	return d
}

//go:noinline
func noVersion(int) {}

// sum adds up all calls of an arm.
func (s *Switch) sum(arm Arm) (t tally) {
	s.add(&t, arm)
	s.add(&t, arm+aside)
	return t
}

// compared adds up the calls of an arm that are compared.
func (s *Switch) compared(arm Arm) (t tally) {
	s.add(&t, arm)
	return t
}

// add adds the shards up.
func (s *Switch) add(t *tally, slot Arm) {
	for i := range s.shards {
		c := &s.shards[i].of[slot]
		for odd := range c.left {
			left := c.left[odd].Load() // before entered, so that no call seems to have left twice
			entered := c.entered[odd].Load()
			t.open[odd] += entered - left
			t.entered += entered
		}
		t.errors += c.errors.Load()
		t.panics += c.panics.Load()
		t.mismatches += c.mismatches.Load()
	}
}

// A tally counts the calls of an arm since the process began.
type tally struct {
	entered, errors, panics, mismatches uint64
	open                                [2]uint64 // calls under way, by when they entered
}
