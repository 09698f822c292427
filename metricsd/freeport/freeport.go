// Package freeport finds addresses for servers that tests and the demo start by their address.
package freeport

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// lowest is the first of count ports below those that systems give to sockets without a chosen port
// (from 32768 on Linux, 49152 elsewhere). Such a port could go to an outgoing connection after it
// was found free, before the server listens.
const lowest, count = 20000, 10000

// Address returns an address on loopback that nobody listens on, of network "tcp" or "udp". It is
// given once in an hour: a server may take seconds to listen.
func Address(network string) (string, error) {
	for range 100 {
		port := lowest + rand.N(count)
		address := fmt.Sprintf("127.0.0.1:%d", port)
		if claim(port) && isFree(network, address) {
			return address, nil
		}
	}
	return "", fmt.Errorf("no port from %d to %d is free at 127.0.0.1 for %s", lowest, lowest+count-1, network)
}

func isFree(network, address string) bool {
	if strings.HasPrefix(network, "udp") {
		c, err := net.ListenPacket(network, address)
		return err == nil && c.Close() == nil
	}
	l, err := net.Listen(network, address)
	return err == nil && l.Close() == nil
}

// claim makes the file that claims a port for an hour, and reports whether the port was unclaimed.
// Package porttest of Beagle makes and respects the same files.
func claim(port int) bool {
	dir := filepath.Join(os.TempDir(), "beagle-ports")
	os.MkdirAll(dir, 0o777)
	file := filepath.Join(dir, strconv.Itoa(port))
	if i, err := os.Stat(file); err == nil && time.Since(i.ModTime()) > time.Hour {
		os.Remove(file)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		f.Close()
	}
	return !errors.Is(err, fs.ErrExist) // where no file can be made, no port is claimed
}
