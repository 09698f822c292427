//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// become has this process go on as a program, so that signals and the end reach that. It returns
// only if it fails.
func become(cmd *exec.Cmd) (int, error) {
	return exitNo, syscall.Exec(cmd.Path, cmd.Args, os.Environ())
}
