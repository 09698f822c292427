package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beagle-go/beagle/probe/wire"
)

// A clock that a test moves.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.t }
func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func newProber() (*prober, *clock) {
	c := &clock{t: time.Unix(1_700_000_000, 0)}
	return &prober{now: c.now, raw: true}, c
}

// add registers a site with a prober of a test.
func add[A, R any](p *prober, s *Site, name string, names ...string) {
	var a A
	var r R
	p.register(s, name, typeOf(a), typeOf(r), true, "", names)
}

// ready ticks past the counting window, so that the next tick arms.
func ready(t *testing.T, p *prober, s *session) {
	t.Helper()
	for n := range 2 {
		if !p.tick(s, n) {
			t.Fatal("the session ended")
		}
	}
}

// through calls the gate until it lets a call through.
func through(t *testing.T, p *prober, s *session, site *Site) {
	t.Helper()
	for n := 2; n < windowEach; n++ {
		for range 2 * maxSkip {
			if site.Gate() {
				return
			}
		}
		p.tick(s, n)
	}
	t.Fatal("the gate lets nothing through")
}

func begin(t *testing.T, p *prober, q wire.Start) *session {
	t.Helper()
	if q.Rate == 0 {
		q.Rate = maxRate
	}
	s, err := p.begin(q)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pulled takes the events out of the ring.
func pulled(t *testing.T, s *session) []wire.Event {
	t.Helper()
	b, _ := s.ring.drain(nil, wire.MaxPull)
	events, err := wire.ReadEvents(b)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

type one struct{ S string }

func TestGateOff(t *testing.T) {
	var site Site
	for range 1000 {
		if site.Gate() {
			t.Fatal("a gate that nobody armed opened")
		}
	}
	if c := Enter(&site, &one{"x"}); c.a != nil {
		t.Error("a call is captured without a session")
	}
}

// TestGateSkips checks that the gate skips a random number of calls between the timer and the
// captured call. Without it each burst of ten would be captured at its first call.
func TestGateSkips(t *testing.T) {
	p, c := newProber()
	var site Site
	add[one, struct{}](p, &site, "m/p.F")
	s := begin(t, p, wire.Start{Sites: []string{"m/p.F"}, Rate: 100, Raw: true})
	ready(t, p, s)
	s.sites[0].skip.Store(maxSkip)
	var at [10]int
	for n := 2; n < windowEach*40; n++ {
		s.sites[0].nanos.Store(0) // a busy machine must not make calls expensive
		p.tick(s, n)
		c.add(tick)
		s.sites[0].skip.Store(maxSkip)
		p.leased(s.lease)
		for i := range 10 * maxSkip {
			if site.Gate() {
				call := Enter(&site, &one{"x"})
				if call.End(); call.crowd == nil {
					at[i%10]++
				}
			}
		}
		pulled(t, s)
	}
	for i, n := range at { // 3,900 in all; a fair share is 390
		if n < 250 || n > 550 {
			t.Errorf("call %d of a burst was captured %d times: %v", i, n, at)
		}
	}
}

func TestRate(t *testing.T) {
	for _, rate := range []int{3, 50, 100, 1000} {
		p, _ := newProber()
		var site Site
		add[one, struct{}](p, &site, "m/p.F")
		s := begin(t, p, wire.Start{Sites: []string{"m/p.F"}, Rate: rate, Raw: true, Events: 4096})
		taken := 0
		for n := range 3 * windowEach { // three seconds
			s.sites[0].nanos.Store(0) // a busy machine must not make calls expensive
			p.tick(s, n)
			for range 80 * maxSkip {
				if site.Gate() {
					call := Enter(&site, &one{"x"})
					if call.End(); call.crowd == nil {
						taken++
					}
				}
			}
		}
		if taken > 3*rate || float64(taken) < 2.8*float64(rate)-2 {
			t.Errorf("%d calls captured in three seconds at %d a second", taken, rate)
		}
	}
}

func TestCaptureResultsAndPanics(t *testing.T) {
	type res struct{ N int }
	p, _ := newProber()
	var site Site
	add[one, res](p, &site, "m/p.F", "tag", "n")
	s := begin(t, p, wire.Start{Sites: []string{"m/p.F"}, Raw: true})
	ready(t, p, s)
	f := func(tag string) (n int) {
		if site.Gate() {
			args := one{tag}
			c := Enter(&site, &args)
			defer c.End()
			if tag == "panic" {
				panic(errors.New("planted"))
			}
			Leave(&c, &args, &res{len(tag)})
		}
		return len(tag)
	}
	through(t, p, s, &site)
	for n := 2; len(pulledCopy(s)) < 1; n++ {
		p.tick(s, n)
		f("hello")
	}
	events := pulled(t, s)
	if e := events[0]; e.Flags != wire.HasResults || len(e.Results) == 0 {
		t.Errorf("flags %b, results %q", e.Flags, e.Results)
	}
	site.word.Store(1)
	func() {
		defer func() {
			if r := recover(); fmt.Sprint(r) != "planted" {
				t.Errorf("the service's panic became %v", r)
			}
		}()
		f("panic")
	}()
	events = pulled(t, s)
	if len(events) != 1 || events[0].Flags != wire.NoReturn {
		t.Errorf("a panic left %+v", events)
	}
	if c := s.sites[0].counts(p.now()); c.Panicked != 1 {
		t.Errorf("%d panics counted", c.Panicked)
	}
}

func pulledCopy(s *session) []int {
	var n []int
	for i := range s.ring.slots {
		if s.ring.slots[i].state.Load() == full {
			n = append(n, i)
		}
	}
	return n
}

// TestDeadController checks that without heartbeats a session ends within ten seconds, and that
// with them it lasts until its time to live is over.
func TestDeadController(t *testing.T) {
	p, c := newProber()
	var site Site
	add[one, struct{}](p, &site, "m/p.F")
	s := begin(t, p, wire.Start{Sites: []string{"m/p.F"}})
	for n := range 6 {
		c.add(5 * time.Second)
		if _, err := p.leased(s.lease); err != nil || !p.tick(s, n) {
			t.Fatalf("the session ended under its controller: %v", err)
		}
	}
	c.add(10 * time.Second)
	site.word.Store(counting)
	if p.tick(s, 7) {
		t.Error("the session goes on without its controller")
	}
	if site.word.Load() != 0 || site.armed.Load() != nil || p.current() != nil {
		t.Error("the site is still armed")
	}
	if _, err := p.leased(s.lease); err == nil || !strings.Contains(err.Error(), "silent for 8 s") {
		t.Errorf("a late heartbeat hears %v", err)
	}
	s = begin(t, p, wire.Start{Sites: []string{"m/p.F"}, TTL: 20})
	for n := 0; p.tick(s, n); n++ {
		c.add(5 * time.Second)
		p.leased(s.lease)
		if n > 10 {
			t.Fatal("the session outlives its time to live")
		}
	}
}

func TestBudgets(t *testing.T) {
	p, _ := newProber()
	var site Site
	add[one, struct{}](p, &site, "m/p.F")
	capture := func(s *session, text string) {
		a := s.sites[0]
		c := a.enter(ptr(&one{text}))
		c.End()
	}
	s := begin(t, p, wire.Start{Sites: []string{"m/p.F"}, Raw: true, Events: 4, Hits: 6, Text: 4096})
	p.tick(s, 0)
	for range 10 {
		capture(s, "hello")
	}
	if n := len(pulled(t, s)); n != 4 {
		t.Errorf("%d events in a ring of 4", n)
	}
	if d := s.drops(); d.Full != 2 {
		t.Errorf("%d dropped for want of room, of 10 calls with 6 allowed and 4 slots", d.Full)
	}
	p.end(s, "test")
	s = begin(t, p, wire.Start{Sites: []string{"m/p.F"}, Raw: true, Bytes: 10_000, Text: 4096, Event: 256})
	p.tick(s, 0)
	capture(s, strings.Repeat("x", 1000))
	if d := s.drops(); d.Large != 1 {
		t.Errorf("a call larger than a slot: %+v", d)
	}
	for range 10 {
		capture(s, strings.Repeat("x", 80))
	}
	if d := s.drops(); d.Bytes < 5 {
		t.Errorf("10 calls of 90 bytes fit 100 bytes a tick: %+v", d)
	}
}

// decoded returns an event's arguments with holes written as text, to compare.
func decoded(t *testing.T, b []byte) string {
	t.Helper()
	out, err := wire.Fill(nil, b, func(h wire.Hole, part []byte) ([]byte, error) {
		return fmt.Appendf(nil, "<%s %d %q>", wire.ReasonName(h.Reason), h.Len, part), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func rawOptions(t *testing.T) *options {
	red, err := newRedactor(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &options{text: 16, elements: 4, depth: 3, raw: true, redact: red,
		hash: func(s string) uint64 { return uint64(len(s)) }}
}

type node struct {
	Name string
	Next *node
}

// TestHoles checks that each hole says why the value is missing, and its true length.
func TestHoles(t *testing.T) {
	type in struct {
		S string
		B []byte
		L []int
		P *node
		M map[string]int
		F func()
		I any
		A [6]int
		X [][]string
	}
	ring := &node{Name: "a"}
	ring.Next = ring
	v := in{S: strings.Repeat("s", 40), B: make([]byte, 20), L: make([]int, 9), P: ring,
		M: map[string]int{"a": 1}, F: func() {}, I: ring, X: [][]string{{"deep"}}}
	o := rawOptions(t)
	look := func() string {
		b, _, ok := encodeTuple(make([]byte, 0, 4096), tupleCoder(typeOf(v), nil), ptr(&v), o)
		if !ok {
			t.Fatal("it does not fit")
		}
		return decoded(t, b)
	}
	got := look()
	for _, want := range []string{"<cut at the limits 40 ", "<cut at the limits 20 ", "<cut at the limits 9 ",
		"<behind a pointer 0 ", "<the contents of a map 1 ", "<bound to its process 0 ", "<cut at the limits 6 ",
		"<behind a pointer 1 "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	o.follow, o.maps = true, true
	got = look()
	for _, want := range []string{"<memory shared within the call 0 ", "deep"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	for _, not := range []string{"the contents of a map"} {
		if strings.Contains(got, not) {
			t.Errorf("%q in %q", not, got)
		}
	}
}

// TestSecrets checks that values that are secret by name, type or pattern never reach the buffer,
// in any mode.
func TestSecrets(t *testing.T) {
	const secret = "hunter2-Geheimnis"
	type Pin string
	type cfg struct {
		User     string
		API_Key  string
		DBPasswd []byte
		Inner    struct{ SessionID [17]byte }
	}
	type in struct {
		C     cfg
		Token string
		P     Pin
		List  []string
		M     map[string]string
		Any   any
		N     int
	}
	v := in{C: cfg{User: "ann", API_Key: secret, DBPasswd: []byte(secret)}, Token: secret, P: secret,
		List: []string{"x=1 password=" + secret, "Bearer " + secret, "https://ann:" + secret + "@host/", "plain"},
		M:    map[string]string{"x-auth": secret, "other": "fine"}, Any: map[string]string{"Cookie": secret}}
	copy(v.C.Inner.SessionID[:], secret)
	o := rawOptions(t)
	o.text, o.elements, o.follow, o.maps, o.depth = 200, 100, true, true, 10
	o.redact.types = []string{typeName(typeOf(v.P))}
	buf := make([]byte, 0, 4096)
	b, _, ok := encodeTuple(buf, tupleCoder(typeOf(v), nil), ptr(&v), o)
	if !ok {
		t.Fatal("it does not fit")
	}
	if bytes.Contains(buf[:cap(buf)], []byte(secret)) {
		t.Errorf("the secret is in %q", b)
	}
	for _, want := range []string{"ann", "plain", "fine"} {
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("raw mode lost %q", want)
		}
	}
	o.raw = false
	buf = make([]byte, 0, 4096)
	encodeTuple(buf, tupleCoder(typeOf(v), nil), ptr(&v), o)
	for _, text := range []string{secret, "ann", "plain"} {
		if bytes.Contains(buf[:cap(buf)], []byte(text)) {
			t.Errorf("shapes hold %q", text)
		}
	}
}

// TestPatternAcrossTheCut checks that a secret that begins before the cut is left out whole.
func TestPatternAcrossTheCut(t *testing.T) {
	o := rawOptions(t)
	v := one{"0123456 password=hunter2"}
	b, _, _ := encodeTuple(make([]byte, 0, 512), tupleCoder(typeOf(v), nil), ptr(&v), o)
	if bytes.Contains(b, []byte("password")) {
		t.Errorf("the first part of a secret text is in %q", b)
	}
}

func TestClass(t *testing.T) {
	for s, want := range map[string]byte{"abc": wire.Lower, "A1 ": wire.Upper | wire.Digit | wire.Space,
		"é": wire.Wide, "\xff": wire.Invalid, "-": wire.Punct,
		strings.Repeat("é", 3000):       wire.Wide | wire.Unread,
		"x" + strings.Repeat("é", 3000): wire.Lower | wire.Wide | wire.Unread} {
		if got := class(s); got != want {
			t.Errorf("%.10q: class %b, want %b", s, got, want)
		}
	}
}

// TestStatusIsJSON checks that the reply to any figures can be written as JSON.
func TestStatusIsJSON(t *testing.T) {
	p, c := newProber()
	var site Site
	add[node, struct{}](p, &site, "m/p.F")
	s := begin(t, p, wire.Start{Sites: []string{"p.F"}})
	c.add(time.Second)
	p.tick(s, 0)
	st := p.status()
	b, err := json.Marshal(st)
	if err != nil || math.IsNaN(st.Sites[0].Counts.Rate) || !bytes.Contains(b, []byte(`"m/p.F"`)) {
		t.Errorf("%s %v", b, err)
	}
}

// TestPatterns checks that the quick look admits every text that an expression matches.
func TestPatterns(t *testing.T) {
	red, err := newRedactor(nil, nil, []string{`^internal-\d+$`})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN PRIVATE KEY", "AKIAIOSFODNN7EXAMPLE",
		"x eyJhbGciOiJI.eyJzdWIiOiIx.sig", "ghp_0123456789abcdef0", "sk-0123456789abcdef0", "BEARER abcdefgh",
		"PassWord=x", "pwd:x", "my_token = 1", "API_KEY=1", "apikey: 2", "\"secret\": 1", "http://ann:pw@host",
		"4111 1111 1111 1111", "4111111111111111", "internal-17", "dbpass=1"} {
		if !red.text(s) {
			t.Errorf("%q is not taken for a secret", s)
		}
	}
	for _, s := range []string{"", "env:prod", "host:web-17.example.com", "2026-11-23T08:00:00Z", "a=1,b=2",
		"spatial:x",
		"user@example.com", "http://host:80/path", "tokenizer", "internal-x"} {
		if red.text(s) {
			t.Errorf("%q is taken for a secret", s)
		}
	}
}
