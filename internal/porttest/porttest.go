// Package porttest finds ports for servers that a test starts by their number.
package porttest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// lowest is the first of count ports below those that systems give to sockets that ask for none
// (from 32768 on Linux, 49152 elsewhere). One of these could go to an outgoing connection after
// it was found free, before the server listens.
const lowest, count = 20000, 10000

// Free returns a port of an address that nobody listens on.
func Free(t testing.TB, ip string) int {
	t.Helper()
	for range 100 {
		port := lowest + rand.N(count)
		if l, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(port))); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatalf("no port from %d to %d is free at %s", lowest, lowest+count-1, ip)
	return 0
}

// Address returns an address on loopback that nobody listens on.
func Address(t testing.TB) string {
	t.Helper()
	const home = "127.0.0.1"
	return net.JoinHostPort(home, strconv.Itoa(Free(t, home)))
}
