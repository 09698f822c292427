package web

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestSlowSendersAreCutOff has a sender that never sends the rest of its body. Reading the body
// fails, so that its place becomes free.
func TestSlowSendersAreCutOff(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	s := serve(l, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		read <- err
	}), 50*time.Millisecond)
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
	if err := <-read; err == nil {
		t.Error("half a body was taken for a whole one")
	}
	if err := s.Stop(time.Minute); err != nil {
		t.Error(err)
	}
}
