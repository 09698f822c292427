package profiles

import (
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
)

// frame returns a frame of gRPC-Web.
func frame(flag byte, data []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{flag}, uint32(len(data))), data...)
}

// parcaServes answers as Parca does, by the messages that it publishes. It
// checks what it is asked for.
func parcaServes(t *testing.T, profile []byte, asked *[]string, trailer string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/prefix/parca.query.v1alpha1.QueryService/Query" ||
			r.Header.Get("Content-Type") != "application/grpc-web+proto" || len(body) < 5 {
			t.Errorf("%s %q %v", r.URL.Path, r.Header, err)
		}
		merge, _, err := field(body[5:], 3)
		if err != nil {
			t.Error(err)
		}
		query, _, _ := field(merge, 1)
		start, _, _ := field(merge, 2)
		_, kind, n := protowire.ConsumeTag(start)
		seconds, _ := protowire.ConsumeVarint(start[n:])
		if kind != protowire.VarintType {
			t.Errorf("start: %x", start)
		}
		*asked = append(*asked, string(query)+" "+time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339))
		w.Header().Set("Content-Type", "application/grpc-web+proto")
		if strings.HasPrefix(string(query), "memory:") || strings.HasPrefix(string(query), "block:") {
			w.Write(frame(0x80, []byte("grpc-status: 5\r\ngrpc-message: could not find profile\r\n")))
			return // the store has none of these kinds
		}
		if profile != nil {
			w.Write(frame(0, protowire.AppendBytes(protowire.AppendTag(nil, 6, protowire.BytesType), profile)))
		}
		w.Write(frame(0x80, []byte(trailer)))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestParca(t *testing.T) {
	var asked []string
	s := parcaServes(t, planted(t, "cpu", noon, "360000 ex.com/s.F@/f.go:1"), &asked, "grpc-status: 0\r\n")
	o := Options{Now: func() time.Time { return noon.Add(2 * time.Hour) }, Warn: func(text string) { t.Error(text) }}
	all, err := Read(t.Context(), []string{"parca+" + s.URL + "/prefix?service=intake&from=now-2h"}, o)
	if err != nil {
		t.Fatal(err)
	}
	// Each kind is asked for in each of two hours. The store has processor time and mutexes.
	if want := parcaTypes[0].id + `{job="intake"} 2026-11-02T12:00:00Z`; len(asked) != 8 || asked[0] != want {
		t.Errorf("asked %q, want eight, the first %q", asked, want)
	}
	if len(all) != 4 || all[1].Kind != hotspots.CPU || all[2].Kind != hotspots.Mutex || all[0].Group != all[3].Group {
		t.Errorf("%d profiles, want two of processor time and two of mutexes, of one group", len(all))
	}
	asked = nil
	typed := "parca+" + s.URL + `/prefix?query=parca_agent:samples{comm="s"}&from=now-1h`
	all, err = Read(t.Context(), []string{typed}, o)
	if err != nil || len(all) != 1 || len(asked) != 1 {
		t.Fatalf("a query that names a type: %d profiles, %v, asked %q", len(all), err, asked)
	}
	all, err = Read(t.Context(), []string{"parca+" + s.URL + "/prefix?service=intake&from=now-2h"}, o)
	if err != nil {
		t.Fatal(err)
	}
	h, err := hotspots.Rank(all, hotspots.Options{Checkout: &hotspots.Checkout{Module: "ex.com/s"}})
	if err != nil || h.Cores != 1 || len(h.Hotspots.Hotspots) != 1 {
		t.Errorf("an hour of processor time in each of two hours: %g cores, %v", h.Cores, err)
	}
}

func TestParcaRefused(t *testing.T) {
	for trailer, want := range map[string]string{
		"grpc-status: 5\r\ngrpc-message: could not find profile\r\n": "has no profiles",
		"grpc-status: 3\r\ngrpc-message: bad%20selector\r\n":         "bad selector",
		"":                   "without a status",
		"grpc-status: 0\r\n": "without a pprof profile",
		"grpc-status: 8\r\n": "for its size",
	} {
		var asked []string
		s := parcaServes(t, nil, &asked, trailer)
		_, err := Read(t.Context(), []string{"parca+" + s.URL + "/prefix?service=x&from=now-1h"}, Options{})
		var bad *beagle.UsageError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", trailer, err, want)
		}
	}
}
