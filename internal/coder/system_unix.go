//go:build unix

package coder

import "syscall"

// Possible is nil: agents run on every Unix, and are ended best on Linux.
func Possible() error { return nil }

// Flags for files that an agent may have touched: never wait for a pipe's writer, never follow a
// link.
const (
	noBlock  = syscall.O_NONBLOCK
	noFollow = syscall.O_NOFOLLOW
)

func killOne(pid int) { syscall.Kill(pid, syscall.SIGKILL) }
