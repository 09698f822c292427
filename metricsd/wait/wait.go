// Package wait waits between the steps of a loop.
package wait

import (
	"context"
	"time"
)

// For waits for a time, or until ctx is done if that is earlier.
func For(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
