package listen

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func send(t *testing.T, network, address string, datagrams ...string) {
	t.Helper()
	c, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, d := range datagrams {
		if _, err := c.Write([]byte(d)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDatagrams(t *testing.T) {
	for network, address := range map[string]string{"udp": "127.0.0.1:0", "unixgram": filepath.Join(t.TempDir(), "s")} {
		s, err := Open(network, address, Options{ReceiveBuffer: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		send(t, network, s.Address(), "one", "", "three", strings.Repeat("x", 70))
		batch, got, cut := NewBatch(4, 64), "", 0
		for count := 0; count < 4; {
			n, err := s.Receive(batch)
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				d, truncated := batch.Datagram(i)
				got += string(d) + ";"
				if truncated {
					cut++
				}
			}
			count += n
		}
		if want := "one;;three;" + strings.Repeat("x", 64) + ";"; got != want || cut != 1 {
			t.Errorf("%s: got %q, %d cut; want %q, 1 cut", network, got, cut, want)
		}
		testStop(t, s, batch)
		s.Close()
		if _, err := s.Receive(batch); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: after Close: %v", network, err)
		}
	}
}

// testStop checks that after Stop nothing that the kernel holds is lost.
func testStop(t *testing.T, s *Socket, batch *Batch) {
	t.Helper()
	send(t, s.Network(), s.Address(), "last", "words")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Receive(batch); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after Stop: %v", err)
	}
	if runtime.GOOS != "linux" {
		return
	}
	if n, err := s.Queued(batch); n != 2 || err != nil {
		t.Errorf("queued %d, %v; want 2", n, err)
	}
	if n, err := s.Queued(batch); n != 0 || err != nil {
		t.Errorf("queued %d, %v; want 0", n, err)
	}
}

func TestKernelDropsAreCounted(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	s, err := Open("udp", "127.0.0.1:0", Options{ReceiveBuffer: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := net.Dial("udp", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 200 {
		c.Write([]byte(strings.Repeat("x", 1000)))
	}
	status, err := s.Status()
	if err != nil || status.Drops == 0 || status.Queued == 0 || status.Buffer < 4096 {
		t.Errorf("got %+v, %v", status, err)
	}
}

func TestPathsInTheWay(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	stale, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open("unixgram", path, Options{}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a socket in use: %v", err)
	}
	stale.Close() // a closed unixgram socket stays in the directory
	s, err := Open("unixgram", path, Options{})
	if err != nil {
		t.Errorf("a socket left behind: %v", err)
	} else {
		s.Close()
	}
	file := filepath.Join(dir, "file")
	os.WriteFile(file, []byte("keep"), 0o600)
	if _, err := Open("unixgram", file, Options{}); err == nil || !strings.Contains(err.Error(), "another file") {
		t.Errorf("a file: %v", err)
	}
	if kept, _ := os.ReadFile(file); string(kept) != "keep" {
		t.Error("the file is gone")
	}
}

func TestPortInUse(t *testing.T) {
	s, err := Open("udp", "127.0.0.1:0", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := Open("udp", s.Address(), Options{}); err == nil || !strings.Contains(err.Error(), s.Address()) {
		t.Errorf("got %v", err)
	}
}

// recorder keeps the frames of a stream's handlers.
type recorder struct {
	mu     sync.Mutex
	frames []string
	errs   []string
}

func (r *recorder) open(int32) func([]byte) {
	return func(b []byte) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.frames = append(r.frames, string(b))
	}
}

func (r *recorder) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err.Error())
}

func (r *recorder) counts() (frames, errs int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.frames), len(r.errs)
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 6000 { // a minute: machines may be busy
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}

func frame(s string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(s))), s...)
}

func TestStream(t *testing.T) {
	s, err := OpenStream(filepath.Join(t.TempDir(), "s"), 64, 2)
	if err != nil {
		t.Fatal(err)
	}
	var r recorder
	served := make(chan error)
	go func() { served <- s.Serve(r.open, r.failed) }()
	c, err := net.Dial("unix", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	// A frame may come in pieces, and several in one piece.
	both := append(frame("first"), frame("second")...)
	c.Write(both[:6])
	time.Sleep(10 * time.Millisecond)
	c.Write(both[6:])
	waitFor(t, "two frames", func() bool { n, _ := r.counts(); return n == 2 })
	c.Write(frame(strings.Repeat("x", 65)))
	waitFor(t, "the error", func() bool { _, n := r.counts(); return n == 1 })
	waitFor(t, "the connection's end", func() bool { return s.Connections() == 0 })

	half, _ := net.Dial("unix", s.Address())
	half.Write(frame("not all")[:7])
	half.Close()
	waitFor(t, "the half frame", func() bool { _, n := r.counts(); return n == 2 })
	waitFor(t, "its connection's end", func() bool { return s.Connections() == 0 })
	testTooMany(t, s, &r)
	s.Close()
	if err := <-served; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve ended with %v", err)
	}
	if got := fmt.Sprint(r.frames); got != "[first second]" {
		t.Errorf("got %s", got)
	}
}

