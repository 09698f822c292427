package profiles

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/hotspots/sketch"
)

var noon = time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)

func planted(t *testing.T, kind string, at time.Time, stacks ...string) []byte {
	t.Helper()
	data, err := sketch.Sketch{Kind: kind, Seconds: 10, Start: at, Stacks: stacks}.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestDirectory: each directory in a directory is an instance, and N@ says how many
// instances all of them stand for.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/host1/a.pprof", planted(t, "cpu", noon, "500 ex.com/s.F@/f.go:1"))
	write(t, dir+"/host1/b.pprof", planted(t, "cpu", noon.Add(time.Minute), "500 ex.com/s.F@/f.go:1"))
	write(t, dir+"/host2/a.pb.gz", planted(t, "cpu", noon, "1000 ex.com/s.G@/f.go:1"))
	write(t, dir+"/host2/notes.txt", []byte("not read"))
	for source, cores := range map[string]float64{dir: 1.5, "20@" + dir: 15} {
		all, err := Read(t.Context(), []string{source}, Options{})
		if err != nil || len(all) != 3 {
			t.Fatalf("%d profiles, %v", len(all), err)
		}
		h, err := hotspots.Rank(all, hotspots.Options{Checkout: &hotspots.Checkout{Module: "ex.com/s"}})
		if err != nil || h.Cores != cores {
			t.Errorf("%s: %g cores, want %g; %v", source, h.Cores, cores, err)
		}
	}
}

func TestBadSources(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/empty", 0o777); err != nil {
		t.Fatal(err)
	}
	good := planted(t, "cpu", noon, "500 ex.com/s.F@/f.go:1")
	write(t, dir+"/cut/a.pprof", good[:len(good)-20])
	write(t, dir+"/ok.pprof", good)
	for source, want := range map[string]string{
		dir + "/none.pprof":        "no such file",
		dir + "/empty":             "holds no profiles",
		dir + "/cut":               "cut off",
		"0@" + dir + "/ok.pprof":   "not a number of instances",
		"40@":                      "no source follows the number",
		"ftp://user:secret@host/x": "unknown kind of source",
		"http://":                  "not an address",
		"/dev/null":                "not a regular file",
	} {
		_, err := Read(t.Context(), []string{dir + "/ok.pprof", source}, Options{})
		var bad *beagle.UsageError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || bad.Remedy == "" ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q and a remedy", source, err, want)
		}
	}
}

// service returns a real server with net/http/pprof that works until the test ends.
func service(t *testing.T) *httptest.Server {
	t.Helper()
	runtime.SetMutexProfileFraction(1)
	t.Cleanup(func() { runtime.SetMutexProfileFraction(0) })
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	var stop atomic.Bool
	done := make(chan bool)
	go func() {
		defer close(done)
		for !stop.Load() {
			kept.Store(busy(100_000))
		}
	}()
	t.Cleanup(func() { stop.Store(true); <-done })
	return s
}

var kept atomic.Int64

//go:noinline
func busy(n int) (s int64) {
	b := make([]byte, 4096)
	for i := range n {
		s = s*31 + int64(b[i%len(b)])
	}
	return s + int64(len(fmt.Sprint(b[:64])))
}

