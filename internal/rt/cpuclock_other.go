//go:build !unix

package rt

const ofProcess, ofThread = 0, 0

// cpuClock returns -1: there is no such clock.
func cpuClock(uintptr) int64 { return -1 }

// ThreadCPU returns -1: there is no such clock.
func ThreadCPU() int64 { return -1 }
