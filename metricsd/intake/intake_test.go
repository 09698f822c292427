package intake

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/DataDog/sketches-go/ddsketch"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/datadog"
	"github.com/beagle-go/beagle/metricsd/deliver"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/intake/bus"
	"github.com/beagle-go/beagle/metricsd/intake/index"
	"github.com/beagle-go/beagle/metricsd/intake/wire"
	"github.com/beagle-go/beagle/metricsd/queue"
)

// A running intake, with its files in a directory.
type running struct {
	*Intake
	t    *testing.T
	stop func()
	url  string
}

func start(t *testing.T, dir string, o Options) *running {
	t.Helper()
	b, err := bus.OpenNATS(t.Context(), bus.NATSOptions{Dir: filepath.Join(dir, "queue"), Bytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	x, err := index.OpenPebble(index.PebbleOptions{Dir: filepath.Join(dir, "index")})
	if err != nil {
		t.Fatal(err)
	}
	return run(t, o, b, x)
}

// run runs an intake over a queue and an index until it is stopped, or the test ends.
func run(t *testing.T, o Options, b bus.Bus, x index.Index) *running {
	t.Helper()
	return runLogged(t, o, b, x, slog.New(slog.DiscardHandler))
}

func runLogged(t *testing.T, o Options, b bus.Bus, x index.Index, log *slog.Logger) *running {
	t.Helper()
	in, err := New("127.0.0.1:0", o, b, x, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- in.Run(ctx) }()
	r := &running{Intake: in, t: t, url: "http://" + in.Address()}
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(r.stop)
	r.eventually("healthy", func() bool { return r.status("GET", "/healthz", nil) == http.StatusOK })
	return r
}

// soon bounds a wait for work of a machine that may be busy.
const soon = 5 * time.Minute

func (r *running) eventually(what string, ok func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(soon); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("not %s within %v", what, soon)
		}
	}
}