// TestClosedStream closes a stream whose handler is slower than the grace. What the kernel holds of
// the connection is handed over all the same.
func TestClosedStream(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere a connection cannot be emptied without waiting")
	}
	s, err := OpenStream(filepath.Join(t.TempDir(), "s"), 64, 1)
	if err != nil {
		t.Fatal(err)
	}
	first, release, got := make(chan struct{}), make(chan struct{}), 0
	served := make(chan error)
	open := func(int32) func([]byte) {
		return func([]byte) {
			if got++; got == 1 {
				close(first)
				<-release
			}
		}
	}
	go func() { served <- s.Serve(open, func(err error) { t.Error(err) }) }()
	c, err := net.Dial("unix", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const frames = 1000
	if _, err := c.Write(bytes.Repeat(frame("a:1|c"), frames)); err != nil {
		t.Fatal(err)
	}
	<-first
	s.Close()
	time.Sleep(2 * grace)
	close(release)
	<-served
	if got != frames {
		t.Errorf("%d of %d frames came", got, frames)
	}
}

func testTooMany(t *testing.T, s *Stream, r *recorder) {
	t.Helper()
	for range 3 {
		c, err := net.Dial("unix", s.Address())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
	}
	waitFor(t, "the refusal", func() bool { _, n := r.counts(); return n == 3 })
	if s.Connections() != 2 {
		t.Errorf("%d connections, want 2", s.Connections())
	}
}

// FuzzFrames writes any bytes to a stream. Every whole frame is handed over, none is longer than
// allowed, and a violation of the protocol ends the connection.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("\x05\x00\x00\x00a:1|c\x00\x00\x00\x00"))
	f.Add([]byte("\xff\xff\xff\xffx"))
	f.Fuzz(func(t *testing.T, in []byte) {
		near, far := net.Pipe()
		defer far.Close()
		go func() {
			near.Write(in)
			near.Close()
		}()
		var got []byte
		s := &Stream{maxFrame: 64}
		err := s.frames(far, func(frame []byte) {
			if len(frame) > 64 {
				t.Errorf("a frame of %d bytes", len(frame))
			}
			got = append(binary.LittleEndian.AppendUint32(got, uint32(len(frame))), frame...)
		})
		if !bytes.HasPrefix(in, got) {
			t.Errorf("%q was read as %q", in, got)
		}
		if rest := len(in) - len(got); err == nil && rest >= 4 {
			t.Errorf("%d bytes were read over, and nothing said", rest)
		}
	})
}

// TestSpreadSockets sends from several senders to several sockets of one address. Nothing is lost,
// each sender's datagrams come to one socket and in order, and more than one socket gets some.
func TestSpreadSockets(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux spreads")
	}
	const senders, each = 32, 20
	sockets, err := OpenSpread("127.0.0.1:0", 4, Options{ReceiveBuffer: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer CloseAll(sockets)
	if s, err := Open("udp", sockets[0].Address(), Options{}); err == nil {
		s.Close()
		t.Error("an address in use was opened again")
	}
	if s, err := OpenSpread(sockets[0].Address(), 2, Options{}); err == nil {
		CloseAll(s)
		t.Error("another agent would share the address")
	}
	for sender := range senders {
		var datagrams []string
		for i := range each {
			datagrams = append(datagrams, fmt.Sprintf("%d %d", sender, i))
		}
		send(t, "udp", sockets[0].Address(), datagrams...)
	}
	next, home, used := map[int]int{}, map[int]int{}, map[int]bool{}
	batch := NewBatch(16, 64)
	for at, s := range sockets {
		for n, err := s.Queued(batch); n > 0; n, err = s.Queued(batch) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				var sender, number int
				datagram, _ := batch.Datagram(i)
				fmt.Sscan(string(datagram), &sender, &number)
				if next[sender] != number || number > 0 && home[sender] != at {
					t.Errorf("datagram %d of sender %d came to socket %d, want %d of socket %d", number, sender, at,
						next[sender], home[sender])
				}
				next[sender], home[sender], used[at] = number+1, at, true
			}
		}
	}
	for sender := range senders {
		if next[sender] != each {
			t.Errorf("sender %d: %d of %d datagrams came", sender, next[sender], each)
		}
	}
	if len(used) < 2 {
		t.Errorf("%d of %d sockets were used", len(used), len(sockets))
	}
}
