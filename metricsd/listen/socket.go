package listen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"
)

// Options are for a datagram socket.
type Options struct {
	// ReceiveBuffer is the size to ask the kernel for; 0 leaves the default.
	ReceiveBuffer int
	// Spread lets other sockets of this user be opened on the same UDP address, among which the
	// kernel spreads the senders (SO_REUSEPORT). Only Linux does.
	Spread bool
	// Credentials asks the kernel for the sending process of each datagram of a Unix socket. Only
	// Linux has them.
	Credentials bool
}

// Socket is a datagram socket.
type Socket struct {
	network, address string
	conn             net.PacketConn
	raw              syscall.RawConn
	credentials      bool // of senders, if asked for
}

// packetConn is what *net.UDPConn and *net.UnixConn have in common.
type packetConn interface {
	net.PacketConn
	syscall.Conn
	SetReadBuffer(bytes int) error
}

// Open opens a socket; network is "udp" or "unixgram". A Unix socket that a
// process left behind is replaced, one that is in use is not.
func Open(network, address string, o Options) (*Socket, error) {
	// The path stays when a process ends without removing it, and would block the next one.
	if network == "unixgram" {
		if err := clearPath(network, address); err != nil {
			return nil, err
		}
	}
	config := new(net.ListenConfig)
	// Sockets that share a port must set the option before they are bound.
	if o.Spread {
		config.Control = spread
	}
	c, err := config.ListenPacket(context.Background(), network, address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s %s: %w; choose another address or stop who uses it", network, address, err)
	}
	conn := c.(packetConn)
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	s := &Socket{network: network, address: c.LocalAddr().String(), conn: c, raw: raw}
	// The kernel may grant less than asked; the agent warns then.
	if o.ReceiveBuffer > 0 {
		if err := s.setBuffer(conn, o.ReceiveBuffer); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	// Any user of the machine may send; the kernel names the sender's container.
	if network == "unixgram" {
		err = writable(address)
		if s.credentials = o.Credentials; s.credentials {
			err = errors.Join(err, s.wantCredentials())
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return s, nil
}

// OpenSpread opens a UDP socket for each of several receivers, all on one address. The kernel gives
// all datagrams of a sender to the same socket, so that they keep their order. Where it cannot,
// there is one socket for all.
func OpenSpread(address string, receivers int, o Options) (sockets []*Socket, err error) {
	first, err := Open("udp", address, o) // alone at first: another process may listen there
	if err != nil {
		return nil, err
	}
	if receivers == 1 || !canSpread {
		return []*Socket{first}, nil
	}
	address, o.Spread = first.Address(), true
	if err := first.Close(); err != nil {
		return nil, err
	}
	for range receivers {
		s, err := Open("udp", address, o)
		if err != nil {
			return nil, errors.Join(err, CloseAll(sockets))
		}
		sockets = append(sockets, s)
	}
	return sockets, nil
}

// CloseAll closes sockets.
func CloseAll(sockets []*Socket) error {
	var errs []error
	for _, s := range sockets {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// clearPath removes a socket that nobody listens on. Anything else at the path
// is left alone.
func clearPath(network, path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("listen on %s %s: another file is in the way; choose another path", network, path)
	}
	if c, err := net.Dial(network, path); err == nil {
		c.Close()
		return fmt.Errorf("listen on %s %s: another process listens there; stop it or choose another path",
			network, path)
	}
	return os.Remove(path)
}

// writable lets every user of the machine send, as DogStatsD clients expect; the directory's mode
// decides who may reach it.
func writable(path string) error { return os.Chmod(path, 0o722) }

// Network returns "udp" or "unixgram".
func (s *Socket) Network() string { return s.network }

// Address returns where the socket listens, with the port that was chosen for port 0.
func (s *Socket) Address() string { return s.address }

// Stop makes Receive return os.ErrDeadlineExceeded, now and from now on. Queued then reads the
// datagrams that the kernel holds.
func (s *Socket) Stop() error { return s.conn.SetReadDeadline(time.Now()) }

// Close closes the socket; Receive returns net.ErrClosed.
func (s *Socket) Close() error { return s.conn.Close() }

// Status is what the kernel says about a socket.
type Status struct {
	// Drops are the datagrams lost for lack of room since the socket was opened.
	Drops uint64
	// Queued and Buffer are in the kernel's bytes, which count its own overhead.
	Queued, Buffer uint64
}

// Batch is the memory for one batch of datagrams.
type Batch struct {
	buffers   [][]byte
	sizes     []int
	truncated []bool
	pids      []int32
	system    systemBatch
}

// NewBatch makes room for count datagrams of at most size bytes.
func NewBatch(count, size int) *Batch {
	b := &Batch{sizes: make([]int, count), truncated: make([]bool, count), pids: make([]int32, count)}
	for range count {
		b.buffers = append(b.buffers, make([]byte, size))
	}
	b.prepare()
	return b
}

// Datagram returns the i-th datagram of the last batch, and whether it was cut off for lack of
// room. It is valid until the next Receive.
func (b *Batch) Datagram(i int) (datagram []byte, truncated bool) {
	return b.buffers[i][:b.sizes[i]], b.truncated[i]
}

// PID returns the process that sent the i-th datagram of the last batch; 0 when it is not known.
func (b *Batch) PID(i int) int32 { return b.pids[i] }