func (r *running) do(method, path string, body []byte, header ...string) (int, []byte) {
	r.t.Helper()
	req, err := http.NewRequest(method, r.url+path, bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, text
}

func (r *running) status(method, path string, body []byte, header ...string) int {
	status, _ := r.do(method, path, body, header...)
	return status
}

func (r *running) get(path string, v any) {
	r.t.Helper()
	status, text := r.do("GET", path, nil)
	if status != http.StatusOK {
		r.t.Fatalf("%s: %d %s", path, status, text)
	}
	decode(r.t, text, v)
}

func decode(t testing.TB, text []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
}

func (r *running) names(query string) []string {
	var v struct{ Names []string }
	r.get("/api/names?"+query, &v)
	return v.Names
}

func body(metric, host string, points int, tags ...string) []byte {
	type series struct {
		Metric string       `json:"metric"`
		Host   string       `json:"host"`
		Tags   []string     `json:"tags"`
		Points [][2]float64 `json:"points"`
	}
	s := series{Metric: metric, Host: host, Tags: tags}
	for i := range points {
		s.Points = append(s.Points, [2]float64{float64(1700000000 + i), 1})
	}
	out, _ := json.Marshal(map[string][]series{"series": {s}})
	return out
}

func (r *running) post(b []byte) {
	r.t.Helper()
	if status, text := r.do("POST", "/api/v1/series", b); status != http.StatusAccepted {
		r.t.Fatalf("%d %s", status, text)
	}
}

func TestNewNamesAppear(t *testing.T) {
	r := start(t, t.TempDir(), Options{})
	r.post(body("web.requests", "host-1", 2, "Env:Prod", "größe:XL"))
	r.eventually("found", func() bool { return slices.Equal(r.names("prefix=web"), []string{"web.requests"}) })
	for query, want := range map[string]string{
		"kind=host&contains=st-": "host-1",
		"kind=tag&prefix=env":    "env:prod",
		"kind=tag&contains=xl":   "größe:xl",
		"kind=app&prefix=":       "web",
	} {
		if got := r.names(query); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
	if got := r.names("contains=nothing"); got == nil || len(got) != 0 {
		t.Errorf("none is an empty list, not %#v", got)
	}
}

func TestCountsSurviveRestarts(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		r := start(t, dir, Options{})
		for range 10 {
			r.post(body("app.work", "h", 5))
		}
		r.stop()
	}
	r := start(t, dir, Options{Flush: 200 * time.Millisecond})
	if got := r.names("prefix=app.w"); len(got) != 1 {
		t.Fatalf("after restarts: %q", got)
	}
	r.eventually("counted", func() bool {
		var e []entryJSON
		r.get("/api/entries?name=app.work", &e)
		return len(e) == 1 && e[0].Points == 150 && e[0].Last.Unix() == 1700000004
	})
}

// TestKnownNamesAreWrittenRarely sends a steady stream: known names are written a hundred times
// less often than they are seen.
func TestKnownNamesAreWrittenRarely(t *testing.T) {
	r := start(t, t.TempDir(), Options{Flush: time.Hour})
	for range 250 {
		r.post(body("app.steady", "h", 1, "a:b", "c:d"))
	}
	c := &r.processor.counts
	r.eventually("read", func() bool { return c.points.Load() == 250 })
	r.eventually("known", func() bool { return len(r.names("prefix=app.steady")) == 1 })
	if seen, written := c.touches.Load(), c.writes.Load(); written == 0 || seen < 100*written {
		t.Errorf("%d names seen, %d entries written; want a hundredth", seen, written)
	}
}

func TestRefusals(t *testing.T) {
	r := start(t, t.TempDir(), Options{Token: "secret", Bounds: Bounds{
		Limits: wire.Limits{Body: 1 << 10, Opened: 1 << 12, Series: 10, Name: 100, Tags: 3},
	}})
	key := []string{"DD-API-KEY", "secret"}
	for name, test := range map[string]struct {
		path   string
		body   []byte
		header []string
		want   int
	}{
		"no token":        {"/api/v1/series", body("a", "", 1), nil, 401},
		"wrong token":     {"/api/v1/series", body("a", "", 1), []string{"DD-API-KEY", "Secret"}, 403},
		"token":           {"/api/v1/series", body("a", "", 1), key, 202},
		"token in query":  {"/api/v1/series?api_key=secret", body("a", "", 1), nil, 202},
		"bearer":          {"/api/v1/series", body("a", "", 1), []string{"Authorization", "Bearer secret"}, 202},
		"ignored":         {"/api/v1/check_run", []byte("{}"), key, 202},
		"ignored, long":   {"/intake/", make([]byte, 2000), key, 413},
		"long":            {"/api/v1/series", bytes.Repeat([]byte(" "), 2000), key, 413},
		"no JSON":         {"/api/v1/series", []byte("{"), key, 400},
		"no protobuf":     {"/api/v2/series", []byte{0xff}, key, 400},
		"no sketches":     {"/api/beta/sketches", []byte{0xff}, key, 400},
		"encoding":        {"/api/v2/series", nil, append(key, "Content-Encoding", "br"), 400},
		"no zlib":         {"/api/v2/series", []byte("nothing"), append(key, "Content-Encoding", "deflate"), 400},
		"v2 as JSON":      {"/api/v2/series", []byte(`{"series":[{"metric":"x","points":[]}]}`), append(key, "Content-Type", "application/json"), 202},
		"long tag's name": {"/api/v1/series", body("a", "", 1, strings.Repeat("x", 101)), key, 400},
	} {
		status, text := r.do("POST", test.path, test.body, test.header...)
		if status != test.want || status >= 400 && !strings.Contains(string(text), "errors") {
			t.Errorf("%s: %d %s; want %d", name, status, text, test.want)
		}
	}
	password := []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("anybody:secret"))}
	for _, path := range []string{"/", "/api/names", "/api/overview", "/debug/pprof/cmdline", "/debug/pprof/"} {
		if got := r.status("GET", path, nil); got != 401 {
			t.Errorf("GET %s without the token: %d", path, got)
		}
		for _, given := range [][]string{key, password} {
			if got := r.status("GET", path, nil, given...); got != 200 {
				t.Errorf("GET %s with the token: %d", path, got)
			}
		}
	}
	for _, path := range []string{"/api/names?kind=x", "/api/names?limit=0", "/api/entries?limit=x"} {
		if got := r.status("GET", path, nil, key...); got != 400 {
			t.Errorf("GET %s: %d", path, got)
		}
	}
}

