//go:build unix

package temporal

import "syscall"

// maxRSS returns the most memory that this process had, in bytes; on Linux, which counts in
// kilobytes.
func maxRSS() int64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return int64(usage.Maxrss) << 10
}
