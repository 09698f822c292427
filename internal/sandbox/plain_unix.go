//go:build unix && !linux

package sandbox

import (
	"os/exec"
	"syscall"
)

// killGroup makes the end of the context end all that the command started.
func killGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