// TestBoundsOfARunningIntake changes bounds while requests come.
func TestBoundsOfARunningIntake(t *testing.T) {
	r := start(t, t.TempDir(), Options{Flush: time.Hour})
	long := body("a.b", "", 1, strings.Repeat("x", 100))
	r.post(long)
	r.SetBounds(Bounds{Limits: wire.Limits{Body: 50, Opened: 1 << 10, Series: 10, Name: 100, Tags: 3}, Pending: 1})
	if got := r.status("POST", "/api/v1/series", long); got != http.StatusRequestEntityTooLarge {
		t.Errorf("a body over the new bound: %d", got)
	}
	if got := r.status("POST", "/api/v1/check_run", long); got != http.StatusRequestEntityTooLarge {
		t.Errorf("one that is ignored: %d", got)
	}
	r.SetBounds(Bounds{Pending: 1})
	r.post(long)
	r.eventually("written early", func() bool { return r.processor.counts.flushes.Load() > 0 })
	r.SetBounds(Bounds{Requests: 1})
	r.door.reading.Add(1) // another request is being read
	if got := r.status("POST", "/api/v1/series", long); got != http.StatusServiceUnavailable {
		t.Errorf("a second request of one: %d", got)
	}
	r.door.reading.Add(-1)
	r.post(long)
}

// TestSendersSeeNoDirectories has a reserve that no disk has. The log says once where room is
// needed, and the answer does not.
func TestSendersSeeNoDirectories(t *testing.T) {
	dir := t.TempDir()
	b, err := bus.OpenNATS(t.Context(), bus.NATSOptions{Dir: dir, Bytes: 1 << 20, Reserve: 1 << 62})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w := newBatcher(b)
	defer w.close()
	var log strings.Builder
	d := newDoor(Options{}.withDefaults(), w, slog.New(slog.NewTextHandler(&log, nil)))
	mux := http.NewServeMux()
	d.handle(mux)
	for range 2 {
		recorder := httptest.NewRecorder()
		mux.ServeHTTP(recorder, httptest.NewRequest("POST", "/api/v1/series", bytes.NewReader(body("a.name", "h", 3))))
		text := recorder.Body.String()
		if recorder.Code != http.StatusServiceUnavailable || strings.Contains(text, dir) ||
			!strings.Contains(text, "make room") {
			t.Errorf("%d %s", recorder.Code, text)
		}
	}
	if strings.Count(log.String(), dir) != 1 {
		t.Errorf("the operator is told %q", log.String())
	}
}

