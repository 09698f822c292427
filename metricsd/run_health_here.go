package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/metricsd/config"
)

// serviceAddresses returns where each running service answers /healthz, by the flags, the
// environment and the file that it was started with. A service is a process of this program. proc
// is where the kernel shows the processes that this user may see: in a container, the container's.
func serviceAddresses(proc string) (addresses []string, _ error) {
	// Recognise the running program by its file, not its name: another program may be called
	// metricsd, and an updated one has the name but other flags.
	self, err := os.Stat(filepath.Join(proc, "self", "exe"))
	if err != nil {
		return nil, fmt.Errorf("processes cannot be looked at: %w", err)
	}
	running := false
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		dir := filepath.Join(proc, e.Name())
		// Directories of proc that are no numbers are no processes.
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		if program, err := os.Stat(filepath.Join(dir, "exe")); err != nil || !os.SameFile(program, self) {
			continue
		}
		// Commands such as this one, load or parse serve nothing.
		args := words(filepath.Join(dir, "cmdline"))
		if len(args) < 2 || args[1] != "all" && args[1] != "agent" && args[1] != "intake" {
			continue
		}
		running = true
		// The process read its settings as this code does, from its own environment, so the result
		// is the same.
		loader, err := config.NewLoader(args[1], args[2:], words(filepath.Join(dir, "environ")), io.Discard)
		if err != nil {
			return nil, fmt.Errorf("process %s: %w", e.Name(), err)
		}
		c, err := loader.Load()
		if err != nil {
			return nil, fmt.Errorf("process %s: %w", e.Name(), err)
		}
		addresses = append(addresses, verbAddresses(args[1], c)...)
	}
	// A service without HTTP has no address: it runs, and nobody can ask it.
	if !running {
		return nil, errors.New("no metricsd agent, intake or all of this user runs here")
	}
	return addresses, nil
}

// words splits a file of the kernel into strings, each of which ends with a NUL.
func words(file string) []string {
	text, _ := os.ReadFile(file) // of a process that has just ended there is none
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// verbAddresses returns the addresses at which a configuration makes a verb answer.
func verbAddresses(verb string, c config.Config) (addresses []string) {
	if verb != "intake" && c.HTTP != "" {
		addresses = append(addresses, localAddress(c.HTTP))
	}
	if verb != "agent" {
		addresses = append(addresses, localAddress(c.Intake.HTTP))
	}
	return addresses
}

// localAddress returns an address at which this machine reaches a listener, whose own address may
// stand for all of the machine's.
func localAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "", err == nil && ip == netip.IPv4Unspecified():
		host = "127.0.0.1"
	case err == nil && ip == netip.IPv6Unspecified():
		host = "::1"
	}
	return net.JoinHostPort(host, port)
}
