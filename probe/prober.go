package probe

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/beagle-go/beagle/probe/wire"
)

// A description is a site without its gate.
type description struct {
	name                  string
	argsType, resultsType reflect.Type
	args, results         *coder
	returns               bool
	note                  string
}

// A prober holds the sites of a process and the session that arms some of them.
type prober struct {
	now func() time.Time
	raw bool // the process allows the recording of text

	mu       sync.Mutex
	sites    []*Site
	session  *session
	disarmed string // why the last session ended
}

// process is the only prober outside of tests.
var process = &prober{now: time.Now, raw: os.Getenv(EnvRaw) == "1"}

// AllowRaw lets controllers record text as it is. Without it they get lengths and classes of
// characters, whatever they ask for.
func AllowRaw() {
	process.mu.Lock()
	defer process.mu.Unlock()
	process.raw = true
}

// Register makes a site known. A is a struct with a field for each argument, the receiver first; R
// one for each result, or struct{} when results are not captured. names are those of the
// parameters and results, where the fields have others.
func Register[A, R any](s *Site, name string, names ...string) {
	process.register(s, name, reflect.TypeFor[A](), reflect.TypeFor[R](), true, "", names)
}

// RegisterTypes is Register for generated code, which may have no generics. args and results are
// nil pointers to the structs. Where results is nil only the arguments are captured; note says why.
func RegisterTypes(s *Site, name, note string, args, results any, names ...string) {
	r := reflect.TypeFor[struct{}]()
	if results != nil {
		r = reflect.TypeOf(results).Elem()
	}
	process.register(s, name, reflect.TypeOf(args).Elem(), r, results != nil, note, names)
}

func (p *prober) register(
	s *Site, name string, args, results reflect.Type, returns bool, note string, names []string,
) {
	if args.Kind() != reflect.Struct || results.Kind() != reflect.Struct {
		panic(fmt.Sprintf("probe.Register: %s: arguments and results must be structs, not %v and %v", name, args,
			results))
	}
	n := min(args.NumField(), len(names))
	s.about = description{name: name, argsType: args, resultsType: results, returns: returns, note: note,
		args: tupleCoder(args, names[:n]), results: tupleCoder(results, names[n:])}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.sites, s) {
		p.sites = append(p.sites, s)
	}
}

// begin arms sites. It refuses while another session is alive.
func (p *prober) begin(q wire.Start) (*session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.session; old != nil {
		left := old.beat.Add(seconds(old.start.Lease)).Sub(p.now())
		return nil, fmt.Errorf("another controller holds the probe: stop it, or wait %.0f s after it died",
			max(left, 0).Seconds()+1)
	}
	if q.Raw && !p.raw {
		return nil, fmt.Errorf("the process does not allow raw values: start it with %s=1, or record shapes", EnvRaw)
	}
	s, err := newSession(q, p.sites, p.now())
	if err != nil {
		return nil, err
	}
	p.session, p.disarmed = s, ""
	for _, a := range s.sites {
		a.site.armed.Store(a)
	}
	return s, nil
}

// end disarms a session, if it is the one that is alive.
func (p *prober) end(s *session, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session == s {
		p.disarm(s, why)
	}
}

// disarm ends the session that is alive. The caller holds the mutex, as each tick does: no site is
// armed again after it.
func (p *prober) disarm(s *session, why string) {
	s.over.Store(true)
	for _, a := range s.sites {
		a.site.word.Store(0)
		a.site.armed.Store(nil)
		a.crowd.Store(nil)
	}
	close(s.stop)
	p.session, p.disarmed = nil, why
}

// expired returns why a session must end, or "".
func (s *session) expired(now time.Time) string {
	switch {
	case now.Sub(s.beat) > seconds(s.start.Lease):
		return fmt.Sprintf("its controller was silent for %v s", s.start.Lease)
	case now.After(s.ends):
		return fmt.Sprintf("its time to live of %v s was over", s.start.TTL)
	}
	return ""
}

// leased returns the session with this lease, after the controller's heartbeat.
func (p *prober) leased(lease string) (*session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session == nil || p.session.lease != lease {
		return nil, fmt.Errorf("no session has this lease%s", reasonText(p.disarmed))
	}
	p.session.beat = p.now()
	return p.session, nil
}

func reasonText(why string) string {
	if why == "" {
		return ""
	}
	return ": the last one ended because " + why
}

// current returns the session that is alive, or nil.
func (p *prober) current() *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.session
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func newLease() string { return rand.Text() }

// status describes the process, its sites and the session.
func (p *prober) status() *wire.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := &wire.Status{Process: describeProcess(p.raw), Disarmed: p.disarmed}
	now := p.now()
	for _, site := range p.sites {
		st.Sites = append(st.Sites, site.describe(p.session, now))
	}
	if p.session != nil {
		st.Session = p.session.describe(now)
	}
	return st
}

// typeLevels bounds the depth of a type's description.
const typeLevels = 6

func (s *Site) describe(session *session, now time.Time) wire.Site {
	d := &s.about
	w := wire.Site{Name: d.name, Returns: d.returns, Note: d.note}
	w.Params = d.args.describe("", typeLevels).Fields
	w.Results = d.results.describe("", typeLevels).Fields
	if a := s.armed.Load(); a != nil && a.s == session {
		w.Armed, w.Counts = true, a.counts(now)
	}
	return w
}

func (a *arming) counts(now time.Time) *wire.Counts {
	c := &wire.Counts{Taken: a.taken.Load(), Recorded: a.recorded.Load(), Panicked: a.panicked.Load(),
		Together: a.together.Load()}
	c.Rate = a.rate()
	c.Calls = c.Rate * now.Sub(a.s.began).Seconds()
	c.Calls = max(c.Calls, float64(c.Taken))
	c.Nanos = float64(a.nanos.Load())
	if c.InFlight = a.lasted.inFlight(c.Rate); c.InFlight != nil {
		c.InFlight.Beside = a.beside.counts()
	}
	return c
}

func (s *session) describe(now time.Time) *wire.Session {
	w := &wire.Session{Age: now.Sub(s.began).Seconds(), Left: s.ends.Sub(now).Seconds(), Start: s.start,
		Lease: s.beat.Add(seconds(s.start.Lease)).Sub(now).Seconds(), Dropped: s.drops(), Asked: s.answers()}
	for _, a := range s.sites {
		w.Armed = append(w.Armed, a.site.about.name)
	}
	if s.ring != nil {
		w.Waiting = int(s.ring.used.Load())
	}
	return w
}

func (s *session) drops() wire.Dropped {
	d := &s.dropped
	return wire.Dropped{Full: d.full.Load(), Bytes: d.bytes.Load(), Large: d.large.Load(), Torn: d.torn.Load(),
		Fault: d.fault.Load(), Late: d.late.Load()}
}

// describeProcess describes the process.
func describeProcess(raw bool) wire.Process {
	w := wire.Process{PID: os.Getpid(), Raw: raw}
	w.Host, _ = os.Hostname()
	if exe, err := os.Executable(); err == nil {
		w.Program = filepath.Base(exe)
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return w
	}
	w.Go, w.Main = info.GoVersion, strings.TrimSuffix(info.Path+"@"+info.Main.Version, "@")
	for _, set := range info.Settings {
		switch {
		case set.Key == "vcs.revision":
			w.Build = set.Value + w.Build
		case set.Key == "vcs.modified" && set.Value == "true":
			w.Build += "+"
		}
	}
	return w
}
