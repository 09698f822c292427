//go:build !unix

package rt

import "time"

// ProcessCPU returns the time since the start: the system does not tell more.
func ProcessCPU() time.Duration { return time.Since(processBegan) }
