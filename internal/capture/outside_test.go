package capture

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// TestAlive: a program that answers late is alive, and the socket of a dead one is not.
func TestAlive(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		time.Sleep(1500 * time.Millisecond)
		c.Write([]byte(`{"error":"another token"}` + "\n"))
		c.Close()
	}()
	if !alive(t.Context(), socket, "x") {
		t.Error("a program that answers late counts as dead")
	}
	l.Close()
	if alive(t.Context(), socket, "x") {
		t.Error("a socket that a program left counts as a program")
	}
}

// TestAliveCanceled: an interrupt ends the wait for a program that never answers.
func TestAliveCanceled(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan struct{}) // when the request has ended
	go func() {
		defer close(ended)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		interrupt()
		io.Copy(io.Discard, c)
	}()
	if alive(ctx, socket, "x") {
		t.Error("a program that never answers counts as alive")
	}
	select {
	case <-ended:
		t.Error("the wait went on until the request ended by itself")
	default:
	}
	l.Close()
}
