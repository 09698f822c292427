package deliver

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/expose"
	"github.com/beagle-go/beagle/metricsd/queue"
)

func sender(t *testing.T, url string, header map[string]string) *Sender {
	t.Helper()
	return senderIn(t, t.TempDir(), 1<<20, Options{URL: url, Header: header})
}

// senderIn returns a sender whose queue is in a directory and may hold the given number of bytes.
func senderIn(t *testing.T, dir string, bytes int64, o Options) *Sender {
	t.Helper()
	q, err := queue.Open(dir, bytes)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(o, q, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func TestAnswers(t *testing.T) {
	for status, left := range map[int]int{200: 0, 202: 0, 400: 0, 413: 0, 302: 1, 401: 1, 403: 1, 404: 1, 405: 1,
		408: 1, 429: 1, 500: 1, 501: 1} {
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		s := sender(t, url, nil)
		s.Put(Form{"/x", "text/plain", ""}, []byte("body"))
		s.Finish(t.Context())
		stats := s.Stats()
		if stats.Queue.Items != left || stats.Sent != uint64(btoi(status/100 == 2)) ||
			stats.Refused != uint64(btoi(status == 400 || status == 413)) {
			t.Errorf("status %d: %+v", status, stats)
		}
	}
}

// TestUnknownPathsHoldUpNothing posts to a receiver that knows one path of two. Payloads for the
// other path are dropped and logged once, and the payloads after them arrive.
func TestUnknownPathsHoldUpNothing(t *testing.T) {
	for _, status := range []int{404, 405, 501} {
		arrived := 0
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/base/maybe" {
				w.WriteHeader(status)
				return
			}
			arrived++
		}))
		s := sender(t, url+"/base", nil)
		var log strings.Builder
		s.options.Optional, s.log = []string{"/maybe"}, slog.New(slog.NewTextHandler(&log, nil))
		for range 3 {
			s.Put(Form{Path: "/maybe"}, []byte("maybe"))
			s.Put(Form{Path: "/always"}, []byte("always"))
		}
		s.Finish(t.Context())
		if stats := s.Stats(); arrived != 3 || stats.Sent != 3 || stats.Refused != 3 || stats.Queue.Items != 0 {
			t.Errorf("status %d: %d arrived, %+v", status, arrived, stats)
		}
		if n := strings.Count(log.String(), "does not know this path"); n != 1 {
			t.Errorf("status %d: told %d times: %s", status, n, log.String())
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestForms(t *testing.T) {
	got := ""
	url := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		h := r.Header
		got = strings.Join([]string{r.URL.Path, h.Get("Content-Type"), h.Get("Content-Encoding"), h.Get("Key")}, " ")
	}))
	s := sender(t, url+"/base/", map[string]string{"Key": "secret"})
	s.Put(Form{"/x", "text/plain", "zstd"}, []byte("a\tb\nc"))
	s.Finish(t.Context())
	if got != "/base/x text/plain zstd secret" {
		t.Errorf("got %s", got)
	}
}

// TestAPayloadKeepsItsKey posts while the receiver is down, and restarts in between.
func TestAPayloadKeepsItsKey(t *testing.T) {
	var keys []string
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if keys = append(keys, r.Header.Get("Idempotency-Key")); len(keys) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	dir := t.TempDir()
	for range 2 {
		s := senderIn(t, dir, 1<<20, Options{URL: url})
		s.Put(Form{}, []byte("same"))
		s.Finish(t.Context())
	}
	if len(keys) != 3 || len(keys[0]) < 20 || keys[0] != keys[1] || keys[1] == keys[2] {
		t.Errorf("keys %q", keys)
	}
}

func TestTheKeyDoesNotFollowRedirects(t *testing.T) {
	other := serve(t,
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	s := sender(t, serve(t, http.RedirectHandler(other, http.StatusTemporaryRedirect)), map[string]string{
		"Key": "secret",
	})
	s.Put(Form{}, nil)
	s.Finish(t.Context())
}

func TestForeignPayloadsAreDropped(t *testing.T) {
	s := sender(t, serve(t, http.NotFoundHandler()), nil)
	s.queue.Put([]byte("something else\nbody"))
	s.Finish(t.Context())
	if stats := s.Stats(); stats.Refused != 1 || stats.Queue.Items != 0 {
		t.Errorf("%+v", stats)
	}
}

func TestURLs(t *testing.T) {
	for _, url := range []string{"", "x", "ftp://x", "http://", "127.0.0.1:80"} {
		if _, err := New(Options{URL: url}, nil, nil); err == nil || !strings.Contains(err.Error(), "not a URL") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestOwn(t *testing.T) {
	s := sender(t, "http://127.0.0.1:1", nil)
	s.Put(Form{}, nil)
	var p expose.Page
	s.OwnMetrics(&p, "test")
	var out strings.Builder
	p.WriteTo(&out)
	if !strings.Contains(out.String(), "\nmetricsd_test_queue_payloads 1\n") {
		t.Error(out.String())
	}
}

// TestASlowReceiverHoldsUpNobody posts to a receiver that answers when the test lets it. Putting
// payloads does not wait for it. They wait on disk, within the bound, and arrive in their order.
func TestASlowReceiverHoldsUpNobody(t *testing.T) {
	release, arrived := make(chan struct{}), make(chan string, 100)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-release
		body, _ := io.ReadAll(r.Body)
		arrived <- string(body)
	}))
	s := sender(t, url, nil)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	const few, each = 50, 100 << 10 // five times what the queue may hold
	for i := range few {
		s.Put(Form{}, append(fmt.Appendf(nil, "%02d ", i), make([]byte, each)...))
	}
	stats := s.Stats()
	if stats.Queue.Bytes > 1<<20 || stats.Queue.Overflowed == 0 || stats.Held != 0 || stats.Queue.Items < 5 {
		t.Errorf("%+v", stats)
	}
	close(release)
	n := 0
	for last := ""; last != fmt.Sprint(few-1); n++ {
		select {
		case body := <-arrived:
			if got := body[:2]; got <= last {
				t.Errorf("%s came after %s", got, last)
			}
			last = body[:2]
		case <-time.After(5 * time.Minute): // it waits for payloads, not for a clock
			t.Fatalf("%d payloads arrived, the last %q", n, last)
		}
	}
	stop()
	running.Wait()
	if n < stats.Queue.Items || n > stats.Queue.Items+1 { // the payload that was being posted may be among them
		t.Errorf("%d payloads arrived of %d in the queue", n, stats.Queue.Items)
	}
}
