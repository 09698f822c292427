//go:build !unix

package main

import (
	"errors"
	"os"
	"os/exec"
)

// replaceProcess runs a program where the system cannot put it in this one's place.
func replaceProcess(cmd *exec.Cmd) (int, error) {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return ended.ExitCode(), nil
	}
	return exitNo, err
}
