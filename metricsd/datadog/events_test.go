package datadog

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/agent"
	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/config"
	"github.com/beagle-go/beagle/metricsd/deliver"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/queue"
)

// receiver keeps bodies by path once it is opened.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	up     bool
	asked  int
	bodies map[string][]any
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{bodies: map[string][]any{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.asked++
		if !r.up {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		text, _ := io.ReadAll(req.Body)
		var body any
		if strings.HasPrefix(req.Header.Get("Content-Type"), "application/json") {
			if err := json.Unmarshal(text, &body); err != nil {
				t.Errorf("%s: %v", req.URL.Path, err)
			}
		}
		r.bodies[req.URL.Path] = append(r.bodies[req.URL.Path], body)
	}))
	t.Cleanup(r.Close)
	return r
}

// TestEventsAndChecksGoTheirWay sends lines to an agent whose receiver is down, and stops the
// agent. It starts another agent on the same queue when the receiver is up.
func TestEventsAndChecksGoTheirWay(t *testing.T) {
	r, dir := newReceiver(t), t.TempDir()
	run := func(lines ...string) {
		q, err := queue.Open(dir, 1<<24)
		if err != nil {
			t.Fatal(err)
		}
		log := slog.New(slog.DiscardHandler)
		o, err := New(Options{API: "v2", Compression: "none", Sketches: "all", Events: true,
			Deliver: deliver.Options{URL: r.URL, FirstPause: time.Millisecond}}, q, log)
		if err != nil {
			t.Fatal(err)
		}
		c := config.Default()
		c.Host, c.HTTP, c.Listen.UDP = "me", "", "127.0.0.1:0"
		a, err := agent.New(c, log, o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- a.Run(ctx) }()
		conn, err := net.Dial("udp", a.Addresses()["udp"])
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			fmt.Fprint(conn, line)
		}
		waitFor(t, "lines", func() bool { return int(a.Counters.Events.Load()+a.Counters.Checks.Load()) == len(lines) })
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		o.Finish(t.Context())
	}
	run(`_e{5,9}:title|two\nline|d:1700000000|h:web|k:key|p:low|s:ci|t:error|#a:<b>`, "_e{1,0}:x|",
		"_sc|db|2|d:1700000001|h:|#c|m:gone", "_sc|web|0")
	r.mu.Lock()
	if r.asked == 0 || len(r.bodies) > 0 {
		t.Errorf("while it was down: asked %d times, %v", r.asked, r.bodies)
	}
	r.up = true
	r.mu.Unlock()
	run()

	events, checks := r.bodies["/intake/"], r.bodies["/api/v1/check_run"]
	if len(events) != 1 || len(checks) != 1 {
		t.Fatalf("got %v", r.bodies)
	}
	list := checks[0].([]any)
	now := list[1].(map[string]any)
	if at := now["timestamp"].(float64); time.Since(time.Unix(int64(at), 0)).Abs() > time.Hour {
		t.Errorf("a check without a time has %v", at)
	}
	delete(now, "timestamp")
	short := events[0].(map[string]any)["events"].(map[string]any)["api"].([]any)[0].(map[string]any)
	if short["timestamp"].(float64) < 1.7e9 {
		t.Errorf("an event without a time: %v", short)
	}
	delete(short, "timestamp")
	want := []any{
		map[string]any{"apiKey": "", "internalHostname": "", "events": map[string]any{
			"ci": []any{map[string]any{"msg_title": "title", "msg_text": "two\nline", "timestamp": 1.7e9, "priority": "low", "host": "web", "tags": []any{"a:<b>"},
				"alert_type": "error", "aggregation_key": "key", "source_type_name": "ci"}},
			"api": []any{map[string]any{"msg_title": "x", "msg_text": "", "priority": "normal", "host": "me", "alert_type": "info"}},
		}},
		[]any{
			map[string]any{"check": "db", "host_name": "", "timestamp": 1700000001.0, "status": 2.0, "message": "gone",
				"tags": []any{"c"}},
			map[string]any{"check": "web", "host_name": "me", "status": 0.0, "message": "", "tags": []any{}},
		},
	}
	if got := []any{events[0], checks[0]}; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestAReceiverOfSeriesAlone answers 404 to everything except series, which arrive all the same.
func TestAReceiverOfSeriesAlone(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		if r.URL.Path != "/api/v2/series" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	q, err := queue.Open(t.TempDir(), 1<<24)
	if err != nil {
		t.Fatal(err)
	}
	o, err := New(Options{API: "v2", Compression: "none", Sketches: "all", Events: true, Deliver: deliver.Options{
		URL: server.URL,
	}}, q, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	o.Events([]dogstatsd.Event{{Title: "x"}}, []dogstatsd.Check{{Name: "x"}})
	o.Points([]aggregate.Point{distribution(1, 2), count("c", 1)})
	o.Finish(t.Context())
	if want := []string{"/intake/", "/api/v1/check_run", "/api/beta/sketches", "/api/v2/series"}; !slices.Equal(asked,
		want) {
		t.Errorf("asked %q", asked)
	}
	if stats := o.Stats(); stats.Refused != 3 || stats.Sent != 1 || stats.Queue.Items != 0 {
		t.Errorf("%+v", stats)
	}
}

func TestManyEventsAreSplit(t *testing.T) {
	events, checks := make([]dogstatsd.Event, 300), make([]dogstatsd.Check, 300)
	for i := range events {
		events[i] = dogstatsd.Event{
			Title:      fmt.Sprint(i),
			Text:       strings.Repeat("x", 8000),
			SourceType: fmt.Sprint("s", i%3),
		}
		checks[i] = dogstatsd.Check{Name: fmt.Sprint(i), Message: strings.Repeat("x", 8000)}
	}
	for what, bodies := range map[string][][]byte{"events": packEvents(events), "checks": packChecks(checks)} {
		if len(bodies) != 3 {
			t.Errorf("%s: %d bodies", what, len(bodies))
		}
		n := 0
		for _, b := range bodies {
			if len(b) > maxBody+10_000 || !json.Valid(b) {
				t.Errorf("%s: a body of %d bytes", what, len(b))
			}
			n += strings.Count(string(b), strings.Repeat("x", 8000))
		}
		if n != 300 {
			t.Errorf("%s: %d of 300", what, n)
		}
	}
	if packEvents(nil) != nil || packChecks(nil) != nil {
		t.Error("nothing makes a body")
	}
}
