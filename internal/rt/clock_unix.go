//go:build unix

package rt

import (
	"syscall"
	"time"
)

// ProcessCPU returns the processor time of all threads, collector included; where the system does
// not tell, the time since the start.
func ProcessCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return time.Since(processBegan)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
