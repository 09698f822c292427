package probe

import (
	"math/rand/v2"
	"sync/atomic"
)

// A Site is a function whose calls can be captured. The zero value is off; [Register] makes it
// known.
type Site struct {
	// word is 0 when nothing is wanted. Otherwise it counts the calls down until one is captured,
	// or has the bit counting set, and perhaps following.
	word atomic.Uint32

	armed atomic.Pointer[arming]
	about description
}

// Bits in a site's word.
const (
	counting  = 1 << 31 // each call is counted and none captured
	following = 1 << 30 // and followed to its end, see crowd
)

// maxSkip bounds the calls that may pass between the timer and the captured call. Without a random
// number of them, the first call of each burst would be captured again and again.
const maxSkip = 64

// Gate reports whether this call is to be captured with [Enter]. While the probe is off it costs a
// load and a branch.
func (s *Site) Gate() bool {
	v := s.word.Load()
	return v != 0 && s.gateSlow(v)
}

// gateSlow counts down. If several goroutines meet here, one goes on; the others get false and do
// not wait.
//
//go:noinline
func (s *Site) gateSlow(v uint32) bool {
	if v&counting != 0 {
		a := s.armed.Load()
		return a != nil && a.count(v)
	}
	if s.word.CompareAndSwap(v, v-1) {
		return v == 1
	}
	if now := s.word.Load(); now != 0 && now&counting == 0 {
		if a := s.armed.Load(); a != nil {
			a.together.Store(true) // only another call can have counted down
		}
	}
	return false
}

// open lets one of the next skip calls through, unless one is on its way already. Before them own
// calls pass: where a call is captured, the function is called a second time, behind the gate.
// Without that the same call would be captured again and again where few are skipped.
func (s *Site) open(own, skip uint32) { s.word.CompareAndSwap(0, own+1+rand.Uint32N(skip)) }

// Pass gives back the turn of a call that the gate chose and that is not captured after all, as one
// of another instantiation of a generic function. One of the next calls is chosen instead.
func (s *Site) Pass() {
	a := s.armed.Load()
	if a == nil {
		return
	}
	if c := a.crowd.Load(); c != nil {
		c.inner.Add(1)
		return
	}
	s.open(a.ownPasses(), max(1, a.skip.Load()))
}
