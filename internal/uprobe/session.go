//go:build linux

package uprobe

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"github.com/beagle-go/beagle/probe"
	"github.com/beagle-go/beagle/probe/wire"
)

// Shares of a core that hits may take, of all sites together.
const (
	mostAtStart = 0.01 // more, and nothing is armed
	mostLater   = 0.02 // more in a second, and the probes are detached
)

// Times of a session.
const (
	look    = 100 * time.Millisecond // how long calls are counted before any is captured
	glimpse = 2 * time.Millisecond   // between looks at the counters in that time
	tick    = 50 * time.Millisecond
	window  = time.Second // over which mostLater holds
	maxSkip = 64          // calls between the end of an interval and the captured call
	landing = time.Second // how long the results of a call are waited for
)

// An arming is a site in a session.
type arming struct {
	f        *Function
	index    int
	hit, ret time.Duration // what a hit at the entry and at a return costs
	before   uint64        // calls, when the gate was opened
	rate     float64       // calls a second, lately
	recorded uint64
	nanos    time.Duration // to encode a call, lately
}

// A session is the time during which a controller has functions armed.
type session struct {
	start   wire.Start
	lease   string
	began   time.Time
	beat    time.Time
	k       *kernel
	sites   []*arming
	secrets *probe.Secrets
	seed    maphash.Seed
	clock   time.Time // wall time at the kernel's monotonic time 0

	mu      sync.Mutex // guards what follows
	waiting []wire.Event
	flying  map[flight]airborne
	dropped wire.Dropped
	bytes   float64 // that may be written until the next tick
	seq     uint64

	ended   string // why the probes were detached; "" while they are attached
	drained bool   // what waited was taken after the end

	windowAt   time.Time
	windowHits []uint64 // hits of each site when the window began
}

// A flight is a call whose results are waited for.
type flight struct {
	site   int
	number uint64
}

type airborne struct {
	event wire.Event
	since time.Time
}

// newSession attaches probes with their gates shut, looks how often they are hit, and opens the
// gates.
func newSession(b *Binary, q wire.Start, all []*Function, cost Cost) (*session, error) {
	q, err := probe.Complete(q)
	if err != nil {
		return nil, err
	}
	if q.Count {
		return nil, errors.New("questions are answered by a probe in the process, which beagle build makes; " +
			"a uprobe records calls only")
	}
	if q.Text > mostText {
		return nil, fmt.Errorf("invalid text %d: a uprobe copies at most %d bytes", q.Text, mostText)
	}
	s := &session{start: q, lease: rand.Text(), seed: maphash.MakeSeed(), flying: map[flight]airborne{}}
	if s.secrets, err = probe.NewSecrets(q); err != nil {
		return nil, err
	}
	if err := s.choose(all, cost); err != nil {
		return nil, err
	}
	if err := s.load(); err != nil {
		return nil, err
	}
	if err := s.attach(b); err != nil {
		s.k.close()
		return nil, err
	}
	if err := s.tryOut(); err != nil {
		s.k.close()
		return nil, err
	}
	s.open()
	go s.listen()
	return s, nil
}

// choose finds the functions by name.
func (s *session) choose(all []*Function, cost Cost) error {
	for _, name := range s.start.Sites {
		found := false
		for _, f := range all {
			if !wire.Matches(name, f.Name) {
				continue
			}
			found = true
			if !slices.ContainsFunc(s.sites, func(a *arming) bool { return a.f == f }) {
				s.sites = append(s.sites, &arming{f: f, index: len(s.sites), hit: cost.Of(f.Point), ret: cost.Of(Point{})})
			}
		}
		if !found {
			return fmt.Errorf("no site %q: `beagle capture status` lists them", name)
		}
	}
	if len(s.sites) >= maxSites {
		return fmt.Errorf("%d functions: name at most %d", len(s.sites), maxSites-1)
	}
	return nil
}

// load plans the copying and loads the program.
func (s *session) load() error {
	p := newPlanner(s.start, s.secrets)
	type image struct{ layout, stack uint64 }
	var entries, returns []image
	for _, a := range s.sites {
		n, err := p.image(a.f.Params, a.f.stack)
		if err != nil {
			return fmt.Errorf("%s: %w", a.f.Name, err)
		}
		entries = append(entries, image{uint64(n), uint64(a.f.stack)})
		if !s.start.Results || len(a.f.Returns) == 0 {
			returns = append(returns, image{})
			continue
		}
		if n, err = p.image(a.f.Results, a.f.results); err != nil {
			return fmt.Errorf("%s: %w", a.f.Name, err)
		}
		returns = append(returns, image{uint64(n), uint64(a.f.results)})
	}
	k, err := loadKernel(p.bytes())
	if err != nil {
		return err
	}
	s.k = k
	for i := range s.sites {
		err = errors.Join(err, k.set(i, siteLayout, entries[i].layout), k.set(i, siteStack, entries[i].stack),
			k.set(i, siteReturn, returns[i].layout), k.set(i, siteReturnStack, returns[i].stack))
	}
	return err
}

// attach puts the probes into the process. Their gates are shut.
func (s *session) attach(b *Binary) error {
	var offsets, cookies []uint64
	add := func(address, cookie uint64) error {
		off, err := b.offset(address)
		offsets, cookies = append(offsets, off), append(cookies, cookie)
		return err
	}
	for i, a := range s.sites {
		if err := add(a.f.Point.Address, uint64(i)); err != nil {
			return err
		}
		if s.k.get(i, siteReturn) == 0 {
			continue
		}
		for _, at := range a.f.Returns {
			if err := add(at, uint64(i)|atReturn); err != nil {
				return err
			}
		}
	}
	return s.k.attach(b.Path, b.PID, offsets, cookies)
}

