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
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
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

// TestLiveUnreached checks that a service that does not answer gives one error, and no warning for
// each of its pages.
func TestLiveUnreached(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	var said []string
	_, err := Read(t.Context(), []string{s.URL}, Options{Warn: func(text string) { said = append(said, text) }})
	if err == nil || len(said) > 0 {
		t.Errorf("%v, and the warnings %q", err, said)
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
		if err != nil || len(dropped) == 0 || dropped[0].Cum <= 0 ||
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

// TestLiveSlices: a profile that is spread over a longer time is taken in slices of one instance,
// each in its own part of that time.
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
	const over = 9 * time.Second
	began := time.Now()
	var told []Progress
	all, err := Read(t.Context(), []string{s.URL + "/debug/pprof/profile"}, Options{Seconds: 3, Over: over,
		Progress: func(p Progress) { told = append(told, p) }})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"1", "1", "1"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q seconds, want %q", asked, want)
	}
	for i := range all {
		if all[i].Instance != all[0].Instance || all[i].Instance == "" {
			t.Errorf("slice %d is of %q", i, all[i].Instance)
		}
		if first := over / 3 * time.Duration(i); at[i].Sub(began) < first {
			t.Errorf("slice %d begins after %v, its part after %v", i, at[i].Sub(began), first)
		}
	}
	for i, p := range told {
		if p.Taken != i || p.Plan.Slices != 3 || p.Until.Sub(began) < over ||
			"http://"+p.Source != s.URL+"/debug/pprof/profile" {
			t.Errorf("progress %d is %+v", i, p)
		}
	}
	if len(told) != 4 {
		t.Errorf("progress was told %d times, want before and after each of 3 slices", len(told))
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
		path    string
		seconds int
		over    time.Duration
		fails   bool
		asked   []string
		slices  int
	}{
		{"/debug/pprof/profile", 3, 3100 * time.Millisecond, true, []string{"1", "1", "1"}, 2},
		{"/debug/pprof/profile?seconds=2", 30, 2100 * time.Millisecond, false, []string{"1", "1"}, 2},
		{"/debug/pprof/profile", 1, 2 * time.Second, false, []string{"1"}, 1},
		{"/debug/pprof/profile", 7, 0, false, []string{"7"}, 1},               // seconds alone are one piece
		{"/debug/pprof/profile?seconds=9", 0, 0, false, []string{"9"}, 1},     // so are those of an address
		{"/artifacts/cpu.pprof", 0, 0, false, []string{"30"}, 1},              // a file never changes
		{"/custom", 2, 2100 * time.Millisecond, false, []string{"1", "1"}, 2}, // unless the user says otherwise
	} {
		var said []string
		asked, failing = nil, c.fails
		all, err := Read(t.Context(), []string{s.URL + c.path}, Options{Seconds: c.seconds,
			Over: c.over, Warn: func(text string) { said = append(said, text) }})
		if err != nil || len(all) != c.slices || !slices.Equal(asked, c.asked) {
			t.Errorf("%d s of %s: %d slices, asked for %q, %v", c.seconds, c.path, len(all), asked, err)
		}
		text := strings.Join(said, "")
		if told := strings.Contains(text, "1 of 3 slices"); told != c.fails || strings.Count(text, "clock") != 1 {
			t.Errorf("%d s of %s: %q", c.seconds, c.path, said)
		}
	}
}

