//go:build !linux

package listen

import (
	"errors"
	"net"
	"os"
	"syscall"
)

type systemBatch struct{}

func (b *Batch) prepare() {}

// Receive waits for one datagram.
func (s *Socket) Receive(b *Batch) (n int, err error) {
	b.sizes[0], _, err = s.conn.ReadFrom(b.buffers[0])
	b.truncated[0] = b.sizes[0] == len(b.buffers[0])
	if err != nil {
		return 0, err
	}
	return 1, nil
}

// Queued returns nothing: it cannot look without waiting here, and datagrams that the kernel holds
// are lost.
func (s *Socket) Queued(*Batch) (int, error) { return 0, nil }

// queuedBytes returns nothing, for the same reason.
func queuedBytes(net.Conn, []byte) (int, error) { return 0, os.ErrDeadlineExceeded }

const canSpread = false

func spread(string, string, syscall.RawConn) error { return errors.ErrUnsupported }

func (s *Socket) setBuffer(conn packetConn, size int) error { return conn.SetReadBuffer(size) }

func (s *Socket) wantCredentials() error { return nil }

func peer(net.Conn) int32 { return 0 }

// Status returns an error: only Linux reports it.
func (s *Socket) Status() (Status, error) { return Status{}, errors.ErrUnsupported }
