package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/config"
	"github.com/beagle-go/beagle/metricsd/expose"
	"github.com/beagle-go/beagle/metricsd/listen"
)

func testConfig(t *testing.T) config.Config {
	c := config.Default()
	c.HTTP = "127.0.0.1:0"
	c.Listen.UDP = "127.0.0.1:0"
	c.Listen.Unixgram = socketPath(t)
	c.Listen.Unix = socketPath(t)
	return c
}

// inShapes runs a test in both shapes of the agent.
func inShapes(t *testing.T, test func(*testing.T, config.Config)) {
	for name, cache := range shapes {
		t.Run(name, func(t *testing.T) {
			c := testConfig(t)
			c.Listen.Cache = cache
			test(t, c)
		})
	}
}

// shapes are the agent's, with their listen.cache.
var shapes = map[string]int{"plain": 0, "fast": config.Default().Listen.Cache}

// startAgent runs an agent on free ports until the test ends.
func startAgent(t *testing.T) *Agent { return startAgentWith(t, testConfig(t)) }

func startAgentWith(t *testing.T, c config.Config) *Agent {
	t.Helper()
	a, stop := runAgent(t, c)
	t.Cleanup(stop)
	return a
}

func runAgent(t *testing.T, c config.Config, sinks ...Sink) (*Agent, func()) {
	t.Helper()
	a, err := New(c, slog.New(slog.DiscardHandler), sinks...)
	if err != nil {
		t.Fatal(err)
	}
	return a, runOpened(t, a)
}

// runOpened runs an opened agent. The function that it returns stops it.
func runOpened(t *testing.T, a *Agent) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- a.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// scrape closes the open bucket, so that sets show, and returns the page.
func scrape(t *testing.T, a *Agent) string {
	t.Helper()
	a.Aggregator.Flush(time.Now().Unix() + 2*aggregate.BucketSeconds)
	return "\n" + get(t, a, "/metrics")
}

func get(t *testing.T, a *Agent, path string) string {
	t.Helper()
	answer := httptest.NewRecorder()
	r := httptest.NewRequest("GET", path, nil)
	r.RemoteAddr = "127.0.0.1:4000"
	a.Handler().ServeHTTP(answer, r)
	if answer.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, answer.Code, answer.Body)
	}
	return answer.Body.String()
}

