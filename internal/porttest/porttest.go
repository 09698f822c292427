// Package porttest finds ports for servers that a test starts by their number.
package porttest

import (
	"encoding/json"
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

// Free returns a port of an address without a listener. No other test gets it before this one ends,
// though its server may take seconds to listen.
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

// claim makes the file that claims a port, and reports whether this test made it. The claim of a
// killed test ends after an hour. Package freeport of metricsd makes and heeds the same files.
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

// ForTemporal gives a Temporal server for tests, by the file of its database, ports on loopback for
// its services, which it keeps in a file beside that. Those that it finds by itself could go to
// another test before it listens on them.
func ForTemporal(t testing.TB, db string) {
	t.Helper()
	var ports [8]int
	for i := range ports {
		ports[i] = Free(t, "127.0.0.1")
	}
	text, _ := json.Marshal(ports) // numbers
	if err := os.WriteFile(db+".ports", text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Address returns a loopback address without a listener.
func Address(t testing.TB) string {
	t.Helper()
	const home = "127.0.0.1"
	return net.JoinHostPort(home, strconv.Itoa(Free(t, home)))
}
