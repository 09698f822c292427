// Package freeport finds addresses for servers that tests and the demo start by their address.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
)

// lowest is the first of count ports below those that systems give to sockets that ask for none
// (from 32768 on Linux, 49152 elsewhere). One of these could go to an outgoing connection after
// it was found free, before the server listens.
const lowest, count = 20000, 10000

// Address returns an address on loopback that nobody listens on, of network "tcp" or "udp".
func Address(network string) (string, error) {
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", lowest+rand.N(count))
		if free(network, address) {
			return address, nil
		}
	}
	return "", fmt.Errorf("no port from %d to %d is free at 127.0.0.1 for %s", lowest, lowest+count-1, network)
}

func free(network, address string) bool {
	if strings.HasPrefix(network, "udp") {
		c, err := net.ListenPacket(network, address)
		return err == nil && c.Close() == nil
	}
	l, err := net.Listen(network, address)
	return err == nil && l.Close() == nil
}
