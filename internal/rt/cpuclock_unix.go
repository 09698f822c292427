//go:build unix

package rt

import (
	"runtime"
	"syscall"
	"unsafe"
)

// clockGettime is the number of the system call by architecture. The syscall
// package names it for Linux only, and this file must compile on every Unix.
var clockGettime = map[string]uintptr{
	"amd64": 228, "arm64": 113, "riscv64": 113, "loong64": 113, "ppc64": 246, "ppc64le": 246, "s390x": 260,
}

var gettime = func() uintptr {
	if runtime.GOOS != "linux" {
		return 0
	}
	return clockGettime[runtime.GOARCH]
}()

// Clocks of processor time, by their number in Linux.
const (
	ofProcess = 2
	ofThread  = 3
)

// cpuClock returns the processor time of the calling thread or of all threads in nanoseconds, or -1
// where there is no such clock. It does not tell the scheduler of the call: entering and leaving a
// system call properly would disturb what is measured.
func cpuClock(which uintptr) int64 {
	if gettime == 0 {
		return -1
	}
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(gettime, which, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return -1
	}
	return ts.Nano()
}

// ThreadCPU returns the processor time of the calling thread in nanoseconds, or -1 where there is
// no such clock.
func ThreadCPU() int64 { return cpuClock(ofThread) }
