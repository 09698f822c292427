//go:build !unix

// Package procgroup ends a command with all that it started. On systems without process groups it
// ends the command alone.
package procgroup

import (
	"os"
	"os/exec"
)

// Lead changes nothing: there are no groups.
func Lead(*exec.Cmd) {}

// Own changes nothing: the context ends the command alone.
func Own(*exec.Cmd) {}

// Kill ends the leader alone.
func Kill(leader int) error {
	p, err := os.FindProcess(leader)
	if err != nil {
		return err
	}
	return p.Kill()
}