// spent is the time that hits took, since those that before counts.
func (s *session) spent(before []uint64) (t time.Duration) {
	for i, h := range s.hits() {
		if i < len(before) {
			h -= before[i]
		}
		a := s.sites[i/2]
		t += time.Duration(h) * []time.Duration{a.hit, a.ret}[i%2]
	}
	return t
}

// hits are the counters of all sites: entries and returns.
func (s *session) hits() (all []uint64) {
	for i := range s.sites {
		all = append(all, s.k.get(i, siteHits), s.k.get(i, siteReturns))
	}
	return all
}

// tryOut counts calls for a moment. It gives up as soon as they cost more than they may.
func (s *session) tryOut() error {
	began := time.Now()
	most := time.Duration(mostAtStart * float64(look))
	for time.Since(began) < look && s.spent(nil) <= most {
		time.Sleep(glimpse)
	}
	took := time.Since(began)
	for i, a := range s.sites {
		a.rate = float64(s.k.get(i, siteHits)) / took.Seconds()
	}
	if spent := s.spent(nil); spent > most {
		return s.tooMuch(float64(spent)/float64(took), mostAtStart)
	}
	return nil
}

// tooMuch says what hits cost, and why that is so.
func (s *session) tooMuch(share, most float64) error {
	load := func(a *arming) int { return int(a.rate * float64(a.hit)) }
	a := slices.MaxFunc(s.sites, func(x, y *arming) int { return cmp.Compare(load(x), load(y)) })
	how, returns := "which the kernel emulates", ""
	if !a.f.Point.Emulated {
		how = "which the kernel must step over"
	}
	if s.k.get(a.index, siteReturn) != 0 {
		returns = fmt.Sprintf(", and one at its return, for --results, %v", a.ret.Round(10*time.Nanosecond))
	}
	return fmt.Errorf("%s is called about %.0f times a second, and a hit at %s, %s, takes %v%s: %.1f %% of a core, more "+
		"than %.0f %%; sampling does not lower that; build the service with beagle build --probe, whose gate costs "+
		"a nanosecond", a.f.Name, a.rate, a.f.Point.Text, how, a.hit.Round(10*time.Nanosecond), returns, 100*share,
		100*most)
}

// open lets calls be captured.
func (s *session) open() {
	now := time.Now()
	s.began, s.beat, s.windowAt = now, now, now
	s.clock = now.Add(-monotonic())
	s.windowHits = s.hits()
	s.bytes = float64(s.start.Bytes)
	for i, a := range s.sites {
		a.before = s.k.get(i, siteHits)
		s.skip(i, a)
		s.k.set(i, siteInterval, uint64(time.Second)/uint64(s.start.Rate))
	}
}

// skip bounds the random number of calls between the end of an interval and the captured call. Where
// few calls come, most of them are wanted: then fewer are skipped.
func (s *session) skip(i int, a *arming) {
	s.k.set(i, siteMostSkip, uint64(min(max(2*a.rate/float64(s.start.Rate), 1), maxSkip)))
}

func monotonic() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// tick looks at the limits. It returns why the session must end, or "".
func (s *session) tick(now time.Time) string {
	s.mu.Lock()
	s.bytes = min(s.bytes+float64(s.start.Bytes)*tick.Seconds(), float64(s.start.Bytes))
	s.land(now, landing)
	s.mu.Unlock()
	spent := s.spent(s.windowHits)
	passed := now.Sub(s.windowAt)
	if spent > time.Duration(mostLater*float64(window)) {
		for i, h := range s.hits() {
			if i%2 == 0 {
				s.sites[i/2].rate = float64(h-s.windowHits[i]) / max(passed, tick).Seconds()
			}
		}
		return s.tooMuch(float64(spent)/float64(max(passed, tick)), mostLater).Error()
	}
	if passed >= window {
		for i, a := range s.sites {
			a.rate = float64(s.k.get(i, siteHits)-s.windowHits[2*i]) / passed.Seconds()
			s.skip(i, a)
		}
		s.windowAt, s.windowHits = now, s.hits()
	}
	if s.start.Hits > 0 && s.taken() >= uint64(s.start.Hits) {
		for i := range s.sites {
			s.k.set(i, siteInterval, 0)
		}
	}
	switch {
	case now.Sub(s.beat) > seconds(s.start.Lease):
		return fmt.Sprintf("its controller was silent for %v s", s.start.Lease)
	case now.Sub(s.began) > seconds(s.start.TTL):
		return fmt.Sprintf("its time to live of %v s was over", s.start.TTL)
	}
	return ""
}

func (s *session) taken() (n uint64) {
	for i := range s.sites {
		n += s.k.get(i, siteTaken)
	}
	return n
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

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

// take encodes an event, under the limits, and keeps it. What the rules call secret ends here.
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
	a.nanos = time.Since(began)
	switch {
	case e.faults > 0:
		s.dropped.Fault++
	case e.over > 0 || len(x.buf) > s.start.Event:
		s.dropped.Large++
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
	f.event.Flags |= x.flags | wire.HasResults
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