// stoppedIn starts a service whose user interrupts in a slice, counted from 1. allocs answers for
// what was allocated.
func stoppedIn(t *testing.T, slice int, stop func(), allocs func(http.ResponseWriter)) *httptest.Server {
	t.Helper()
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path.Base(r.URL.Path) {
		case "profile":
			if asked++; asked == slice {
				stop()
				<-r.Context().Done()
			}
			w.Write(planted(t, "cpu", time.Time{}, "50 ex.com/s/a.F@a/f.go:4"))
		case "allocs":
			allocs(w)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestLiveStopped: an interrupt ends a profile that is spread over a longer time. What was taken
// until then is the answer, with what was allocated meanwhile.
func TestLiveStopped(t *testing.T) {
	t.Parallel() // it waits
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	allocated := 100
	s := stoppedIn(t, 3, stop, func(w http.ResponseWriter) {
		w.Write(planted(t, "alloc", time.Time{}, fmt.Sprintf("%d ex.com/s/a.F@a/f.go:4", allocated)))
		allocated += 20
	})
	for _, early := range []bool{true, false} {
		var said []string
		o := Options{Seconds: 5, Over: 6 * time.Second, Early: early,
			Warn: func(text string) { said = append(said, text) }}
		all, err := Read(ctx, []string{s.URL}, o)
		if !early {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("an interrupt of all: %v", err)
			}
			break
		}
		if err != nil || len(all) != 3 || all[2].Kind != hotspots.Alloc || all[2].Samples() != 20 {
			t.Fatalf("%d profiles, %v", len(all), err)
		}
		if text := strings.Join(said, "\n"); !strings.Contains(text, "stopped after 2 of 5 slices") {
			t.Errorf("%q", said)
		}
	}
}

// TestLiveStoppedInPart: an interrupt keeps what was taken when the service does not tell any more
// what it allocated, and when another service has no slice yet.
func TestLiveStoppedInPart(t *testing.T) {
	t.Parallel() // it waits
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	allocated := 0
	s := stoppedIn(t, 2, stop, func(w http.ResponseWriter) {
		if allocated++; allocated > 1 {
			http.Error(w, "going down", http.StatusInternalServerError)
			return
		}
		w.Write(planted(t, "alloc", time.Time{}, "9 ex.com/s/a.F@a/f.go:4"))
	})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	defer slow.Close()
	var said []string
	var mu sync.Mutex
	all, err := Read(ctx, []string{s.URL, slow.URL + "/debug/pprof/profile"}, Options{Seconds: 5, Over: 6 * time.Second,
		Early: true, Warn: func(text string) { mu.Lock(); said = append(said, text); mu.Unlock() }})
	if err != nil || len(all) != 1 || all[0].Kind != hotspots.CPU {
		t.Fatalf("%d profiles, %v", len(all), err)
	}
	text := strings.Join(said, "\n")
	for _, want := range []string{
		"stopped after 1 of 5", "no allocs profile", slow.URL + "/debug/pprof/profile is left out",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the warnings lack %q: %s", want, text)
		}
	}
}

// TestLiveHangs: a service that hangs does not make a profile longer than its plan by more than two
// answers.
func TestLiveHangs(t *testing.T) {
	t.Parallel() // it waits
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked > 1 {
			<-r.Context().Done()
		}
		w.Write(planted(t, "cpu", time.Time{}, "50 ex.com/s/a.F@a/f.go:4"))
	}))
	defer s.Close()
	var said []string
	all, err := Read(t.Context(), []string{s.URL + "/debug/pprof/profile"}, Options{Seconds: 5,
		Over: 5100 * time.Millisecond, Warn: func(text string) { said = append(said, text) }, answer: 3 * time.Second})
	if err != nil || len(all) != 1 || asked > 4 {
		t.Errorf("%d profiles, asked %d times, %v", len(all), asked, err)
	}
	if text := strings.Join(said, "\n"); !strings.Contains(text, "ended after") ||
		!strings.Contains(text, "of 5 slices") || !strings.Contains(text, "failed") {
		t.Errorf("%q", said)
	}
}

// TestLiveSeconds: seconds of an address that cannot be followed are refused.
func TestLiveSeconds(t *testing.T) {
	for address, want := range map[string]string{
		"http://h/debug/pprof/profile?seconds=1m":  "no whole number",
		"http://h/debug/pprof/profile?seconds=0":   "no whole number",
		"http://h/debug/pprof/profile?seconds=":    "no whole number",
		"http://h/debug/pprof/profile?seconds=600": "more than --over 5m0s",
	} {
		_, err := Read(t.Context(), []string{address}, Options{Over: 5 * time.Minute})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
}

// TestLiveSums: a page of sums gives what happened during the profile, also when it is named alone.
// A service that starts again meanwhile has no such difference.
func TestLiveSums(t *testing.T) {
	t.Parallel() // it waits
	count, step := int64(1000), int64(7)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("seconds") {
			t.Errorf("%s asks for a delta", r.URL)
		}
		w.Write(planted(t, "block", noon, fmt.Sprintf("%d sync.(*Mutex).Unlock@m.go:1 ex.com/s/a.F@a/f.go:4", count)))
		count += step
	}))
	defer s.Close()
	o := Options{Seconds: 1}
	all, err := Read(t.Context(), []string{s.URL + "/debug/pprof/mutex"}, o)
	if err != nil || len(all) != 1 || all[0].Samples() != 7 || all[0].Seconds < 1 || all[0].Seconds > 900 ||
		all[0].Kind != hotspots.Mutex || !all[0].Start.Equal(noon) {
		t.Errorf("%+v, %v", all, err)
	}
	step = -500
	if _, err = Read(t.Context(), []string{s.URL + "/debug/pprof/mutex"}, o); err == nil ||
		!strings.Contains(err.Error(), "started again") {
		t.Errorf("counts fell: %v", err)
	}
}

