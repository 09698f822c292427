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

	"golang.org/x/sys/unix"

	"github.com/beagle-go/beagle/probe"
	"github.com/beagle-go/beagle/probe/wire"
)

// Shares of a core that hits may take, of all sites together.
const (
	maxAtStart = 0.01 // more, and nothing is armed
	maxLater   = 0.02 // more in a second, and the probes are detached
)

// exceeds reports whether a loss is more than a share of a time. That is as long as planned, or as
// long as it took: on a busy machine this program may look at the counters much later than it
// planned, and finds the loss of all that time.
func exceeds(spent time.Duration, share float64, planned, took time.Duration) bool {
	return spent > time.Duration(share*float64(max(planned, took)))
}

// Times of a session.
const (
	look    = 100 * time.Millisecond // how long calls are counted before any is captured
	glimpse = 2 * time.Millisecond   // between looks at the counters in that time
	tick    = 50 * time.Millisecond
	window  = time.Second // over which maxLater holds
	maxSkip = 64          // calls between the end of an interval and the captured call
	landing = time.Second // how long the results of a call are waited for
)

// An armedSite is a site in a session.
type armedSite struct {
	f        *Function
	index    int
	hit, ret time.Duration // cost of a hit at the entry and at a return
	before   uint64        // calls, when the gate was opened
	rate     float64       // calls a second, lately
	recorded uint64
	nanos    time.Duration // that the copy of a call takes, the median
}

// A session is the time during which a controller has functions armed.
type session struct {
	start   wire.Start
	lease   string
	began   time.Time
	beat    time.Time
	b       *Binary
	k       *kernel
	sites   []*armedSite
	secrets *probe.Secrets
	seed    maphash.Seed
	clock   time.Time // wall time at the kernel's monotonic time 0

	mu      sync.Mutex // guards what follows
	waiting []wire.Event
	flying  map[flight]airborne
	dropped wire.Dropped
	bytes   float64 // that may be written until the next tick
	seq     uint64

	turns *turns // nil where the probes stay attached

	ended   string // why the probes were detached; "" while they are attached
	drained bool   // what waited was taken after the end

	windowAt  time.Time
	windowSaw []tally // the counters when the window began
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
	// Check the request.
	q, err := probe.Complete(q)
	if err != nil {
		return nil, err
	}
	if q.Count {
		return nil, errors.New("questions are answered by a probe in the process, which beagle build makes; " +
			"a uprobe records calls only")
	}
	if q.Text > maxText {
		return nil, fmt.Errorf("invalid text %d: a uprobe copies at most %d bytes", q.Text, maxText)
	}
	// Choose the functions, load the program and attach it.
	s := &session{start: q, b: b, lease: rand.Text(), seed: maphash.MakeSeed(), flying: map[flight]airborne{}}
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
	// Try it out. A capture that costs too much at once may still be affordable in turns.
	began := time.Now()
	err = s.tryOut()
	s.open()
	if err != nil && !s.takeTurns(nil, turnMost, time.Since(began)) {
		s.k.close()
		return nil, err
	}
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
			if !slices.ContainsFunc(s.sites, func(a *armedSite) bool { return a.f == f }) {
				a := &armedSite{f: f, index: len(s.sites), hit: cost.Of(f.Point), ret: cost.Of(Point{})}
				s.sites = append(s.sites, a)
			}
		}
		if !found {
			return fmt.Errorf("no site %q: 'beagle capture status' lists them", name)
		}
	}
	if len(s.sites) >= maxSites {
		return fmt.Errorf("%d functions: name at most %d", len(s.sites), maxSites-1)
	}
	return nil
}

