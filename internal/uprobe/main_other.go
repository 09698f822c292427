//go:build !linux

package uprobe

import "errors"

var errLinux = errors.New("uprobes are there on Linux only: build the service with beagle build --probe")

// Available returns why this program can't attach uprobes.
func Available() error { return errLinux }

func attach(options) (func(), error) { return nil, errLinux }