// TestLiveSumsBegin: a service that did nothing before the profile tells all that it did. One that
// started again may count more than before, but less on some stacks.
func TestLiveSumsBegin(t *testing.T) {
	t.Parallel() // it waits
	taken := func(first, second []string) ([]*hotspots.Profile, error) {
		asked := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked > 1 {
				first = second
			}
			w.Write(planted(t, "alloc", noon, first...))
		}))
		defer s.Close()
		return Read(t.Context(), []string{s.URL + "/debug/pprof/allocs"}, Options{Seconds: 1})
	}
	const f, g = " ex.com/s/a.F@a/f.go:4", " ex.com/s/a.G@a/g.go:4"
	if all, err := taken(nil, []string{"7" + f}); err != nil || len(all) != 1 || all[0].Samples() != 7 {
		t.Errorf("after nothing: %+v, %v", all, err)
	}
	if _, err := taken([]string{"50" + f, "10" + g}, []string{"20" + f, "90" + g}); err == nil ||
		!strings.Contains(err.Error(), "started again") {
		t.Errorf("one stack fell: %v", err)
	}
	if all, err := taken([]string{"50" + f}, []string{"50" + f, "9" + g}); err != nil || all[0].Samples() != 9 {
		t.Errorf("one stack came: %+v, %v", all, err)
	}
}

// TestPlan: slices are short and many, and lie each in its own part of the time, at random places.
func TestPlan(t *testing.T) {
	for _, c := range []struct {
		seconds int
		over    time.Duration
		want    Plan
	}{
		{30, 0, Plan{Slices: 1, Seconds: 30}},
		{30, 30 * time.Second, Plan{Slices: 1, Seconds: 30}},
		{30, 5 * time.Minute, Plan{Slices: 30, Seconds: 1, Over: 5 * time.Minute}},
		{90, 10 * time.Minute, Plan{Slices: 45, Seconds: 2, Over: 10 * time.Minute}},
		{0, 0, Plan{Slices: 60, Seconds: 1, Over: DefaultOver, enough: true}},
		{0, 20 * time.Second, Plan{Slices: 4, Seconds: 1, Over: 20 * time.Second, enough: true}},
		{0, time.Hour, Plan{Slices: 60, Seconds: 1, Over: time.Hour, enough: true}},
	} {
		p := NewPlan(c.seconds, c.over)
		if p != c.want {
			t.Errorf("%d s over %v: %+v, want %+v", c.seconds, c.over, p, c.want)
		}
		for i := range p.Slices {
			from, to := p.stretch()*time.Duration(i), p.stretch()*time.Duration(i+1)
			if first, last := p.Moment(i, 0), p.Moment(i, 1); first != from ||
				p.Over > 0 && last+time.Duration(p.Seconds)*time.Second != to {
				t.Errorf("%+v: slice %d lies between %v and %v", p, i, first, last)
			}
		}
	}
	// A service that gives few samples is profiled for longer, up to half of the time.
	for rate, seconds := range map[float64]int{1000: 1, 84: 1, 60: 2, 1: 2, 0: 2} {
		if got := NewPlan(0, 0).Enough(rate).Seconds; got != seconds {
			t.Errorf("%g samples a second: slices of %d s, want %d", rate, got, seconds)
		}
	}
	if got := NewPlan(0, time.Hour).Enough(10).Seconds; got != 9 {
		t.Errorf("10 samples a second, in an hour: slices of %d s, want 9", got)
	}
	// A page of sums has no slices. Alone it is one piece, unless the user gives a time.
	for address, want := range map[string]time.Duration{
		"http://h/debug/pprof/mutex": 30 * time.Second, "http://h": DefaultOver, "http://h/debug/pprof": DefaultOver,
		"http://h/in/debug/pprof/profile": DefaultOver, "http://h/in/debug/pprof/": DefaultOver,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{}
		if pages, plan, err := o.pages(u); err != nil || plan.length() != want || len(pages) == 0 {
			t.Errorf("%s: %q in %v, want %v; %v", address, pages, plan.length(), want, err)
		}
	}
	if first := (&hotspots.Profile{Seconds: 0}); NewPlan(0, 0).adapt(first).Seconds != 1 {
		t.Error("a first slice of unknown length changes the plan")
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
