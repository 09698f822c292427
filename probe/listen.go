package probe

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/beagle-go/beagle/probe/wire"
)

// Variables of the environment. A program that `beagle build` made opens its door when the first
// two are set.
const (
	EnvSocket = "BEAGLE_PROBE_SOCKET" // path of the Unix socket to listen on
	EnvToken  = "BEAGLE_PROBE_TOKEN"  // file that holds the token
	EnvRaw    = "BEAGLE_PROBE_RAW"    // "1" allows controllers to record text as it is
)

// A Door is an open way for controllers.
type Door struct {
	l     net.Listener
	token string
	do    carrier
	seats chan struct{}
}

const (
	maxConnections = 8
	patience       = 30 * time.Second // for a request to arrive, and for a reply to be taken
)

// Listen opens a Unix socket that only this user may use, and serves controllers that have the
// token until the Door is closed. A file that another process left at the path is removed.
func Listen(path, token string) (*Door, error) { return process.listen(path, token) }

func (p *prober) listen(path, token string) (*Door, error) { return listen(path, token, p.carryOut) }

// listen opens a Unix socket for controllers. It replaces a socket that no process listens at.
func listen(path, token string, do carrier) (*Door, error) {
	if err := checkToken(token); err != nil {
		return nil, err
	}
	if st, err := os.Lstat(path); err == nil && st.Mode()&os.ModeSocket != 0 {
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
			return nil, fmt.Errorf("%s: another process listens there", path)
		}
		os.Remove(path)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	d := &Door{l: l, token: token, do: do, seats: make(chan struct{}, maxConnections)}
	go d.accept()
	return d, nil
}

// Close ends the listening. A session that is alive ends when its controller stays away.
func (d *Door) Close() error { return d.l.Close() }

func (d *Door) accept() {
	for {
		c, err := d.l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(100 * time.Millisecond) // perhaps out of files
			continue
		}
		select {
		case d.seats <- struct{}{}:
			go d.serve(c)
		default:
			c.Close()
		}
	}
}

// serve answers the requests of one connection, a line each.
func (d *Door) serve(c net.Conn) {
	defer func() {
		c.Close()
		<-d.seats
		_ = recover() // a fault of ours ends the connection and not the service
	}()
	in := bufio.NewScanner(c)
	in.Buffer(make([]byte, 0, 4096), wire.MaxRequest+1)
	for {
		c.SetDeadline(time.Now().Add(patience))
		if !in.Scan() {
			return
		}
		if _, err := c.Write(serve(d.token, in.Bytes(), d.do)); err != nil {
			return
		}
	}
}

var fromEnvironment sync.Once

// FromEnvironment opens the door that the environment asks for, once. Without [EnvSocket] it does
// nothing. A failure is printed and leaves the probe off.
func FromEnvironment() {
	fromEnvironment.Do(func() {
		path := os.Getenv(EnvSocket)
		if path == "" {
			return
		}
		token, err := os.ReadFile(os.Getenv(EnvToken))
		if err == nil {
			_, err = Listen(strings.ReplaceAll(path, "%p", fmt.Sprint(os.Getpid())), strings.TrimSpace(string(token)))
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "beagle probe: off: %v; check %s and %s\n", err, EnvSocket, EnvToken)
		}
	})
}
