package capture

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/probe/probehttp"
	"github.com/beagle-go/beagle/probe/wire"
)

// target writes a module with a function and loads it.
func target(t *testing.T) *source.Unit {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.24\n",
		"p.go":   "package m\n\nfunc F(tag string, list []string) int { return len(tag) + len(list) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	u, err := source.Load(t.Context(), source.Options{Dir: dir, Spec: "F"})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// args encodes the two arguments of F, of which the first is given as it is on the wire.
func args(tag []byte, list ...string) []byte {
	b := []byte{wire.TagStruct, 2, 2, 'A', '0', 2, 'A', '1'}
	b = append(b, tag...)
	b = append(b, wire.TagList, byte(len(list)), 0)
	for _, s := range list {
		b = append(b, wire.TagString, byte(len(s)))
		b = append(b, s...)
	}
	return b
}

func hole(h wire.Hole, part string) []byte {
	b := []byte{wire.TagHole, h.Reason, h.Kind, h.Class}
	for _, n := range []uint64{h.Len, h.Spare, h.Hash} {
		b = binary.AppendUvarint(b, n)
	}
	if part == "" {
		return append(b, 0)
	}
	return append(append(b, 1, wire.TagString, byte(len(part))), part...)
}

func site(types ...string) wire.Site {
	s := wire.Site{Name: "example.com/m.F", Armed: true, Counts: &wire.Counts{Taken: 10, Calls: 1000}}
	for _, typ := range types {
		s.Params = append(s.Params, wire.Type{Name: "x", Type: typ})
	}
	return s
}

// TestConvert: calls of two processes become one corpus, with what each stands for, where it comes
// from, and why calls are missing.
func TestConvert(t *testing.T) {
	u := target(t)
	text := append([]byte{wire.TagString, 3}, "env"...)
	shape := hole(wire.Hole{Reason: wire.Shape, Kind: wire.TagString, Class: wire.Lower | wire.Punct, Len: 9,
		Hash: 77}, "")
	long := hole(wire.Hole{Reason: wire.Cut, Kind: wire.TagString, Len: 7}, "abc")
	secret := hole(wire.Hole{Reason: wire.Redacted, Kind: wire.TagString, Len: 4}, "")
	gone := hole(wire.Hole{Reason: wire.Pointer, Kind: wire.TagPtr}, "")
	st := wire.Status{Process: wire.Process{PID: 1, Host: "h1", Program: "svc", Build: "abc"},
		Sites: []wire.Site{site("string", "[]string")}, Session: &wire.Session{Armed: []string{"example.com/m.F"}}}
	other := st
	other.Process.Host = "h2"
	events := []wire.Event{{Args: args(text, "b")}, {Args: args(shape)}, {Args: args(shape)}, {Args: args(long)},
		{Args: args(secret)}, {Args: args(gone)}, {Args: args(text), Flags: wire.Shared}, {Site: 5, Args: args(text)},
		{Args: args(text, "b"), Flags: wire.NoReturn}}
	r, err := Convert(u, []Pulled{{Status: st, Events: events}, {Status: other, Events: events[:1]}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.List) != 7 || r.MadeUp != 4 || r.Seen.Dropped != 2 || r.Seen.Calls != 900 || r.Seen.Panics != 100 {
		t.Errorf("%d records, %d made up, %+v", len(r.List), r.MadeUp, r.Seen)
	}
	why := strings.Join(r.Seen.Why, "\n")
	if !strings.Contains(why, "behind a pointer") || !strings.Contains(why, "share memory") {
		t.Errorf("left out for %q", why)
	}
	from := strings.Join(r.Seen.Sources, "\n")
	if !strings.Contains(from, "process 1 on h1, build abc") || !strings.Contains(from, "on h2") {
		t.Errorf("sources %q", from)
	}
	c, err := corpus.Observed(u, r.List, r.Seen)
	if err != nil {
		t.Fatal(err)
	}
	n := len(c.Train) + len(c.Holdout)
	if n != 4 || c.Calls != 900 || c.Facets.Panics != 1 || c.Facets.Params[0].Len[4] != 9 {
		t.Errorf("%d distinct calls, %+v", n, c.Facets)
	}
	reload(t, u, r)
}

// reload writes the records as a file and reads it as evolve --corpus does.
func reload(t *testing.T, u *source.Unit, r *Records) {
	t.Helper()
	var b bytes.Buffer
	if err := corpus.WriteProvenance(&b, r.Seen.Sources); err != nil {
		t.Fatal(err)
	}
	if err := corpus.Write(&b, u, corpus.Merge(r.List)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	records, err := corpus.Load(u, path)
	if err != nil || len(records) != 4 {
		t.Errorf("%d records: %v\n%s", len(records), err, b.Bytes())
	}
	sources, err := corpus.Provenance(path)
	if err != nil || len(sources) != len(r.Seen.Sources) {
		t.Errorf("%q %v", sources, err)
	}
	if !strings.Contains(b.String(), `"abcabca"`) || !strings.Contains(b.String(), `"xxxx"`) {
		t.Errorf("a cut text or a secret is not made up:\n%s", b.Bytes())
	}
}

func TestConvertOtherVersion(t *testing.T) {
	u := target(t)
	st := wire.Status{Sites: []wire.Site{site("string", "[]int")}}
	const want = "another version of example.com/m.F: it takes (string, []int) there and (string, []string) here"
	if _, err := Convert(u, []Pulled{{Address: "here", Status: st}}); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	st.Sites = nil
	if _, err := Convert(u, []Pulled{{Status: st}}); err == nil ||
		!strings.Contains(err.Error(), "no process has the site") {
		t.Errorf("%v", err)
	}
}

// TestMadeUp: made-up text has the length and the classes of the original.
func TestMadeUp(t *testing.T) {
	for class := range 64 {
		for _, n := range []uint64{1, 2, 9, 40} {
			h := wire.Hole{Reason: wire.Shape, Class: byte(class), Len: n, Hash: 12345}
			text := fakeText(h)
			if uint64(len(text)) != n || !bytes.Equal(text, fakeText(h)) {
				t.Errorf("class %b, length %d: %q", class, n, text)
			}
			if !utf8.Valid(text) {
				t.Errorf("class %b is valid, %q is not", class, text)
			}
		}
	}
	h := wire.Hole{Reason: wire.Shape, Class: wire.Lower, Len: 12, Hash: 1}
	a := fakeText(h)
	h.Hash = 2
	if bytes.Equal(a, fakeText(h)) {
		t.Errorf("different texts are both %q", a)
	}
	if text := fakeText(wire.Hole{Reason: wire.Shape, Class: wire.Invalid, Len: 3}); utf8.Valid(text) {
		t.Errorf("%q is valid", text)
	}
}

// TestHTTP: the handler serves those who have the token, by POST alone.
func TestHTTP(t *testing.T) {
	server := httptest.NewServer(probehttp.Handler(testToken))
	defer server.Close()
	c := &Client{Address: server.URL, token: testToken}
	r, _, err := c.Do(t.Context(), wire.Request{Verb: wire.VerbStatus})
	if err != nil || len(r.Status.Sites) == 0 {
		t.Errorf("%+v %v", r, err)
	}
	c.token = "wrong"
	if _, _, err := c.Do(t.Context(), wire.Request{Verb: wire.VerbStatus}); err == nil ||
		!strings.Contains(err.Error(), "token") {
		t.Errorf("%v", err)
	}
	if got, err := http.Get(server.URL); err != nil || got.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %v %v", got, err)
	}
	server.Config.Handler = http.NotFoundHandler()
	if _, _, err := c.Do(t.Context(), wire.Request{Verb: wire.VerbStatus}); err == nil ||
		!strings.Contains(err.Error(), "404") {
		t.Errorf("%v", err)
	}
}

// TestLostProcess: a process that goes away is reported, and does not end the capture of the
// others.
func TestLostProcess(t *testing.T) {
	alive := open(t)
	gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(`{"lease":"x","status":{"process":{},"sites":[]}}` + "\n"))
	}))
	rounds := 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := &Hold{Start: wire.Start{Sites: []string{"p.Ask"}}, Long: patience, every: 5 * time.Millisecond,
		Watch: func(all []Pulled) {
			if rounds++; rounds == 2 {
				gone.Close()
			}
			if all[1].Lost != "" {
				cancel()
			}
		}}
	all, err := h.Run(ctx, []*Client{alive, {Address: gone.URL, token: testToken}})
	if err != nil || all[0].Lost != "" || all[1].Lost == "" {
		t.Errorf("%+v %v", all, err)
	}
	r, _, err := alive.Do(t.Context(), wire.Request{Verb: wire.VerbStatus})
	if err != nil || r.Status.Session != nil {
		t.Errorf("a session is left: %+v %v", r, err)
	}
}

