//go:build !unix

package rt

import "time"

// ProcessCPU is the time since the start: the system does not tell more.
func ProcessCPU() time.Duration { return time.Since(processBegan) }

// threadCPU is -1: there is no clock of the thread.
func threadCPU() int64 { return -1 }
