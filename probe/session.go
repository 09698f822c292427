package probe

import (
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beagle-go/beagle/probe/wire"
)

// A session is the time during which a controller has sites armed.
type session struct {
	start   wire.Start // with defaults
	lease   string
	began   time.Time
	ends    time.Time
	beat    time.Time // of the controller, the last one; guarded by the probe's mutex
	options options
	ring    *ring
	sites   []*arming
	seq     atomic.Uint64
	bytes   atomic.Int64 // that may be written until the next tick
	hits    atomic.Int64 // calls that may still be captured; only with a bound
	over    atomic.Bool  // no call is to be captured any more
	dropped struct{ full, bytes, large, torn, fault, late atomic.Uint64 }
	asked   int // the last number of a question
	stop    chan struct{}
	scratch sync.Pool
}

// An arming is one site in a session.
type arming struct {
	s     *session
	site  *Site
	index int
	skip  atomic.Uint32
	quota atomic.Int64 // calls that may be captured until the next tick
	owed  float64      // fractions of calls

	questions atomic.Pointer[[]*question]

	window   atomic.Uint64 // calls in windows in which each is counted
	crowd    atomic.Pointer[crowd]
	beside   overlapCounts
	together atomic.Bool
	taken    atomic.Uint64
	recorded atomic.Uint64
	panicked atomic.Uint64
	nanos    atomic.Int64 // to record a call and answer questions of it, the median
	lasted   lasting

	opened  time.Time    // of the window that is open; of the ticker alone
	counted atomic.Int64 // nanoseconds of windows that are closed
}

// Defaults and bounds of a session.
const (
	defaultRate, maxRate         = 10, 1000
	defaultBytes, maxBytes       = 256 << 10, 16 << 20
	defaultTTL, maxTTL           = 600, 86400.0
	maxLease                     = 8.0
	defaultText, maxText         = 256, 32 << 10
	defaultElements, maxElements = 64, 8192
	defaultDepth, maxDepth       = 3, 16
	defaultEvent, maxEvent       = 2048, 64 << 10
	defaultEvents, maxEvents     = 512, 4096
	maxRing                      = 64 << 20
	between                      = 3 // seconds between two pulls of a controller, and one more
)

// complete sets defaults and refuses values out of bounds.
func complete(q wire.Start) (wire.Start, error) {
	unasked := q.Events == 0
	for _, b := range []struct {
		name      string
		v         *int
		std, most int
	}{
		{"rate", &q.Rate, defaultRate, maxRate}, {"bytes", &q.Bytes, defaultBytes, maxBytes},
		{"text", &q.Text, defaultText, maxText}, {"elements", &q.Elements, defaultElements, maxElements},
		{"depth", &q.Depth, defaultDepth, maxDepth}, {"event", &q.Event, defaultEvent, maxEvent},
		{"events", &q.Events, defaultEvents, maxEvents},
	} {
		if *b.v == 0 {
			*b.v = b.std
		}
		if *b.v < 0 || *b.v > b.most {
			return q, fmt.Errorf("invalid %s %d: give 1 to %d", b.name, *b.v, b.most)
		}
	}
	if unasked { // a ring that holds what comes between two pulls
		q.Events = max(q.Events, min(between*q.Rate, maxEvents, maxRing/q.Event))
	}
	if q.TTL == 0 {
		q.TTL = defaultTTL
	}
	if q.Lease == 0 {
		q.Lease = maxLease
	}
	switch {
	case !(q.TTL > 0 && q.TTL <= maxTTL):
		return q, fmt.Errorf("invalid ttl %v: give at most %v seconds", q.TTL, maxTTL)
	case !(q.Lease > 0 && q.Lease <= maxLease):
		return q, fmt.Errorf("invalid lease %v: give at most %v seconds", q.Lease, maxLease)
	case q.Hits < 0:
		return q, fmt.Errorf("invalid hits %d: give 0 or more", q.Hits)
	case q.Events*q.Event > maxRing:
		return q, fmt.Errorf("%d calls of %d bytes need more than %d bytes: lower one", q.Events, q.Event, maxRing)
	case len(q.Sites) == 0:
		return q, fmt.Errorf("no site is named: name one of the list")
	}
	return q, nil
}

// newSession makes a session for the sites that q names, without arming them.
func newSession(q wire.Start, all []*Site, now time.Time) (*session, error) {
	q, err := complete(q)
	if err != nil {
		return nil, err
	}
	red, err := newRedactor(q.Names, q.Types, q.Patterns)
	if err != nil {
		return nil, err
	}
	s := &session{start: q, lease: newLease(), began: now, beat: now, stop: make(chan struct{})}
	s.ends = now.Add(time.Duration(q.TTL * float64(time.Second)))
	seed := maphash.MakeSeed()
	s.options = options{text: q.Text, elements: q.Elements, depth: q.Depth, raw: q.Raw, follow: q.Follow,
		maps: q.Maps, redact: red, hash: func(t string) uint64 { return maphash.String(seed, t) }}
	s.hits.Store(int64(q.Hits))
	s.scratch.New = func() any { b := make([]byte, 0, q.Event); return &b }
	if err := s.choose(all); err != nil {
		return nil, err
	}
	if !q.Count {
		s.ring = newRing(q.Events, q.Event)
	}
	return s, nil
}

