package listen

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// message is struct mmsghdr, which x/sys/unix does not have.
type message struct {
	header unix.Msghdr
	length uint32
}

// systemBatch points into the batch's buffers; the kernel writes there.
type systemBatch struct {
	messages []message
	vectors  []unix.Iovec
	controls [][]byte // room for the senders' credentials
}

func (b *Batch) prepare() {
	b.system.messages = make([]message, len(b.buffers))
	b.system.vectors = make([]unix.Iovec, len(b.buffers))
	b.system.controls = make([][]byte, len(b.buffers))
	for i, buffer := range b.buffers {
		vector := &b.system.vectors[i]
		vector.Base = &buffer[0]
		vector.SetLen(len(buffer))
		header := &b.system.messages[i].header
		header.Iov = vector
		header.SetIovlen(1)
		b.system.controls[i] = make([]byte, unix.CmsgSpace(unix.SizeofUcred))
		header.Control = &b.system.controls[i][0]
	}
}

// offer sets the room for credentials, which the kernel has overwritten with the used length. There
// must be no more room than they take, and none when nobody asks for them: otherwise the kernel
// would put files there that a sender passes, and they would stay open.
func (b *Batch) offer(credentials bool) {
	for i := range b.system.messages {
		room := 0
		if credentials {
			room = len(b.system.controls[i])
		}
		b.system.messages[i].header.SetControllen(room)
	}
}

// Receive waits for at least one datagram and returns how many there were.
func (s *Socket) Receive(b *Batch) (n int, err error) {
	var failed error
	b.offer(s.credentials)
	err = s.raw.Read(func(fd uintptr) (done bool) {
		n, failed = recvmmsg(fd, b.system.messages)
		return failed != unix.EAGAIN
	})
	if err == nil {
		err = failed
	}
	b.note(n)
	return n, err
}

// Queued takes datagrams that the kernel holds, without waiting; 0 when there are none.
func (s *Socket) Queued(b *Batch) (n int, err error) {
	var failed error
	b.offer(s.credentials)
	err = s.raw.Control(func(fd uintptr) { n, failed = recvmmsg(fd, b.system.messages) })
	if err == nil && failed != unix.EAGAIN {
		err = failed
	}
	b.note(n)
	return n, err
}

// queuedBytes takes bytes of a connection that the kernel holds, without waiting. Where it holds
// none, the error is that of a deadline.
func queuedBytes(conn net.Conn, b []byte) (n int, err error) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return 0, os.ErrDeadlineExceeded
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	if err = raw.Control(func(fd uintptr) { n, _, failed = unix.Recvfrom(int(fd), b, unix.MSG_DONTWAIT) }); err != nil {
		return 0, err
	}
	switch {
	case failed == unix.EAGAIN:
		return 0, os.ErrDeadlineExceeded
	case failed != nil:
		return 0, failed
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// note copies the kernel's notes on n datagrams.
func (b *Batch) note(n int) {
	for i := range n {
		b.sizes[i] = int(b.system.messages[i].length)
		header := &b.system.messages[i].header
		b.truncated[i] = header.Flags&unix.MSG_TRUNC != 0
		b.pids[i] = sender(b.system.controls[i][:header.Controllen])
	}
}

// sender reads the credentials that came with a datagram.
func sender(control []byte) int32 {
	if len(control) == 0 {
		return 0
	}
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0
	}
	for i := range messages {
		if len(messages[i].Data) < unix.SizeofUcred { // the parser reads the container itself
			continue
		}
		if c, err := unix.ParseUnixCredentials(&messages[i]); err == nil {
			return c.Pid
		}
	}
	return 0
}

func (s *Socket) wantCredentials() error {
	var failed error
	err := s.raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1)
	})
	return errors.Join(err, failed)
}

// peer returns the process at the other end of a connection, as it was when it connected.
func peer(conn net.Conn) (pid int32) {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0
	}
	raw.Control(func(fd uintptr) {
		if c, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = c.Pid
		}
	})
	return pid
}

// recvmmsg never waits, so it may be called without telling the scheduler. Telling it would wake a
// thread of the runtime each time after a pause, which cost a quarter to a third of the agent's
// time at 50,000 messages a second.
func recvmmsg(fd uintptr, messages []message) (int, error) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&messages[0])),
			uintptr(len(messages)), unix.MSG_DONTWAIT, 0, 0)
		runtime.KeepAlive(messages)
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
			continue
		}
		return 0, errno
	}
}

const canSpread = true

func spread(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	})
	return errors.Join(err, failed)
}

// setBuffer first asks with the privilege to exceed net.core.rmem_max. Without it the kernel grants
// at most that.
func (s *Socket) setBuffer(conn packetConn, size int) error {
	var forced error
	err := s.raw.Control(func(fd uintptr) {
		forced = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, size)
	})
	if err == nil && forced != nil {
		err = conn.SetReadBuffer(size)
	}
	return err
}

// The places of the figures in SO_MEMINFO, from linux/sock_diag.h.
const (
	memRmemAlloc = 0
	memRcvbuf    = 1
	memDrops     = 8
	memVars      = 9
)

// Status asks the kernel. Its counter of drops has 32 bits and wraps.
func (s *Socket) Status() (Status, error) {
	var vars [memVars]uint32
	size := uint32(unsafe.Sizeof(vars))
	var errno syscall.Errno
	err := s.raw.Control(func(fd uintptr) {
		_, _, errno = unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_MEMINFO,
			uintptr(unsafe.Pointer(&vars)), uintptr(unsafe.Pointer(&size)), 0)
	})
	if err == nil && errno != 0 {
		err = errno
	}
	return Status{Drops: uint64(vars[memDrops]), Queued: uint64(vars[memRmemAlloc]), Buffer: uint64(vars[memRcvbuf])},
		err
}
