//go:build !linux

package sandbox

// LastCPU is -1: programs are not pinned here.
func LastCPU() int { return -1 }
