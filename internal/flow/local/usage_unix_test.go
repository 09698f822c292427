//go:build unix

package local

import (
	"syscall"
	"time"
)

// processorTime is what this process has used, the collector included.
func processorTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
