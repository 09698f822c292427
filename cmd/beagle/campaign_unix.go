//go:build unix

package main

import (
	"syscall"

	"github.com/beagle-go/beagle/internal/sandbox"
)

// processorSeconds returns the processor time of this process, of its children that have ended,
// and of sandboxed programs.
func processorSeconds() float64 {
	sum := sandbox.UncountedTime().Seconds()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
		}
	}
	return sum
}