func TestLive(t *testing.T) {
	s := service(t)
	for _, address := range []string{s.URL, s.URL + "/debug/pprof/", s.URL + "/debug/pprof/profile"} {
		all := sampled(t, address)
		for _, p := range all {
			if p.Seconds < 0.9 || p.Instance == "" {
				t.Errorf("%s of %s: %g s", p.Kind, p.Instance, p.Seconds)
			}
		}
		h, err := hotspots.Rank(all, hotspots.Options{
			Checkout: &hotspots.Checkout{Own: []string{"github.com/beagle-go/beagle/internal/profiles"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		// Functions of tests are no targets, and the answer tells their share.
		dropped, _, err := h.Why("profiles.busy")
		if err != nil || len(dropped) == 0 || dropped[0].Cum < 0.2 ||
			!strings.Contains(dropped[0].Reason, "test file") {
			t.Errorf("%+v %v", dropped, err)
		}
		saved(t, all)
	}
}

// sampled reads live profiles, longer and longer ones until they have samples: on a busy machine
// the service gets little processor time.
func sampled(t *testing.T, address string) []*hotspots.Profile {
	t.Helper()
	for seconds := 1; ; seconds *= 4 {
		var said []string
		all, err := Read(t.Context(), []string{address},
			Options{Seconds: seconds, Warn: func(w string) { said = append(said, w) }})
		samples := map[string]int64{}
		for _, p := range all {
			for _, s := range p.Pprof.Sample {
				samples[p.Kind] += s.Value[0]
			}
		}
		enough := samples[hotspots.CPU] >= 20 && (strings.Contains(address, "profile") || samples[hotspots.Alloc] > 0)
		switch {
		case err == nil && enough && len(said) == 0:
			return all
		case seconds > 60:
			t.Fatalf("%s gives %v in %d s, %q, %v", address, samples, seconds, said, err)
		}
	}
}

// saved checks that profiles can be read again from the directory that they are saved in.
func saved(t *testing.T, all []*hotspots.Profile) {
	dir := t.TempDir()
	if err := Save(dir, all); err != nil {
		t.Fatal(err)
	}
	again, err := Read(t.Context(), []string{dir}, Options{Warn: func(w string) { t.Error(w) }})
	if err != nil || len(again) != len(all) {
		t.Fatalf("%d of %d profiles, %v", len(again), len(all), err)
	}
	for _, p := range all {
		if !slices.ContainsFunc(again, func(a *hotspots.Profile) bool {
			return a.Kind == p.Kind && math.Abs(a.Seconds-p.Seconds) < 0.01 &&
				len(a.Pprof.Sample) == len(p.Pprof.Sample)
		}) {
			t.Errorf("%s of %g s is gone", p.Kind, p.Seconds)
		}
	}
}

// TestLiveSlices: a profile that is spread over a longer time is taken in slices of one instance.
func TestLiveSlices(t *testing.T) {
	t.Parallel() // it waits
	data := planted(t, "cpu", time.Time{}, "50 ex.com/s/a.F@a/f.go:4")
	var asked []string
	var at []time.Time
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, at = append(asked, r.URL.Query().Get("seconds")), append(at, time.Now())
		w.Write(data)
	}))
	defer s.Close()
	const over = 10500 * time.Millisecond
	all, err := Read(t.Context(), []string{s.URL + "/debug/pprof/profile"}, Options{Seconds: 10, Over: over})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"5", "5"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q seconds, want %q", asked, want)
	}
	for i := range all {
		if all[i].Instance != all[0].Instance || all[i].Instance == "" {
			t.Errorf("slice %d is of %q", i, all[i].Instance)
		}
		if i > 0 && at[i].Sub(at[i-1]) < over/3 {
			t.Errorf("slice %d begins %v after the one before", i, at[i].Sub(at[i-1]))
		}
	}
}

// TestLiveSliceFails: a slice that fails does not take the others with it. What is odd of all
// slices is said once.
func TestLiveSliceFails(t *testing.T) {
	t.Parallel() // it waits
	data := planted(t, "cpu", time.Unix(1e9, 0), "50 ex.com/s/a.F@a/f.go:4")
	var asked []string
	failing := false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked = append(asked, r.URL.Query().Get("seconds")); len(asked) == 2 && failing {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Write(data)
	}))
	defer s.Close()
	for _, c := range []struct {
		seconds int
		over    time.Duration
		query   string
		fails   bool
		asked   []string
		slices  int
	}{
		{11, 11100 * time.Millisecond, "", true, []string{"4", "4", "4"}, 2},
		{30, 2100 * time.Millisecond, "?seconds=2", false, []string{"1", "1"}, 2},
		{1, 2 * time.Second, "", false, []string{"1"}, 1},
	} {
		var said []string
		asked, failing = nil, c.fails
		all, err := Read(t.Context(), []string{s.URL + "/debug/pprof/profile" + c.query}, Options{Seconds: c.seconds,
			Over: c.over, Warn: func(text string) { said = append(said, text) }})
		if err != nil || len(all) != c.slices || !slices.Equal(asked, c.asked) {
			t.Errorf("%d s%s: %d slices, asked for %q, %v", c.seconds, c.query, len(all), asked, err)
		}
		text := strings.Join(said, "")
		if told := strings.Contains(text, "1 of 3 slices"); told != c.fails || strings.Count(text, "clock") != 1 {
			t.Errorf("%d s%s: %q", c.seconds, c.query, said)
		}
	}
}

// TestLiveIdleSlice: the seconds of a slice without samples count, so a service that is idle for
// half of the time keeps half of a core busy, and not one.
func TestLiveIdleSlice(t *testing.T) {
	t.Parallel() // it waits
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var stacks []string
		if asked++; asked == 2 {
			stacks = []string{"50 ex.com/s/a.F@a/f.go:4"}
		}
		w.Write(planted(t, "cpu", time.Time{}, stacks...))
	}))
	defer s.Close()
	all, err := Read(t.Context(), []string{s.URL + "/debug/pprof/profile"}, Options{Seconds: 2,
		Over: 2100 * time.Millisecond})
	if err != nil || len(all) != 1 || all[0].Seconds != 20 || all[0].Pprof.DurationNanos != 20e9 {
		t.Errorf("%d profiles, want one of 20 s: %v", len(all), err)
	}
}

// TestLiveInterrupted: an interrupt ends a live profile at once, on both sides.
func TestLiveInterrupted(t *testing.T) {
	began, ended := make(chan bool), make(chan bool)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		close(ended)
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	_, err := Read(ctx, []string{s.URL + "/debug/pprof/profile"}, Options{Seconds: 600})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	<-ended
}

