package deliver

import (
	"context"
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

// TestAFullDisk fills the disk while the receiver is down. Payloads then wait in memory, and all of
// them are delivered in order, once each, when there is room.
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

// TestAFullDiskStopsNothing never makes room. A receiver that is up gets everything in order, from
// Run, which sleeps when the first payload comes, and from Finish.
func TestAFullDiskStopsNothing(t *testing.T) {
	dir := disktest.Mount(t, "1m")
	disktest.Fill(t, dir)
	got := make(chan string, 100)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
	}))
	s := senderIn(t, dir, 1<<30, Options{URL: url})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { s.Run(ctx); close(done) }()
	arrived := 0
	expect := func(n int) {
		for range n {
			if body := <-got; body != fmt.Sprint(arrived) {
				t.Fatalf("number %d is %s", arrived, body)
			}
			arrived++
		}
	}
	put := func(n int) {
		for i := range n {
			s.Put(Form{Path: "/x"}, []byte(fmt.Sprint(arrived+i)))
		}
	}
	for range 3 { // Run has nothing to do in between
		put(10)
		expect(10)
	}
	stop()
	<-done
	put(10)
	s.Finish(t.Context())
	expect(10)
	if stats := s.Stats(); stats.Sent != 40 || stats.Lost != 0 || stats.Held != 0 || stats.Queue.Items != 0 ||
		len(got) > 0 {
		t.Errorf("%+v", stats)
	}
}

// TestWhatIsBeingPostedStays overfills memory while the receiver holds the oldest payload. The next
// ones are dropped, and the oldest arrives once.
func TestWhatIsBeingPostedStays(t *testing.T) {
	dir := disktest.Mount(t, "1m")
	disktest.Fill(t, dir)
	asked, answer := make(chan byte), make(chan struct{})
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- body[0]
		<-answer
	}))
	s := senderIn(t, dir, 1<<30, Options{URL: url})
	put := func(i int) { s.Put(Form{}, append([]byte{byte(i)}, make([]byte, 1<<20)...)) }
	put(0)
	done := make(chan struct{})
	go func() { s.Finish(t.Context()); close(done) }()
	got := []byte{<-asked}
	for i := range 20 {
		put(i + 1)
	}
	close(answer)
	for range 14 {
		got = append(got, <-asked)
	}
	<-done
	if want := []byte{0, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}; !slices.Equal(got, want) {
		t.Errorf("got %d", got)
	}
	if stats := s.Stats(); stats.Sent != 15 || stats.Lost != 6 || stats.Held != 0 {
		t.Errorf("%+v", stats)
	}
}

// TestMemoryIsBoundedToo leaves the disk full. The oldest payloads are dropped, and the end counts
// the others.
func TestMemoryIsBoundedToo(t *testing.T) {
	dir := disktest.Mount(t, "1m")
	disktest.Fill(t, dir)
	s := senderIn(t, dir, 1<<30, Options{URL: "http://127.0.0.1:1"})
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
