//go:build !linux

package proof

import "time"

// startClock measures wall time where no thread clock exists.
func startClock() (now func() time.Duration, stop func()) {
	begin := time.Now()
	return func() time.Duration { return time.Since(begin) }, func() {}
}
