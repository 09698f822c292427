package deliver

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/beagle-go/beagle/metricsd/disk/disktest"
	"github.com/beagle-go/beagle/metricsd/queue"
)

// TestAFullDisk fills the disk while the receiver is away: what comes meanwhile waits in
// memory, and all of it is delivered in order, once each, when there is room.
func TestAFullDisk(t *testing.T) {
	dir := disktest.Mount(t, "1m")
	var away atomic.Bool
	var got []string
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		got = append(got, string(body[:4]))
	}))
	q, err := queue.Open(dir, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	s, err := New(Options{URL: url}, q, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	put := func(n int) {
		for range n {
			want = append(want, fmt.Sprintf("%04d", len(want)))
			s.Put(Form{Path: "/x"}, []byte(want[len(want)-1]+strings.Repeat("x", 2000)))
		}
	}
	away.Store(true)
	put(10)
	room := disktest.Fill(t, dir)
	put(10)
	if stats := s.Stats(); stats.Held != 10 || stats.Queue.Items != 10 || stats.Lost != 0 {
		t.Errorf("on a full disk: %+v", stats)
	}
	if !strings.Contains(log.String(), "is the disk full? Make room") {
		t.Errorf("the operator is not told what to do: %s", log.String())
	}
	room()
	put(1)
	if stats := s.Stats(); stats.Held != 0 || stats.Queue.Items != 21 {
		t.Errorf("when there is room: %+v", stats)
	}
	away.Store(false)
	s.Finish(t.Context())
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestMemoryIsBoundedToo leaves the disk full: the oldest payloads go, and the end counts
// the others.
func TestMemoryIsBoundedToo(t *testing.T) {
	dir := disktest.Mount(t, "1m")
	disktest.Fill(t, dir)
	q, err := queue.Open(dir, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{URL: "http://127.0.0.1:1"}, q, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		s.Put(Form{}, make([]byte, 1<<20))
	}
	if stats := s.Stats(); stats.Held != 15 || stats.Lost != 5 {
		t.Errorf("%+v", stats)
	}
	s.Finish(t.Context())
	if stats := s.Stats(); stats.Held != 0 || stats.Lost != 20 {
		t.Errorf("at the end: %+v", stats)
	}
}
