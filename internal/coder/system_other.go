//go:build !unix

package coder

import (
	"os"
	"runtime"

	"github.com/beagle-go/beagle"
)

// Possible returns why there are no agents here: the command line is the shell's, and what an agent
// starts could not be ended with it.
func Possible() error {
	return &beagle.UsageError{
		What: "coding agents (--agent) need a Unix system, and this is " + runtime.GOOS,
		Remedy: "run Beagle on Linux, in a container or a virtual machine as with WSL, or let models write " +
			"candidates: --model",
	}
}

// noBlock and noFollow are no flags here: files are opened as they are.
const noBlock, noFollow = 0, 0

func killOne(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
	}
}