func dial(t *testing.T, a *Agent, network string) net.Conn {
	t.Helper()
	c, err := net.Dial(network, a.Addresses()[network])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestOneBadLineDoesNotSpoilItsDatagram(t *testing.T) { inShapes(t, testOneBadLine) }

func testOneBadLine(t *testing.T, c config.Config) {
	a := startAgentWith(t, c)
	dial(t, a, "udp").Write([]byte("a:1|c\nbroken\n\nb:x|c\nb:2|c|c:in-x"))
	waitFor(t, func() string {
		return missing(scrape(t, a),
			[]string{"a_total 1", "b_total 2", "metricsd_malformed_total 2", "metricsd_warnings_total 1"})
	})
	shown := get(t, a, "/malformed")
	for _, want := range []string{`"line": "broken"`, `"line": "b:x|c"`, `"offset": 2`, "no colon after the name",
		`inode \"x\"`} {
		if !strings.Contains(shown, want) {
			t.Errorf("/malformed lacks %s:\n%s", want, shown)
		}
	}
}

func TestTruncatedDatagrams(t *testing.T) { inShapes(t, testTruncatedDatagrams) }

func testTruncatedDatagrams(t *testing.T, c config.Config) {
	c.Listen.PacketSize = 512
	a, stop := runAgent(t, c)
	defer stop()
	dial(t, a, "udp").Write([]byte("a:1|c\nb:12345|c" + strings.Repeat(" ", 600)))
	waitFor(t, func() string { return missing(scrape(t, a), []string{"a_total 1", "metricsd_truncated_total 1"}) })
	if page := scrape(t, a); strings.Contains(page, "\nb_total") {
		t.Error("half a line was taken")
	}
}

func TestHostAndLimits(t *testing.T) { inShapes(t, testHostAndLimits) }

func testHostAndLimits(t *testing.T, c config.Config) {
	c.Host = "me"
	c.Limits.PerOrigin = 2
	a, stop := runAgent(t, c)
	defer stop()
	conn := dial(t, a, "unixgram")
	conn.Write([]byte("a:1|g\na:2|g|#host:you\na:3|g|#host:\na:4|g|#host:|c:other"))
	waitFor(t, func() string {
		return missing(scrape(t, a),
			[]string{`a{host="me"} 1`, `a{host="you"} 2`, `a 4`, `metricsd_dropped_total{bound="per_origin"} 1`,
				`metricsd_origin_contexts{origin="unixgram"} 2`, `metricsd_origin_contexts{origin="other"} 1`,
				`metricsd_metric_contexts{metric="a"} 3`})
	})
	c.Limits.PerOrigin = 3
	if err := a.Reload(c); err != nil {
		t.Fatal(err)
	}
	conn.Write([]byte("b:1|g"))
	waitFor(t, func() string { return missing(scrape(t, a), []string{`b{host="me"} 1`}) })
}

func TestFramesOfAStream(t *testing.T) { inShapes(t, testFramesOfAStream) }

func testFramesOfAStream(t *testing.T, c config.Config) {
	a := startAgentWith(t, c)
	conn := dial(t, a, "unix")
	for _, lines := range []string{"a:1|c\na:2|c", "a:4|c"} {
		conn.Write(frameOf(lines))
	}
	waitFor(t, func() string { return missing(scrape(t, a), []string{"a_total 7", "metricsd_stream_connections 1"}) })
	conn.Write([]byte{0xff, 0xff, 0xff, 0xff})
	waitFor(t, func() string {
		return missing(scrape(t, a), []string{"metricsd_frames_refused_total 1", "metricsd_stream_connections 0"})
	})
}

func TestKernelDropsAreShown(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	page := scrape(t, startAgent(t))
	if what := missing(page, []string{`metricsd_kernel_drops_total{socket="udp"} 0`}); what != "" {
		t.Errorf("missing %s", what)
	}
	if !strings.Contains(page, "metricsd_socket_buffer_bytes{socket=\"udp\"} ") {
		t.Error("the buffer's size is not shown")
	}
}

// sum is a sink that adds up counts.
type sum struct {
	mu    sync.Mutex
	total float64
}

func (s *sum) Send(f aggregate.Flush) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range f.Points {
		s.total += p.Value
	}
}

func (s *sum) OwnMetrics(*expose.Page) {}

func (s *sum) WantsEvents() bool { return false }

// TestStopLosesNothing stops right after sending, and expects what the sockets and the open bucket
// hold.
func TestStopLosesNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere a socket cannot be emptied without waiting")
	}
	inShapes(t, testStopLosesNothing)
}

func testStopLosesNothing(t *testing.T, c config.Config) {
	var got sum
	a, stop := runAgent(t, c, &got)
	stream := dial(t, a, "unix")
	waitFor(t, func() string { // a connection that nobody has accepted yet is lost
		if a.stream.Connections() == 0 {
			return "the connection"
		}
		return ""
	})
	datagrams := dial(t, a, "udp")
	for range 1000 {
		datagrams.Write([]byte("a:1|c"))
		stream.Write([]byte("\x05\x00\x00\x00a:1|c"))
	}
	stop()
	if got.total != 2000 {
		t.Errorf("%v of 2000 came out", got.total)
	}
}

