package rt

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// clockGettime is the number of the system call by architecture. The syscall
// package names it for Linux only, and this file must compile everywhere.
var clockGettime = map[string]uintptr{
	"amd64": 228, "arm64": 113, "riscv64": 113, "loong64": 113, "ppc64": 246, "ppc64le": 246, "s390x": 260,
}

var threadClock = func() uintptr {
	if runtime.GOOS != "linux" {
		return 0
	}
	return clockGettime[runtime.GOARCH]
}()

// threadCPU is the processor time of the calling thread in nanoseconds, or -1
// where there is no such clock. It does not tell the scheduler of the call:
// entering and leaving a system call properly would disturb what is measured.
func threadCPU() int64 {
	if threadClock == 0 {
		return -1
	}
	const clockThreadCPUTime = 3
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(threadClock, clockThreadCPUTime, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return -1
	}
	return ts.Nano()
}

var processBegan = time.Now()

// processCPU is the processor time of all threads, collector included; where
// the system does not tell, the time since the start.
func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return time.Since(processBegan)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A ballastNode is a typical small heap object: 64 bytes, a quarter of them
// pointers.
type ballastNode struct {
	next, other *ballastNode
	_           [6]uint64
}

// collectionCost is what a collection costs for each byte that is live. With
// GOGC at its default of 100 one byte is marked for each byte allocated, so it
// is also what a byte costs that a call allocates: garbage itself is never
// marked, it only brings the next collection nearer. The live heap of the
// user's service is unknown; a ballast of small linked objects stands for it.
func collectionCost() float64 {
	const nodes = 1 << 18 // 16 MB
	runtime.GC()
	bare := collect(3)
	ballast := make([]*ballastNode, nodes)
	for i := range ballast {
		ballast[i] = &ballastNode{other: ballast[i*7/8]}
		if i > 0 {
			ballast[i].next = ballast[i-1]
		}
	}
	runtime.GC()
	full := collect(3)
	runtime.KeepAlive(ballast)
	size := nodes * (unsafe.Sizeof(ballastNode{}) + unsafe.Sizeof(ballast[0]))
	return max(float64(full-bare), 0) / float64(size)
}

// collect is the processor time of the cheapest of n collections.
func collect(n int) time.Duration {
	best := time.Duration(1 << 62)
	for range n {
		before := processCPU()
		runtime.GC()
		best = min(best, processCPU()-before)
	}
	return best
}
