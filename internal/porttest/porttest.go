// Package porttest finds ports for servers that a test starts by their number.
package porttest

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// lowest is the first of count ports below those that systems give to sockets that ask for none
// (from 32768 on Linux, 49152 elsewhere). One of these could go to an outgoing connection after
// it was found free, before the server listens.
const lowest, count = 20000, 10000

// Free returns a port of an address that nobody listens on. No other test gets it before this one
// ends, though its server may take seconds to listen.
func Free(t testing.TB, ip string) int {
	t.Helper()
	for range 100 {
		port := lowest + rand.N(count)
		file, ok := claim(port)
		if !ok {
			continue
		}
		if l, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(port))); err == nil {
			l.Close()
			t.Cleanup(func() { os.Remove(file) })
			return port
		}
		os.Remove(file)
	}
	t.Fatalf("no port from %d to %d is free at %s", lowest, lowest+count-1, ip)
	return 0
}

// claim makes the file that claims a port, and reports whether nobody else has. The claim of a test
// that was killed ends after an hour. Package freeport of metricsd makes and heeds the same files.
func claim(port int) (file string, ok bool) {
	dir := filepath.Join(os.TempDir(), "beagle-ports")
	os.MkdirAll(dir, 0o777)
	file = filepath.Join(dir, strconv.Itoa(port))
	if i, err := os.Stat(file); err == nil && time.Since(i.ModTime()) > time.Hour {
		os.Remove(file)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		f.Close()
	}
	// Where no file can be made, nothing is claimed.
	return file, !errors.Is(err, fs.ErrExist)
}

// Several returns n ports of an address that nobody listens on; see [Free].
func Several(t testing.TB, ip string, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		ports = append(ports, Free(t, ip))
	}
	return ports
}

// Address returns an address on loopback that nobody listens on.
func Address(t testing.TB) string {
	t.Helper()
	const home = "127.0.0.1"
	return net.JoinHostPort(home, strconv.Itoa(Free(t, home)))
}