func TestLiveRefused(t *testing.T) {
	answers := func(status int, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/debug/pprof/profile" {
				http.NotFound(w, r)
				return
			}
			if status/100 == 3 {
				w.Header().Set("Location", "http://elsewhere.example/")
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		})
	}
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for want, h := range map[string]http.Handler{
		"one at a time":   answers(500, "Could not enable CPU profiling: cpu profiling already in use"),
		"WriteTimeout is": answers(400, "profile duration exceeds server's WriteTimeout"),
		"net/http/pprof":  answers(404, "404 page not found"),
		"TOKEN":           answers(401, ""),
		"another host":    answers(302, ""),
		"web page":        answers(200, "<html>hello</html>"),
		"is empty":        answers(200, ""),
		"cut off":         answers(200, string(planted(t, "cpu", noon, "5 a.F@/f.go:1")[:60])),
	} {
		s := httptest.NewServer(h)
		_, err := Read(t.Context(), []string{strings.Replace(s.URL, "http://", "http://me:secret@", 1)},
			Options{Seconds: 1})
		s.Close()
		var bad *beagle.UsageError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if _, err := Read(t.Context(), []string{"http://" + gone.Addr().String()}, Options{Seconds: 1}); err == nil ||
		!strings.Contains(err.Error(), "imports net/http/pprof") {
		t.Errorf("%v", err)
	}
}

// TestLiveSkew: A clock that is off is said, and changes no share.
func TestLiveSkew(t *testing.T) {
	data := planted(t, "cpu", noon, "5 a.F@/f.go:1")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(data) }))
	defer s.Close()
	var said []string
	o := Options{Seconds: 1, Now: func() time.Time { return noon.Add(-5 * time.Minute) },
		Warn: func(w string) { said = append(said, w) }}
	if _, err := Read(t.Context(), []string{s.URL + "/debug/pprof/profile"}, o); err != nil || len(said) != 1 ||
		!strings.Contains(said[0], "5m0s off") {
		t.Errorf("%q %v", said, err)
	}
}

// TestToken: A redirect to another host gets no token.
func TestToken(t *testing.T) {
	data := planted(t, "cpu", noon, "5 a.F@/f.go:1")
	var got string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		w.Write(data)
	}))
	defer s.Close()
	if _, err := Read(t.Context(), []string{s.URL + "/debug/pprof/profile"},
		Options{Seconds: 1, Token: "t0ken"}); err != nil || got != "Bearer t0ken" {
		t.Errorf("%q %v", got, err)
	}
}

func TestCheckout(t *testing.T) {
	dir := t.TempDir()
	_, err := Checkout(dir, nil, nil)
	var bad *beagle.UsageError
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), "go.mod") {
		t.Errorf("no module: %v", err)
	}
	if c, err := Checkout(dir, []string{"ex.com/s"}, nil); err != nil || c.Module != "" {
		t.Errorf("--own without a module: %+v %v", c, err)
	}
	write(t, dir+"/go.mod", []byte("module ex.com/s\n"))
	write(t, dir+"/a/f.go", []byte("package a\n\nfunc F() {\n}\n\nfunc (t *T[K]) M() {}\n"))
	write(t, dir+"/b/f.go", []byte("not Go"))
	write(t, dir+"/nested/go.mod", []byte("module ex.com/s/nested\n"))
	write(t, dir+"/nested/f.go", []byte("package nested\n"))
	p, err := hotspots.Parse("p", planted(t, "cpu", noon, "5 ex.com/s/a.F@/other/place/a/f.go:3"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Checkout(dir+"/a", nil, []*hotspots.Profile{p})
	if err != nil || len(c.Files) != 1 || c.Files["a/f.go"] == nil {
		t.Fatalf("%+v %v", c, err)
	}
	if d := c.Files["a/f.go"].Decls; len(d) != 2 || d[0] != (hotspots.SourceFunc{Name: "F", Start: 3, End: 4,
		Body: true, Text: d[0].Text}) || d[1].Name != "T.M" || d[0].Text == "" || d[0].Text == d[1].Text {
		t.Errorf("%+v", d)
	}
}

// TestOtherBuild: A profile of another build than the checkout is said with both lines.
func TestOtherBuild(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/go.mod", []byte("module ex.com/s\n"))
	write(t, dir+"/a/f.go", []byte("package a\n\n\n\nfunc F() {\n}\n"))
	data, err := sketch.Sketch{Kind: "cpu", Seconds: 1, Build: "abcdef0123456789",
		Starts: map[string]int64{"ex.com/s/a.F": 3}, Stacks: []string{
			"50 ex.com/s/a.F@/ci/a/f.go:4", "20 ex.com/s/a.Gone@/ci/a/f.go:9",
		}}.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	p, err := hotspots.Parse("cpu.pprof", data)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Checkout(dir, nil, []*hotspots.Profile{p})
	if err != nil {
		t.Fatal(err)
	}
	c.Build = "fedcba9876543210"
	h, err := hotspots.Rank([]*hotspots.Profile{p}, hotspots.Options{Checkout: c})
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(h.Warnings, "\n")
	for _, want := range []string{"a/f.go:3 in the profile and at line 5 in the checkout", "abcdef012345",
		"fedcba987654", "a.Gone is in the profile"} {
		if !strings.Contains(said, want) {
			t.Errorf("no warning says %q:\n%s", want, said)
		}
	}
}
