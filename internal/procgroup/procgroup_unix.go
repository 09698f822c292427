//go:build unix

// Package procgroup ends a command with all that it started. On systems without process groups it
// ends the command alone.
package procgroup

import (
	"os/exec"
	"syscall"
)

// Lead lets a command lead a process group of its own.
func Lead(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Own lets a command of [exec.CommandContext] lead a group that ends with its context.
func Own(c *exec.Cmd) {
	Lead(c)
	c.Cancel = func() error { return Kill(c.Process.Pid) }
}

// Kill ends the group of a leader.
func Kill(leader int) error { return syscall.Kill(-leader, syscall.SIGKILL) }
