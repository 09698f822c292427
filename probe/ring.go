package probe

import (
	"sync/atomic"

	"github.com/beagle-go/beagle/probe/wire"
)

// A ring holds captured calls until the controller takes them. It has a fixed number of slots of a
// fixed size. A writer claims a free slot or gives up; neither side waits.
type ring struct {
	slots []slot
	next  atomic.Uint64
	used  atomic.Int64
}

// States of a slot.
const (
	free    = iota
	writing // its owner is the call that claimed it
	full
	reading // its owner is the pull that claimed it
)

type slot struct {
	state   atomic.Uint32
	event   wire.Event // without the bytes
	args    int        // length of the arguments in buf
	buf     []byte     // arguments, then results
	storage []byte     // what buf may fill
}

// newRing makes all slots at once, so that no call allocates.
func newRing(slots, size int) *ring {
	r := &ring{slots: make([]slot, slots)}
	memory := make([]byte, slots*size)
	for i := range r.slots {
		r.slots[i].storage = memory[i*size : (i+1)*size : (i+1)*size]
	}
	return r
}

// tries bounds the slots that a writer examines before it gives up.
const tries = 4

// claim returns a slot for writing, or nil when those that it examined are taken.
func (r *ring) claim() *slot {
	for range tries {
		s := &r.slots[r.next.Add(1)%uint64(len(r.slots))]
		if s.state.CompareAndSwap(free, writing) {
			r.used.Add(1)
			return s
		}
	}
	return nil
}

// publish hands a written slot to the reader.
func (r *ring) publish(s *slot) { s.state.Store(full) }

// release gives a slot back without an event.
func (r *ring) release(s *slot) {
	r.used.Add(-1)
	s.state.Store(free)
}

// drain appends the waiting events to b, at most limit bytes of them, and frees their slots. more
// reports whether some are left.
func (r *ring) drain(b []byte, limit int) (_ []byte, more bool) {
	start := len(b)
	for i := range r.slots {
		s := &r.slots[i]
		if !s.state.CompareAndSwap(full, reading) {
			continue
		}
		if len(b)-start+len(s.buf)+64 > limit {
			s.state.Store(full)
			return b, true
		}
		e := s.event
		e.Args, e.Results = s.buf[:s.args], s.buf[s.args:]
		b = e.Append(b)
		clear(s.storage)
		r.release(s)
	}
	return b, false
}