// load plans the copying and loads the program.
func (s *session) load() error {
	// Plan what to copy at each site: at its entry, and at its return.
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
	// Load the program, and give it the plans.
	k, err := loadKernel(p.bytes())
	if err != nil {
		return err
	}
	s.k = k
	for i := range s.sites {
		err = errors.Join(err, k.set(i, siteLayout, entries[i].layout), k.set(i, siteStack, entries[i].stack),
			k.set(i, siteReturn, returns[i].layout), k.set(i, siteReturnStack, returns[i].stack))
	}
	if err != nil {
		k.close()
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

// A tally holds the counters of a site so far.
type tally struct{ hits, returns, taken uint64 }

// tallies returns those of all sites.
func (s *session) tallies() (all []tally) {
	for i := range s.sites {
		all = append(all, tally{s.k.get(i, siteHits), s.k.get(i, siteReturns), s.k.get(i, siteTaken)})
	}
	return all
}

// spent returns the time that the process lost since the counters stood at before; nil means at 0.
func (s *session) spent(before []tally) (t time.Duration) {
	for i, now := range s.tallies() {
		var b tally
		if before != nil {
			b = before[i]
		}
		a := s.sites[i]
		s.mu.Lock()
		nanos := a.nanos
		s.mu.Unlock()
		t += time.Duration(now.hits-b.hits)*a.hit + time.Duration(now.returns-b.returns)*a.ret +
			time.Duration(now.taken-b.taken)*nanos
	}
	return t
}

// tryOut counts calls for a moment. It gives up as soon as they cost more than they may.
func (s *session) tryOut() error {
	began, before := time.Now(), s.tallies()
	var spent, took time.Duration
	for took < look && !exceeds(spent, maxAtStart, look, took) {
		time.Sleep(glimpse)
		spent, took = s.spent(before), time.Since(began)
	}
	for i, now := range s.tallies() {
		s.sites[i].rate = float64(now.hits-before[i].hits) / took.Seconds()
	}
	if exceeds(spent, maxAtStart, look, took) {
		return s.costError(float64(spent)/float64(took), maxAtStart)
	}
	return nil
}

// costError states the cost of the hits, and its reason.
func (s *session) costError(share, most float64) error {
	load := func(a *armedSite) int { return int(a.rate * float64(a.hit)) }
	a := slices.MaxFunc(s.sites, func(x, y *armedSite) int { return cmp.Compare(load(x), load(y)) })
	how, returns := "which the kernel emulates", ""
	if !a.f.Point.Emulated {
		how = "which the kernel must step over"
	}
	if s.k.get(a.index, siteReturn) != 0 {
		returns = fmt.Sprintf(", and one at its return, for --results, %v", a.ret.Round(10*time.Nanosecond))
	}
	return fmt.Errorf("%s is called about %.0f times a second, and a hit at %s, %s, takes %v%s: %.1f %% of a core, "+
		"more than %.0f %%; build the service with beagle build --probe: its gate costs a "+
		"nanosecond", a.f.Name, a.rate, a.f.Point.Text, how, a.hit.Round(10*time.Nanosecond),
		returns, 100*share, 100*most)
}

// open lets calls be captured.
func (s *session) open() {
	now := time.Now()
	s.began, s.beat, s.windowAt = now, now, now
	s.clock = now.Add(-monotonic())
	s.windowSaw = s.tallies()
	s.bytes = float64(s.start.Bytes)
	for i, a := range s.sites {
		a.before = s.k.get(i, siteHits)
	}
	s.pace()
}

// pace sets the interval between captured calls, and bounds the random number of calls between its
// end and the captured call. If few calls come, most of them are wanted: then fewer are skipped. In
// turns, the calls missed between them are captured within them.
func (s *session) pace() {
	interval := s.duty() / float64(s.start.Rate)
	for i, a := range s.sites {
		s.k.set(i, siteMostSkip, uint64(min(max(2*a.rate*interval, 1), maxSkip)))
		if s.start.Hits == 0 || s.takenCalls() < uint64(s.start.Hits) {
			s.k.set(i, siteInterval, max(1, uint64(interval*float64(time.Second))))
		}
	}
}

func monotonic() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// tick looks at the limits. It returns why the session must end, or "".
func (s *session) tick() string {
	now := time.Now()
	s.mu.Lock()
	s.bytes = min(s.bytes+float64(s.start.Bytes)*tick.Seconds(), float64(s.start.Bytes))
	s.land(now, landing)
	if s.turns != nil && s.turns.failed != "" {
		defer s.mu.Unlock()
		return s.turns.failed
	}
	s.mu.Unlock()
	// End the session, or take turns, if hits cost too much.
	spent := s.spent(s.windowSaw)
	now = time.Now()
	passed := now.Sub(s.windowAt)
	if exceeds(spent, maxLater, window, passed) {
		s.rates(max(passed, tick))
		if s.turns == nil && s.takeTurns(s.windowSaw, turnFirst, passed) {
			s.windowAt, s.windowSaw = now, s.tallies()
			return ""
		}
		return s.costError(float64(spent)/float64(max(passed, tick)), maxLater).Error()
	}
	if passed >= window {
		s.rates(passed)
		s.windowAt, s.windowSaw = now, s.tallies()
	}
	// Stop after the wanted number of hits.
	if s.start.Hits > 0 && s.takenCalls() >= uint64(s.start.Hits) {
		for i := range s.sites {
			s.k.set(i, siteInterval, 0)
		}
	}
	// End a session whose lease is over.
	switch {
	case now.Sub(s.beat) > seconds(s.start.Lease):
		return fmt.Sprintf("its controller was silent for %v s", s.start.Lease)
	case now.Sub(s.began) > seconds(s.start.TTL):
		return fmt.Sprintf("its time to live of %v s was over", s.start.TTL)
	}
	return ""
}

// rates computes the calls a second since the window began. Turns count their own.
func (s *session) rates(passed time.Duration) {
	if s.turns != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, now := range s.tallies() {
		s.sites[i].rate = float64(now.hits-s.windowSaw[i].hits) / passed.Seconds()
	}
	s.pace()
}

func (s *session) takenCalls() (n uint64) {
	for i := range s.sites {
		n += s.k.get(i, siteTaken)
	}
	return n
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
