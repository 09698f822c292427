//go:build !unix

package rt

import "time"

// ProcessCPU returns the time since the start: the system does not tell more.
func ProcessCPU() time.Duration { return time.Since(processBegan) }

const ofProcess, ofThread = 0, 0

// cpuClock returns -1: there is no such clock.
func cpuClock(uintptr) int64 { return -1 }
