//go:build linux

package uprobe

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/beagle-go/beagle/probe"
	"github.com/beagle-go/beagle/probe/wire"
)

// A Server captures functions of one process for controllers. It speaks as the probe within a
// process does, so a controller needs to know no other language.
type Server struct {
	b    *Binary
	all  []*Function
	cost Cost
	pid  int // a descriptor of the process, which tells that it ended

	mu       sync.Mutex
	s        *session
	disarmed string // why the last session ended
	gone     string // why there can be no other
}

// NewServer serves these functions of a process.
func NewServer(b *Binary, all []*Function, cost Cost) (*Server, error) {
	fd, err := unix.PidfdOpen(b.PID, 0)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", b.PID, err)
	}
	return &Server{b: b, all: all, cost: cost, pid: fd}, nil
}

// Listen opens the door for controllers that have the token.
func (v *Server) Listen(path, token string) (*probe.Door, error) {
	return probe.ListenFor(path, token, v.carryOut)
}

// Run watches the limits until done is closed or, without a session, the process has ended. Then
// nothing is attached any more.
func (v *Server) Run(done <-chan struct{}) {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-done:
			v.end("its controller ended")
			v.Close()
			return
		case <-t.C:
			v.tick()
		}
	}
}

// Close detaches and forgets everything.
func (v *Server) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone == "" {
		v.gone = "its controller ended" // a start that still waits would attach without a watch
	}
	v.forget()
	if v.pid >= 0 {
		unix.Close(v.pid)
		v.pid = -1
	}
}

func (v *Server) tick() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone == "" && v.exited() {
		v.gone = fmt.Sprintf("process %d ended", v.b.PID)
	}
	if v.s == nil || v.s.ended != "" {
		return
	}
	why := v.gone
	if why == "" {
		why = v.s.tick()
	}
	if why != "" {
		v.detach(why)
	}
}

