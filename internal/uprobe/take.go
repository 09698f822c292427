//go:build linux

package uprobe

import (
	"errors"
	"time"

	"github.com/cilium/ebpf/ringbuf"

	"github.com/beagle-go/beagle/probe/wire"
)

// listen takes events out of the kernel's ring until that is closed.
func (s *session) listen() {
	var r ringbuf.Record
	for {
		err := s.k.ring.ReadInto(&r)
		switch {
		case errors.Is(err, ringbuf.ErrClosed):
			return
		case err != nil:
			continue
		}
		e, err := readEvent(r.RawSample)
		if err != nil || e.site >= len(s.sites) {
			s.drop(func(d *wire.Dropped) { d.Fault++ })
			continue
		}
		s.take(e)
	}
}

func (s *session) drop(f func(d *wire.Dropped)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.dropped)
}

// take encodes an event, under the limits, and keeps it. Values that the rules call secret go no
// further.
func (s *session) take(e *event) {
	a := s.sites[e.site]
	began := time.Now()
	values := a.f.Params
	if e.results {
		values = a.f.Results
	}
	x := encoder{o: &s.start, secrets: s.secrets, seed: s.seed, memory: e.memory}
	x.tuple(values, e.image)
	s.mu.Lock()
	defer s.mu.Unlock()
	a.copied(time.Duration(e.spent))
	switch {
	case e.faults > 0:
		s.dropped.Fault++
	case e.over > 0 || len(x.buf) > s.start.Event:
		s.dropped.Large++
	case s.start.Hits > 0 && !e.results && s.seq >= uint64(s.start.Hits):
		s.dropped.Late++ // chosen before the gate was shut
	case s.bytes <= 0:
		s.dropped.Bytes++
	case e.results:
		s.arrive(e, x)
		return
	case len(s.waiting)+len(s.flying) >= s.start.Events:
		s.dropped.Full++
	default:
		s.bytes -= float64(len(x.buf))
		s.seq++
		w := wire.Event{Seq: s.seq, Site: e.site, Time: s.clock.Add(time.Duration(e.time)).UnixNano(),
			Flags: x.flags, Args: x.buf}
		if s.k.get(e.site, siteReturn) != 0 {
			s.flying[flight{e.site, e.number}] = airborne{w, began}
			return
		}
		s.keep(w)
		return
	}
	if e.results { // the arguments stand alone
		s.depart(flight{e.site, e.number}, wire.Unfinished)
	}
}

// copied moves the estimate of the median a step towards d. A mean would tell how often the kernel
// took the processor away.
func (a *armedSite) copied(d time.Duration) {
	const step = 16
	switch {
	case a.nanos == 0:
		a.nanos = d
	case d > a.nanos:
		a.nanos += a.nanos/step + 1
	default:
		a.nanos -= a.nanos / step
	}
}

func (s *session) keep(w wire.Event) {
	s.sites[w.Site].recorded++
	s.waiting = append(s.waiting, w)
}

// arrive adds results to the call that they are of.
func (s *session) arrive(e *event, x encoder) {
	id := flight{e.site, e.number}
	f, ok := s.flying[id]
	if !ok {
		return
	}
	delete(s.flying, id)
	s.bytes -= float64(len(x.buf))
	f.event.Flags |= x.flags&^wire.Shared | wire.HasResults // see the probe's write
	f.event.Results = x.buf
	s.keep(f.event)
}

// depart keeps a call whose results are not known.
func (s *session) depart(id flight, flag byte) {
	if f, ok := s.flying[id]; ok {
		delete(s.flying, id)
		f.event.Flags |= flag
		s.keep(f.event)
	}
}

// land gives up waiting for the results of calls that began long ago. The caller holds the mutex.
func (s *session) land(now time.Time, patience time.Duration) {
	for id, f := range s.flying {
		if now.Sub(f.since) >= patience {
			s.depart(id, wire.Unfinished)
		}
	}
}
