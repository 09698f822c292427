//go:build !unix

package capture

import "errors"

func outsideDir() (string, error) {
	return "", errors.New("uprobes are there on Linux only: build the service with beagle build --probe")
}
