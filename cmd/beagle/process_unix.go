//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// replaceProcess has this process go on as a program, so that signals and the end reach that. It
// returns only if it fails.
func replaceProcess(cmd *exec.Cmd) (int, error) {
	return exitNo, syscall.Exec(cmd.Path, cmd.Args, os.Environ())
}
