package listen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Stream accepts connections on a Unix stream socket. Each carries frames: a
// length of 4 bytes, little end first, then that many bytes, which are like one
// datagram.
type Stream struct {
	listener *net.UnixListener
	maxFrame int
	maxConns int

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
	wg     sync.WaitGroup
}

// OpenStream opens the socket. Frames of more than maxFrame bytes end their
// connection, and more than maxConns connections are turned away.
func OpenStream(path string, maxFrame, maxConns int) (*Stream, error) {
	if err := clearPath("unix", path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on unix %s: %w; choose another path", path, err)
	}
	s := &Stream{
		listener: l.(*net.UnixListener),
		maxFrame: maxFrame,
		maxConns: maxConns,
		conns:    make(map[net.Conn]struct{}),
	}
	if err := writable(path); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return s, nil
}

// Address returns the socket's path.
func (s *Stream) Address() string { return s.listener.Addr().String() }

// FrameError is a frame that broke the protocol; its connection is closed.
type FrameError struct {
	Length int
	Max    int
	Err    error
}

// Error names the frame and the limit.
func (e *FrameError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("frame of %d bytes: %v; the client must send a frame whole", e.Length, e.Err)
	}
	return fmt.Sprintf("frame of %d bytes, at most %d are taken; let the client send smaller payloads", e.Length, e.Max)
}

// ErrTooManyConnections says that a connection was turned away.
var ErrTooManyConnections = errors.New("too many connections; raise listen.stream_connections or close idle clients")

// Serve accepts until Close. For each connection it calls open on a goroutine of its own, with the
// process at the other end, or 0. It calls the returned handler for every frame. It calls failed
// for frames that broke the protocol and for connections that were turned away.
func (s *Stream) Serve(open func(pid int32) (frame func([]byte)), failed func(error)) error {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			s.wg.Wait()
			return err
		}
		if !s.enter(conn) {
			failed(ErrTooManyConnections)
			conn.Close()
			continue
		}
		s.wg.Go(func() {
			defer s.leave(conn)
			if err := s.frames(conn, open(peer(conn))); err != nil {
				failed(err)
			}
		})
	}
}

func (s *Stream) enter(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.conns) >= s.maxConns {
		return false
	}
	s.conns[conn] = struct{}{}
	return true
}

func (s *Stream) leave(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, conn)
	conn.Close()
}

// frames reads frames until the connection ends. Its end between frames, and
// Close on this side, are no errors.
func (s *Stream) frames(conn net.Conn, handle func([]byte)) error {
	r := window{conn: &lastBytes{conn, mostHeld}, buffer: make([]byte, s.maxFrame)}
	for {
		header, err := r.next(4)
		if err != nil {
			return nil
		}
		n := binary.LittleEndian.Uint32(header)
		if int64(n) > int64(s.maxFrame) {
			return &FrameError{Length: int(n), Max: s.maxFrame}
		}
		frame, err := r.next(int(n))
		if err != nil {
			return &FrameError{Length: int(n), Max: s.maxFrame, Err: err}
		}
		handle(frame)
	}
}

// mostHeld is more than the kernel holds of a connection.
const mostHeld = 16 << 20

// lastBytes reads a connection. After the grace of Close it takes what the kernel holds, without
// waiting: this process may have got no processor until then.
type lastBytes struct {
	net.Conn
	left int // bytes to take then: a fast sender could go on for ever
}

func (c *lastBytes) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 || c.left == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	n, err = queuedBytes(c.Conn, b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}

// window is the part of a connection's bytes that is in memory. It reads as many as there are, so
// that small frames do not cost two system calls each.
type window struct {
	conn     io.Reader
	buffer   []byte
	from, to int // what was read and not yet returned
}

// next returns the next n bytes, at most as many as the buffer holds. They are valid until the next
// call. The error is io.EOF only before the first of them.
func (w *window) next(n int) ([]byte, error) {
	if w.from+n > len(w.buffer) {
		w.to = copy(w.buffer, w.buffer[w.from:w.to])
		w.from = 0
	}
	if have := w.to - w.from; have < n {
		read, err := io.ReadAtLeast(w.conn, w.buffer[w.to:], n-have)
		w.to += read
		if err != nil {
			if have > 0 && err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	w.from += n
	return w.buffer[w.from-n : w.from], nil
}

// Connections returns how many connections are open.
func (s *Stream) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// grace is the time in which connections may still deliver bytes after Close. Those that the kernel
// holds then are taken too.
const grace = 100 * time.Millisecond

// Close stops accepting, and lets the connections deliver bytes for a moment. Serve returns when
// their handlers are done with all bytes.
func (s *Stream) Close() error {
	err := s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for conn := range s.conns {
		conn.SetReadDeadline(time.Now().Add(grace))
	}
	return err
}
