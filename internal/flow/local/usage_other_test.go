//go:build !unix

package local

import "time"

// processorTime is not known here.
func processorTime() time.Duration { return 0 }
