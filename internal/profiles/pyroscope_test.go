package profiles

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/hotspots/sketch"
)

// A store answers Pyroscope's calls by method. The module pyroscopetest beside
// this package has the same with the real messages and the real client.
type store map[string]func(message []byte, tenant string) (int, []byte)

func (s store) serve(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		body, err := io.ReadAll(r.Body)
		answer := s[method]
		if err != nil || answer == nil || r.Header.Get("Connect-Protocol-Version") != "1" {
			http.NotFound(w, r)
			return
		}
		status, data := answer(body, r.Header.Get("X-Scope-OrgID"))
		w.Header().Set("Content-Type", "application/proto")
		if status != http.StatusOK {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		w.Write(data)
	}))
	t.Cleanup(server.Close)
	return "pyroscope+" + server.URL
}

// raw returns a profile as a message of Pyroscope has it: not packed.
func raw(t *testing.T, stacks ...string) []byte {
	t.Helper()
	p, err := sketch.Sketch{Kind: "cpu", Stacks: stacks}.Profile()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	return []byte(b.String())
}

func inField(number protowire.Number, data []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), data)
}

func isCPU(message []byte) bool {
	id, _, _ := field(message, 1)
	return strings.HasPrefix(string(id), "process_cpu:")
}

// TestPyroscopeSlices: A window whose answer is too large is asked for in halves.
func TestPyroscopeSlices(t *testing.T) {
	asked := 0
	profile := raw(t, "180000 ex.com/s.F@/f.go:1") // half an hour of processor time
	source := store{"SelectMergeStacktraces": func(m []byte, tenant string) (int, []byte) {
		if !isCPU(m) || tenant != "team" {
			return http.StatusOK, nil
		}
		if asked++; asked == 1 {
			return http.StatusTooManyRequests, []byte(`{"code":"resource_exhausted","message":"larger than max"}`)
		}
		return http.StatusOK, inField(5, inField(1, profile))
	}, "SelectMergeProfile": func([]byte, string) (int, []byte) { return http.StatusOK, nil }}.serve(t)
	all, err := Read(t.Context(), []string{source + "?service=intake&from=now-1h&tenant=team"},
		Options{Now: func() time.Time { return noon }})
	if err != nil || len(all) != 2 || asked != 3 {
		t.Fatalf("%d profiles, %d questions, %v", len(all), asked, err)
	}
	h, err := hotspots.Rank(all, hotspots.Options{Checkout: &hotspots.Checkout{Module: "ex.com/s"}})
	if err != nil || h.Cores != 1 {
		t.Errorf("%g cores, %v", h.Cores, err)
	}
}

// TestPyroscopeOld: servers before the pprof format answer by another call.
func TestPyroscopeOld(t *testing.T) {
	profile := raw(t, "360000 ex.com/s.F@/f.go:1")
	source := store{
		"SelectMergeStacktraces": func([]byte, string) (int, []byte) { return http.StatusOK, inField(1, []byte("x")) },
		"SelectMergeProfile": func(m []byte, _ string) (int, []byte) {
			if isCPU(m) {
				return http.StatusOK, profile
			}
			return http.StatusOK, nil
		},
	}.serve(t)
	all, err := Read(t.Context(), []string{source + "?service=intake"}, Options{})
	if err != nil || len(all) != 1 || all[0].Kind != hotspots.CPU || !all[0].Whole {
		t.Errorf("%+v %v", all, err)
	}
}

func TestPyroscopeRefused(t *testing.T) {
	fails := func(status int, code string) store {
		return store{"SelectMergeStacktraces": func([]byte, string) (int, []byte) {
			return status, fmt.Appendf(nil, `{"code":%q,"message":"as it says"}`, code)
		}}
	}
	empty := func([]byte, string) (int, []byte) { return http.StatusOK, nil }
	for want, s := range map[string]store{
		"tenant=ID":          fails(401, "unauthenticated"),
		"correct the query":  fails(400, "invalid_argument"),
		"version of the":     fails(429, "resource_exhausted"),
		"without /ui":        {},
		"does not answer as": {"SelectMergeStacktraces": func([]byte, string) (int, []byte) { return 200, []byte{0xff} }},
		"services intake, shop": {"SelectMergeStacktraces": empty, "SelectMergeProfile": empty,
			"LabelValues": func([]byte, string) (int, []byte) {
				return 200, append(inField(1, []byte("intake")), inField(1, []byte("shop"))...)
			}},
		`"other"`: {"SelectMergeStacktraces": func([]byte, string) (int, []byte) {
			return 200, inField(5, inField(1, raw(t, "95 ex.com/s.F@/f.go:1", "5 other@:0 ex.com/s.F@/f.go:1")))
		}},
	} {
		_, err := Read(t.Context(), []string{s.serve(t) + "?service=nobody"}, Options{})
		var bad *beagle.UsageError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for source, want := range map[string]string{
		"pyroscope+http://h":                          "names no service",
		"pyroscope+http://h?service=x&form=now":       `unknown parameter "form"`,
		"pyroscope+http://h?service=x&from=yesterday": `invalid time "yesterday"`,
		"pyroscope+http://h?service=x&from=now-90d":   "longer than a month",
		"pyroscope+http://h?service=x&nodes=many":     "invalid nodes",
	} {
		if _, err := Read(t.Context(), []string{source}, Options{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
	}
}

func FuzzStoreAnswers(f *testing.F) {
	f.Add([]byte{}, "")
	f.Add(frame(0, []byte{0x32, 1, 0}), "0")
	f.Add(frame(0x80, []byte("grpc-status: 0\r\n")), "")
	q, err := storeSource("http://h?service=x", "job", Options{Now: time.Now})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte, status string) {
		message, err := (&parcaServer{q, Options{}}).unframe(data, http.Header{"Grpc-Status": {status}})
		if err == nil {
			fields(message, 6)
		}
		fields(data, 5)
	})
}
