//go:build go1.21

package live

import (
	"syscall"
	"unsafe"

	"github.com/beagle-go/beagle/internal/rt"
)

const ofThread = 1 // RUSAGE_THREAD

// readThread reads the clocks of the calling thread.
func readThread() reading {
	var u syscall.Rusage
	_, _, errno := syscall.RawSyscall(syscall.SYS_GETRUSAGE, ofThread, uintptr(unsafe.Pointer(&u)), 0)
	id, _, _ := syscall.RawSyscall(syscall.SYS_GETTID, 0, 0, 0)
	if errno != 0 {
		return reading{cpu: -1}
	}
	return reading{threadCPU(), int(id), int64(u.Nvcsw)}
}

// threadCPU returns the processor time of the calling thread.
func threadCPU() int64 { return rt.ThreadCPU() }
