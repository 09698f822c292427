//go:build unix

package inplace

import "syscall"

// makePipe makes a named pipe, through which processes pass the baton.
func makePipe(name string) error { return syscall.Mkfifo(name, 0o600) }
