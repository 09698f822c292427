//go:build unix

package rollout

import "syscall"

// processorNanos returns the processor time of the process so far, user and system.
func processorNanos() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano() + u.Stime.Nano())
}
