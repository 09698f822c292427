//go:build unix

package runner

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a command into a process group, so that it can be stopped with
// all that it started.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
