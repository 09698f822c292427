//go:build !linux

package main

import "errors"

func attach(options) (func(), error) {
	return nil, errors.New("uprobes are there on Linux only: build the service with beagle build --probe")
}
