package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beagle-go/beagle/probe/wire"
)

// soakEnv makes TestSoak longer: a duration such as 10m.
const soakEnv = "BEAGLE_PROBE_SOAK"

type soakArgs struct {
	Text   string
	List   []string
	Words  [][]byte
	Ring   *node
	Any    any
	Secret string
	Floats []float64
}

type soakResults struct {
	N   int
	Err error
}

// A service calls functions in many goroutines while a controller captures.
type service struct {
	site  Site
	calls atomic.Uint64
	words [][]byte
	list  []string
	ring  *node
}

const planted = "geheimnis-4711"

// call returns an instrumented function, as the injected code has it.
func (s *service) call(a soakArgs) (n int, err error) {
	if s.site.Gate() {
		return s.probed(a)
	}
	s.calls.Add(1)
	if len(a.Text) == 13 {
		panic("unlucky")
	}
	return len(a.Text), nil
}

func (s *service) probed(a soakArgs) (n int, err error) {
	c := Enter(&s.site, &a)
	defer c.End()
	n, err = s.call(a)
	Leave(&c, &a, &soakResults{n, err})
	return n, err
}

// work calls until stop is closed. With mutation it writes memory that others read meanwhile.
func (s *service) work(id int, mutate bool, stop chan struct{}) {
	huge := strings.Repeat("huge ", 1<<18)
	for i := id; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		if mutate {
			s.words[i%len(s.words)] = make([]byte, i%7)
			s.list[i%len(s.list)] = strings.Repeat("m", i%50)
			s.ring.Next = &node{Name: fmt.Sprint(i), Next: s.ring}
		}
		text := strings.Repeat("t", i%20)
		if i%100 == 0 {
			text = huge
		}
		func() {
			defer func() {
				if r := recover(); r != nil && r != "unlucky" {
					panic(r)
				}
			}()
			s.call(soakArgs{text, s.list, s.words, s.ring, i, planted, []float64{1, 2}})
		}()
		if i%1000 == 0 {
			var wg sync.WaitGroup // a storm
			for range 50 {
				wg.Add(1)
				go func() { defer wg.Done(); s.call(soakArgs{Text: "storm", Any: s.ring}) }()
			}
			wg.Wait()
		}
	}
}

// TestSoak captures at the highest rate, with everything switched on, from goroutines that change
// captured memory. The process must survive, each caller must go on, and no planted secret may come
// out. Under the race detector nothing is changed: that race would be the planted one.
func TestSoak(t *testing.T) {
	long := 2 * time.Second
	if testing.Short() {
		long = 300 * time.Millisecond
	}
	if v := os.Getenv(soakEnv); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil {
			t.Fatalf("%s: %v", soakEnv, err)
		}
		long = d
	}
	p := &prober{now: time.Now, raw: true}
	s := &service{words: make([][]byte, 8), list: make([]string, 8), ring: &node{Name: "a"}}
	s.ring.Next = s.ring
	for i := range s.words {
		s.words[i], s.list[i] = []byte("word"), "item"
	}
	add[soakArgs, soakResults](p, &s.site, "m/p.F")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for id := range 4 * runtime.GOMAXPROCS(0) {
		wg.Add(1)
		go func() { defer wg.Done(); s.work(id, !raceEnabled, stop) }()
	}
	seen := soakController(t, p, long)
	before := s.calls.Load()
	close(stop)
	wg.Wait()
	if before == 0 || seen == 0 {
		t.Errorf("%d calls, %d captured", before, seen)
	}
	if s.site.word.Load() != 0 {
		t.Error("the site is armed after the last session")
	}
}

// soakController starts and stops sessions with changing options, and checks what it pulls.
func soakController(t *testing.T, p *prober, long time.Duration) (seen int) {
	end := time.Now().Add(long)
	// On a busy machine a session may pass without a call.
	for n := 0; time.Now().Before(end) || seen == 0 && n < 100; n++ {
		q := wire.Start{Sites: []string{"p.F"}, Rate: maxRate, Raw: n%2 == 0, Follow: n%3 == 0, Bytes: maxBytes,
			Event: []int{256, 2048, 32 << 10}[n%3], Depth: 1 + n%8}
		var r wire.Reply
		call(t, p, wire.Request{Verb: wire.VerbStart, Start: &q}, &r)
		for range 10 {
			call(t, p, wire.Request{Verb: wire.VerbAsk, Site: "p.F", Program: &wire.Program{
				Code: []byte{wire.OpArg, 2, wire.OpCall, 6}}}, nil)
			time.Sleep(min(long/100, 500*time.Millisecond))
			call(t, p, wire.Request{Verb: wire.VerbBeat, Lease: r.Lease}, nil)
			payload := call(t, p, wire.Request{Verb: wire.VerbPull}, nil)
			if bytes.Contains(payload, []byte(planted)) {
				t.Fatal("a planted secret came out")
			}
			events, err := wire.ReadEvents(payload)
			if err != nil {
				t.Fatal(err)
			}
			seen += len(events)
		}
		for i := range p.session.ring.slots {
			if bytes.Contains(p.session.ring.slots[i].storage[:8], []byte(planted)) {
				t.Fatal("a planted secret is in the ring")
			}
		}
		var st wire.Reply
		call(t, p, wire.Request{Verb: wire.VerbStatus}, &st)
		t.Logf("session %d: %+v %+v", n, *st.Status.Sites[0].Counts, st.Status.Session.Dropped)
		call(t, p, wire.Request{Verb: wire.VerbStop}, nil)
	}
	return seen
}

// call carries out a request as a controller does.
func call(t *testing.T, p *prober, q wire.Request, into *wire.Reply) (payload []byte) {
	t.Helper()
	q.Token = testToken
	b, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	var r wire.Reply
	if into == nil {
		into = &r
	}
	line, payload, _ := bytes.Cut(p.serve(testToken, b), []byte("\n"))
	if err := json.Unmarshal(line, into); err != nil {
		t.Fatal(err)
	}
	if into.Error != "" {
		t.Fatalf("%s: %s", q.Verb, into.Error)
	}
	return payload
}