// exited asks the kernel whether the process has ended.
func (v *Server) exited() bool {
	fds := []unix.PollFd{{Fd: int32(v.pid), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1
}

func (v *Server) end(why string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.s != nil && v.s.ended == "" {
		v.detach(why)
	}
}

// detach takes the probes away. Captured calls stay until they are taken. The caller holds the
// mutex.
func (v *Server) detach(why string) {
	v.s.ended, v.disarmed = why, why
	v.s.unplug()
	v.s.mu.Lock()
	v.s.land(time.Now(), 0)
	v.s.mu.Unlock()
}

// forget drops the session.
func (v *Server) forget() {
	if v.s != nil {
		v.s.unplug()
		v.s.k.close()
		v.s = nil
	}
}

// carryOut answers a controller's request. Questions need a probe inside the process.
func (v *Server) carryOut(q *wire.Request) (r wire.Reply, payload []byte, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch q.Verb {
	case wire.VerbStatus:
	case wire.VerbStart:
		err = v.start(q, &r)
	case wire.VerbBeat:
		err = v.beat(q.Lease)
	case wire.VerbPull:
		payload, r.More, err = v.pull(q.Max)
	case wire.VerbStop:
		if v.s != nil && (q.Lease == "" || q.Lease == v.s.lease) {
			if v.s.ended == "" {
				v.detach("a controller stopped it")
			}
			v.forget()
		}
	case wire.VerbAsk, wire.VerbUnask:
		err = fmt.Errorf("questions are answered by a probe in the process, which beagle build makes; " +
			"a uprobe records calls only")
	default:
		err = fmt.Errorf("no verb %q for a uprobe", q.Verb)
	}
	if err == nil {
		r.Status = v.status()
	}
	return r, payload, err
}

func (v *Server) start(q *wire.Request, r *wire.Reply) error {
	switch {
	case q.Start == nil:
		return fmt.Errorf("start names nothing to arm")
	case v.gone != "":
		return fmt.Errorf("%s", v.gone)
	case v.s != nil && v.s.ended == "":
		return fmt.Errorf("another controller holds the uprobes: stop it, or wait %v s after it died", v.s.start.Lease)
	}
	v.forget()
	s, err := newSession(v.b, *q.Start, v.all, v.cost)
	if err != nil {
		return err
	}
	v.s, v.disarmed = s, ""
	r.Lease = s.lease
	return nil
}

// beat renews the lease. A session that has ended lives until what waits was taken.
func (v *Server) beat(lease string) error {
	if v.s == nil || v.s.lease != lease || v.s.ended != "" && v.s.drained {
		why := "no session has this lease"
		if v.disarmed != "" {
			why += ": the last one ended because " + v.disarmed
		}
		return fmt.Errorf("%s", why)
	}
	v.s.beat = time.Now()
	return nil
}

// pull takes what waits.
func (v *Server) pull(limit int) (b []byte, more bool, err error) {
	if v.s == nil {
		return nil, false, fmt.Errorf("nothing is armed")
	}
	if limit <= 0 || limit > wire.MaxPull {
		limit = wire.MaxPull
	}
	s := v.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != "" {
		s.land(time.Now(), 0) // events that left the ring after the probes were taken away
	}
	n := 0
	for ; n < len(s.waiting); n++ {
		e := &s.waiting[n]
		if len(b)+len(e.Args)+len(e.Results)+64 > limit {
			break
		}
		b = e.Append(b)
	}
	clear(s.waiting[:n])
	s.waiting = s.waiting[n:]
	if s.ended != "" && len(s.waiting) == 0 {
		s.drained = true
	}
	return b, len(s.waiting) > 0, nil
}

// typeLevels bounds the depth of a type's description.
const typeLevels = 6

func (v *Server) status() *wire.Status {
	st := &wire.Status{Process: v.b.process(), Disarmed: v.disarmed}
	for _, f := range v.all {
		st.Sites = append(st.Sites, v.site(f))
	}
	if v.s != nil {
		st.Session = v.s.describe(time.Now())
	}
	return st
}

func (v *Server) site(f *Function) wire.Site {
	w := wire.Site{Name: f.Name, Unseen: f.unseen(), Note: "results cost a second trap, and were not asked for"}
	for _, p := range f.Params {
		w.Params = append(w.Params, p.Type.describe(p.Name, typeLevels))
	}
	for _, p := range f.Results {
		w.Results = append(w.Results, p.Type.describe(p.Name, typeLevels))
	}
	if v.s == nil {
		return w
	}
	for _, a := range v.s.sites {
		if a.f == f {
			w.Armed, w.Counts = true, v.s.counts(a)
			if w.Returns = v.s.k.get(a.index, siteReturn) != 0; w.Returns {
				w.Note = ""
			}
		}
	}
	return w
}

func (s *session) counts(a *armedSite) *wire.Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &wire.Counts{Rate: a.rate, Calls: float64(s.k.get(a.index, siteHits) - a.before),
		Taken: s.k.get(a.index, siteTaken), Recorded: a.recorded, Together: s.k.get(a.index, siteTogether) > 0,
		Nanos: float64(a.nanos), Hit: float64(a.hit)}
	if all := a.rate * time.Since(s.began).Seconds(); s.turns != nil && all > 0 {
		c.Seen = min(1, c.Calls/all)
		c.Calls = max(all, c.Calls)
	}
	if s.k.get(a.index, siteReturn) != 0 {
		c.Hit += float64(a.ret)
	}
	return c
}

func (s *session) describe(now time.Time) *wire.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &wire.Session{Age: now.Sub(s.began).Seconds(), Start: s.start, Dropped: s.dropped,
		Left:    s.began.Add(seconds(s.start.TTL)).Sub(now).Seconds(),
		Lease:   s.beat.Add(seconds(s.start.Lease)).Sub(now).Seconds(),
		Waiting: len(s.waiting)}
	for _, a := range s.sites {
		w.Armed = append(w.Armed, a.f.Name)
		w.Dropped.Full += s.k.get(a.index, siteBusy) + s.k.get(a.index, siteFull)
	}
	return w
}

// unseen lists the parts of a function that no option shows.
func (f *Function) unseen() (all []string) {
	for _, v := range f.Params {
		if v.blind() {
			all = append(all, v.Name+": floats in registers, which a uprobe cannot read; beagle build shows them")
		}
	}
	switch n := len(f.Inlined); {
	case n == 1:
		all = append(all, "calls by "+f.Inlined[0]+", into which it is inlined")
	case n > 1:
		all = append(all, fmt.Sprintf("calls by %s and %d others, into which it is inlined", f.Inlined[0], n-1))
	}
	return all
}
