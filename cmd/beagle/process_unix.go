//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup has a command end with all that it started.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// become has this process go on as a program, so that signals and the end reach that. It returns
// only if it fails.
func become(cmd *exec.Cmd) (int, error) {
	return exitNo, syscall.Exec(cmd.Path, cmd.Args, os.Environ())
}
