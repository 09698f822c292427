package capture

import (
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
	if !alive(socket, "x") {
		t.Error("a program that answers late counts as dead")
	}
	l.Close()
	if alive(socket, "x") {
		t.Error("a socket that a program left counts as a program")
	}
}
