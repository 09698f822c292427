//go:build !linux && go1.21

package live

// readThread returns a reading without a clock: no other system counts how often a thread sleeps.
func readThread() reading { return reading{cpu: -1} }

func threadCPU() int64 { return -1 }