func TestAFullQueueIsToldToSenders(t *testing.T) {
	dir := t.TempDir()
	b, err := bus.OpenNATS(t.Context(), bus.NATSOptions{Dir: dir, Bytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w := newBatcher(b)
	defer w.close()
	d := newDoor(Options{}.withDefaults(), w, slog.New(slog.DiscardHandler))
	mux := http.NewServeMux()
	d.handle(mux)
	var status int
	for i := 0; i < 100 && status != http.StatusServiceUnavailable; i++ {
		recorder := &answer{header: http.Header{}}
		req, _ := http.NewRequest("POST", "/api/v1/series",
			bytes.NewReader(body(fmt.Sprintf("a.name.number.%d", i), "h", 3)))
		mux.ServeHTTP(recorder, req)
		status = recorder.status
		if status == http.StatusServiceUnavailable && recorder.header.Get("Retry-After") == "" {
			t.Error("a sender is not told when to come again")
		}
	}
	if status != http.StatusServiceUnavailable {
		t.Errorf("a queue of 1 KB never was full: %d", status)
	}
}

type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return len(b), nil }

// TestFromTheAgent checks that what the agent sends arrives, in every form.
func TestFromTheAgent(t *testing.T) {
	r := start(t, t.TempDir(), Options{})
	want := 0
	for _, api := range []string{"v1", "v2"} {
		for _, compression := range []string{"none", "zlib", "zstd"} {
			q, err := queue.Open(t.TempDir(), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			o, err := datadog.New(datadog.Options{API: api, Compression: compression, Sketches: "none",
				Deliver: deliver.Options{URL: r.url}}, q, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			sketch, _ := ddsketch.NewDefaultDDSketch(0.01)
			sketch.Add(3)
			o.Points([]aggregate.Point{
				{Context: aggregate.Context{Name: "agent." + api + "." + compression, Host: "h", Tags: []string{"env:x"}, Type: dogstatsd.Count}, Time: 1700000000, Value: 4},
				{Context: aggregate.Context{Name: "agent.dist", Type: dogstatsd.Distribution}, Time: 1700000000, Summary: &aggregate.Summary{Count: 1, Sum: 3, Min: 3, Max: 3, Sketch: sketch}},
			})
			o.Finish(t.Context())
			if s := o.Stats(); s.Sent != 1 || s.Refused != 0 {
				t.Errorf("%s %s: %+v", api, compression, s)
			}
			want++
		}
	}
	r.eventually("all forms there", func() bool { return len(r.names("prefix=agent.v")) == want })
	if got := r.names("prefix=agent.dist"); len(got) != 8 {
		t.Errorf("of a distribution: %q", got)
	}
}

func TestThePageShowsNamesAsText(t *testing.T) {
	r := start(t, t.TempDir(), Options{})
	const evil = `<script>alert(1)</script>`
	r.post(body("app.x", evil, 1, "t:"+evil))
	r.eventually("there", func() bool { return len(r.names("kind=host&contains="+url.QueryEscape("<script>"))) == 1 })
	r.eventually("ranked", func() bool { return len(r.processor.rankOf("").top[index.Host]) == 1 })
	_, text := r.do("GET", "/", nil)
	if strings.Contains(string(text), evil) || !strings.Contains(string(text), "&lt;script&gt;alert(1)") {
		t.Errorf("the host's name stands in the page as it is:\n%s", text)
	}
	var o Overview
	r.get("/api/overview", &o)
	if o.Names["host"] != 1 || len(o.Stages) < 6 || len(o.Top["metric"]) != 1 || o.Top["metric"][0].Rate <= 0 {
		t.Errorf("overview %+v", o)
	}
	_, text = r.do("GET", "/metrics", nil)
	for _, want := range []string{"metricsd_intake_points_total 1\n", `metricsd_intake_names{kind="tag"} 1`,
		`metricsd_intake_waiting{stage="decoder, messages"}`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

func TestCleanNames(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a": "a", "app.requests_total": "app.requests_total", "9a": "a", "_a": "a", "..a": "a", "a b": "a_b", "a__b": "a_b", "a_.b": "a.b", "a._b": "a.b",
		"a-": "a", "größe.x": "gr_e.x", "ä": "", strings.Repeat("a", 300): strings.Repeat("a", 200), "<script>": "script",
	} {
		if got := metricName(in); got != want {
			t.Errorf("metricName(%q) = %q, want %q", in, got, want)
		}
		if again := metricName(want); again != want {
			t.Errorf("metricName(%q) = %q: twice is not as once", want, again)
		}
	}
	for in, want := range map[string]string{
		"web-1.example":          "web-1.example",
		"a\x00b\nc":              "a_b_c",
		"\xff":                   "_",
		strings.Repeat("ö", 200): strings.Repeat("ö", 127),
	} {
		if got := hostName(in); got != want {
			t.Errorf("hostName(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzMetricName(f *testing.F) {
	f.Add("a._b__c.")
	f.Fuzz(func(t *testing.T, s string) {
		once := metricName(s)
		if once != "" && !isMetricName(once) {
			t.Fatalf("metricName(%q) = %q is no metric name", s, once)
		}
	})
}