// choose finds the sites by name.
func (s *session) choose(all []*Site) error {
	seen := map[*coder]bool{}
	for _, name := range s.start.Sites {
		found := false
		for _, site := range all {
			if !wire.Matches(name, site.about.name) {
				continue
			}
			found = true
			if slices.ContainsFunc(s.sites, func(a *arming) bool { return a.site == site }) {
				continue
			}
			a := &arming{s: s, site: site, index: len(s.sites)}
			a.skip.Store(maxSkip)
			s.sites = append(s.sites, a)
			s.options.redact.learn(site.about.args, seen)
			s.options.redact.learn(site.about.results, seen)
		}
		if !found {
			return fmt.Errorf("no site %q: `beagle capture status` lists them", name)
		}
	}
	return nil
}

// Ticks of a session. Waking a sleeping process costs more than the work of a tick, so there are
// few of them. Every 15th opens a window, in which each call is counted.
const (
	tick       = 70 * time.Millisecond
	windowLong = 20 * time.Millisecond
	windowEach = 15 // ticks from one window to the next: a second
)

// lasts returns the time from tick n to the next.
func lasts(n int) time.Duration {
	if n%windowEach == 0 {
		return windowLong
	}
	return tick
}

// run ticks until the session is stopped. It is the only goroutine of a session.
func (s *session) run(p *prober) {
	t := time.NewTimer(0)
	defer t.Stop()
	for n := 0; ; n++ {
		select {
		case <-s.stop:
			return
		case <-t.C:
		}
		if !p.tick(s, n) {
			return
		}
		t.Reset(lasts(n))
	}
}

// tick ends the session if its time is over, and else ticks. It returns false when it has ended.
func (p *prober) tick(s *session, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session != s {
		return false
	}
	now := p.now()
	if why := s.expired(now); why != "" {
		p.disarm(s, why)
		return false
	}
	s.tick(n, now)
	return true
}

// maxShare of a core is what the captured calls of all sites may take. The ticks take 0.1 % more.
const maxShare = 0.004

// around is the factor by which a captured call costs more than the probe's work in it: what the
// service finds in no cache after it, the second call, and the clock. Command bench measures it.
const around = 3

// afford returns the share of a core that the captured calls of a site may take, so that those of
// all sites take maxShare. What a site does not need is left to the others. Without a bound it
// returns infinity.
func (s *session) afford() float64 {
	shares := make([]float64, len(s.sites))
	for i, a := range s.sites {
		shares[i] = a.wanted() * a.cost()
	}
	slices.Sort(shares)
	left := maxShare
	for i, share := range shares {
		fair := left / float64(len(shares)-i)
		if share > fair {
			return fair
		}
		left -= share
	}
	return math.Inf(1)
}

// wanted returns the calls a second that would be captured without a bound on their cost.
func (a *arming) wanted() float64 {
	if a.counted.Load() == 0 { // nothing is known yet
		return float64(a.s.start.Rate)
	}
	return min(float64(a.s.start.Rate), a.rate())
}

// cost returns the seconds of a core that a captured call takes.
func (a *arming) cost() float64 { return around * float64(a.nanos.Load()) / 1e9 }

// tick sets how many calls may be captured until the next tick.
func (s *session) tick(n int, now time.Time) {
	perTick := lasts(n).Seconds()
	share := s.afford()
	s.bytes.Store(min(s.bytes.Load()+int64(float64(s.start.Bytes)*perTick), int64(s.start.Bytes)))
	for _, a := range s.sites {
		switch n % windowEach {
		case 0:
			a.openWindow(now)
			continue
		case 1:
			a.closeWindow(now)
		}
		if s.over.Load() {
			continue
		}
		fair := min(float64(s.start.Rate), share/max(a.cost(), 1e-9)) * perTick
		a.owed = min(a.owed+fair, fair+1)
		if whole := int64(a.owed); whole > 0 {
			a.owed -= float64(whole)
			a.quota.Store(whole)
			a.site.open(0, a.skip.Load())
		}
	}
}

func (a *arming) openWindow(now time.Time) {
	a.opened = now
	if c := a.newCrowd(); c != nil {
		a.crowd.Store(c)
		a.site.word.Store(counting | following)
		return
	}
	a.site.word.Store(counting)
}

func (a *arming) closeWindow(now time.Time) {
	a.disperse()
	a.site.word.CompareAndSwap(counting, 0)
	a.counted.Add(int64(now.Sub(a.opened)))
	// Where few calls come, most of them are wanted, so fewer are skipped.
	most := 2 * a.rate() / float64(a.s.start.Rate)
	a.skip.Store(uint32(min(max(most, 1), maxSkip)))
}

// own counts the passes of the gate by a call that it chose.
func (a *arming) own() uint32 {
	if a.site.about.returns {
		return 1
	}
	return 0
}

// rate returns the number of calls a second, from the windows that are closed.
func (a *arming) rate() float64 {
	counted := time.Duration(a.counted.Load())
	if counted <= 0 {
		return 0
	}
	return float64(a.window.Load()) / counted.Seconds()
}