// TestConvertResults: results become part of the records. They do not where a part of them, or of
// the arguments, was not recorded; the reasons are counted.
func TestConvertResults(t *testing.T) {
	u := target(t)
	text := append([]byte{wire.TagString, 3}, "env"...)
	shape := hole(wire.Hole{Reason: wire.Shape, Kind: wire.TagString, Class: wire.Lower, Len: 3}, "")
	result := func(v ...byte) []byte { return append([]byte{wire.TagStruct, 1, 2, 'R', '0'}, v...) }
	four := result(wire.TagInt, 8)
	st := wire.Status{Sites: []wire.Site{site("string", "[]string")},
		Session: &wire.Session{Armed: []string{"example.com/m.F"}}}
	r, err := Convert(u, []Pulled{{Status: st, Events: []wire.Event{
		{Args: args(text, "b"), Flags: wire.HasResults, Results: four},
		{Args: args(text)},
		{Args: args(shape), Flags: wire.HasResults, Results: four},
		{Args: args(text, "c"), Flags: wire.HasResults, Results: result(hole(wire.Hole{Reason: wire.Pointer}, "")...)},
		{Args: args(text, "d"), Flags: wire.HasResults, Results: append(text[:0:0], text...)},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.List) != 5 || r.Answered != 1 || r.List[0].Results == nil {
		t.Errorf("%d records, %d with results", len(r.List), r.Answered)
	}
	for _, rec := range r.List[1:] {
		if rec.Results != nil {
			t.Errorf("results %q", rec.Results)
		}
	}
	mute := strings.Join(r.Mute, "\n")
	for _, want := range []string{"made up in part", "behind a pointer", "not the results of F"} {
		if !strings.Contains(mute, want) {
			t.Errorf("%q is not among the reasons:\n%s", want, mute)
		}
	}
}

// TestLeave: a parameter that no record holds is left out on request, and only that one.
func TestLeave(t *testing.T) {
	u := target(t)
	gone := hole(wire.Hole{Reason: wire.Pointer, Kind: wire.TagPtr}, "")
	text := append([]byte{wire.TagString, 3}, "env"...)
	st := wire.Status{Sites: []wire.Site{site("string", "[]string")},
		Session: &wire.Session{Armed: []string{"example.com/m.F"}}}
	calls := []Pulled{{Status: st, Events: []wire.Event{{Args: args(gone, "b")}, {Args: args(text, "b")}}}}
	for leave, kept := range map[int]int{0: 2, 1: 1} {
		r, err := Convert(u, calls, leave)
		if err != nil || len(r.List) != kept || r.Seen.Dropped != 2-kept || r.MadeUp != 0 {
			t.Errorf("without parameter %d: %+v %v", leave, r, err)
		}
		if leave == 0 && r != nil && len(corpus.Merge(r.List)) != 1 {
			t.Errorf("they differ in what is left out: %+v", r.List)
		}
	}
}