// TestDrainComesLate drains a socket after the time for that, as an agent does that got no
// processor in it.
func TestDrainComesLate(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere a socket cannot be emptied without waiting")
	}
	a, err := New(testConfig(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	const sent = 1000
	conn := dial(t, a, "udp")
	for range sent {
		conn.Write([]byte("a:1|c"))
	}
	for _, s := range a.sockets {
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		batch := listen.NewBatch(a.config.Listen.Batch, a.config.Listen.PacketSize)
		a.drain(s, a.Worker(), batch, time.Now().Add(-time.Second))
	}
	if n := a.Counters.Metrics.Load(); n != sent {
		t.Errorf("%d of %d came", n, sent)
	}
}

func TestHealthAndProfiles(t *testing.T) {
	a := startAgent(t)
	answer, err := http.Get("http://" + a.Addresses()["http"] + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, _ := io.ReadAll(answer.Body); string(body) != "ok\n" {
		t.Errorf("/healthz says %q", body)
	}
	if !strings.Contains(get(t, a, "/debug/pprof/"), "goroutine") {
		t.Error("/debug/pprof/ shows no profiles")
	}
	a.ending.Store(true)
	stopping := httptest.NewRecorder()
	a.Handler().ServeHTTP(stopping, httptest.NewRequest("GET", "/healthz", nil))
	if stopping.Code != http.StatusServiceUnavailable {
		t.Errorf("a stopping agent says %d", stopping.Code)
	}
}

// TestPagesAskForTheToken asks for each page from another machine, with and without a token, of an
// agent that has one and of an agent that has none.
func TestPagesAskForTheToken(t *testing.T) {
	for _, token := range []string{"", "the-agents-token"} {
		c := testConfig(t)
		c.HTTPToken = token
		a := startAgentWith(t, c)
		for path, open := range map[string]bool{"/healthz": true, "/metrics": token == "", "/malformed": token == "",
			"/events": token == "", "/debug/pprof/cmdline": false, "/debug/pprof/": false} {
			for given, want := range map[string]bool{"": open, "another-token": open, token: open || token != ""} {
				r := httptest.NewRequest("GET", path, nil)
				r.RemoteAddr = "192.0.2.7:4000"
				if given != "" {
					r.Header.Set("Authorization", "Bearer "+given)
				}
				answer := httptest.NewRecorder()
				a.Handler().ServeHTTP(answer, r)
				if (answer.Code == http.StatusOK) != want {
					t.Errorf("a token of %q, %s with %q: %d, want open: %v", token, path, given, answer.Code, want)
				}
			}
		}
	}
}

func TestAddressInUse(t *testing.T) {
	a := startAgent(t)
	c := testConfig(t)
	c.HTTP = a.Addresses()["http"]
	if _, err := New(c, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), c.HTTP) {
		t.Errorf("got %v", err)
	}
}

func TestRecentKeepsTheLast(t *testing.T) {
	var r Recent[int]
	for i := range 3 * maxRecent / 2 {
		r.Add(i)
	}
	list := r.List()
	if len(list) != maxRecent || list[0].Item != maxRecent/2 || list[maxRecent-1].Item != 3*maxRecent/2-1 {
		t.Errorf("%d items from %d to %d", len(list), list[0].Item, list[len(list)-1].Item)
	}
}

// TestSpreadWorkers sends from several senders to several workers. It expects exact counts, a gauge
// with the last value of its sender, and one socket on the page.
func TestSpreadWorkers(t *testing.T) {
	inShapes(t, func(t *testing.T, c config.Config) {
		c.Listen.Workers = 3
		a := startAgentWith(t, c)
		var want []string
		for sender := range 12 {
			conn := dial(t, a, "udp")
			for i := range 100 {
				fmt.Fprintf(conn, "hits:1|c\nlast:%d|g|#sender:%d", i, sender)
			}
			want = append(want, fmt.Sprintf(`last{sender="%d"} 99`, sender))
		}
		want = append(want, "hits_total 1200", `metricsd_kernel_drops_total{socket="udp"} 0`)
		waitFor(t, func() string { return missing(scrape(t, a), want) })
		if n := strings.Count(get(t, a, "/metrics"), "metricsd_kernel_drops_total{"); n != 2 {
			t.Errorf("drops are shown of %d sockets, want 2", n)
		}
	})
}
