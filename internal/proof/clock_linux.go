package proof

import (
	"runtime"
	"syscall"
	"time"
)

// threadUsage asks for the times of the calling thread.
const threadUsage = 1

// startClock measures the processor time of the calling goroutine, which keeps
// its thread until stop is called.
func startClock() (now func() time.Duration, stop func()) {
	runtime.LockOSThread()
	used := func() time.Duration {
		var u syscall.Rusage
		if syscall.Getrusage(threadUsage, &u) != nil {
			return 0
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	begin := used()
	return func() time.Duration { return used() - begin }, runtime.UnlockOSThread
}
