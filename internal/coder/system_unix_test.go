//go:build unix

package coder

import "syscall"

// makePipe makes a pipe with a name.
func makePipe(path string) error { return syscall.Mkfifo(path, 0o644) }
