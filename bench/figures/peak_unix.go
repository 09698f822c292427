//go:build unix

package main

import (
	"runtime"
	"syscall"
)

// peakOf returns the memory of the largest of a process and those that it waited for, in bytes; 0
// where the system does not say.
func peakOf(usage any) int64 {
	u, ok := usage.(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin": // bytes
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) * 1024
}
