//go:build unix

package main

import (
	"runtime"
	"syscall"
)

// peakOf returns the peak memory of a process, or of the largest process that it waited for, in
// bytes; 0 where the system does not report it.
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
